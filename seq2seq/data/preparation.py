"""Tokenise and encode a corpus once, and cache the result under a hash of texts and settings.

``data/prepared/<hash>`` holds the tokenizers, the vocabularies, the ids of training and validation
text and a ``manifest.json`` with the counts of pairs. The hash covers the content of these texts
and all settings that change the result, so a folder with this name is never out of date.
"""

import json
import logging
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from jaxtyping import UInt64

from seq2seq.config import CorpusConfig, TokenizationConfig, TrainConfig
from seq2seq.config.evaluation import unspaced
from seq2seq.data.corpora import load_corpus
from seq2seq.data.encoding import (
    GUARD,
    EncodedPairs,
    Pair,
    TokenIdWriter,
    choose_pairs,
    save_array,
    subsample_pairs,
    tokenize_pairs,
)
from seq2seq.data.leaks import read_learned, require_sides, save_learned, warn_if_learned
from seq2seq.data.splits import source_digests_of
from seq2seq.data.text import SIDES, Corpus, ParallelText, count_lines, read_lines, warn_once
from seq2seq.data.tokenization import (
    SentencePieceTokenizer,
    TextCodec,
    Tokenizer,
    WhitespaceTokenizer,
)
from seq2seq.data.vocabulary import EOS, SPECIALS, UNK, Vocabulary
from seq2seq.errors import UserError, VocabularySizeError
from seq2seq.files import digest, file_digest, make_folder, parse_object, write_json

log = logging.getLogger(__name__)

FORMAT = 6
"""Version of the folder's layout and of the code that fills it; part of the hash."""
TOKENIZER_SENTENCES = 1_000_000
"""Maximum number of sentences, evenly spaced over the training text, that a subword model learns
from. SentencePiece holds them all in memory, so this limits the memory of ``prepare``."""
FEW_PAIRS = 20_000
"""Number of training pairs below which a message suggests more dropout."""
REASONS = {
    "empty": "with an empty side",
    "max_words": "longer than corpus.train_max_words",
    "max_pieces": "longer than tokenization.max_pieces",
}
"""Reason for leaving out a pair: key in the counts -> words for a message."""


@dataclass(frozen=True)
class PreparedData:
    """Encoded corpus with its tokenizers, vocabularies and text files."""

    directory: Path
    """Folder of the encoded text."""
    corpus: Corpus
    """Text files of the training, validation and test sets."""
    source: TextCodec
    target: TextCodec
    max_pieces: int
    """Maximum number of pieces per side of a pair."""
    train: EncodedPairs
    valid: EncodedPairs
    skipped: dict[str, int]
    """``<train|valid>.<reason>`` -> number of pairs left out; reasons: ``empty`` (a side without
    pieces), ``max_words`` (train only), ``max_pieces``."""
    hashes: dict[str, str]
    """``<train|valid>.<source|target>`` -> SHA-256 of the unpacked text."""
    learned: UInt64[np.ndarray, " N"]
    """Sorted hashes of the sources of the training pairs, and of those that ``codecs`` learned."""


def prepare(
    corpus: CorpusConfig, tokenization: TokenizationConfig, data: Path, codecs: Path | None = None
) -> PreparedData:
    """Fetch, tokenise and encode a corpus, or open the result of an earlier call.

    Corpora and encoded text are below ``data``. ``codecs`` is a folder with the tokenizers and
    vocabularies to use; None to learn them. UserError if the text is missing or not parallel, if
    all pairs of a split are filtered out, if the vocabulary size is not possible, or if the result
    of an earlier call is damaged.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise UserError(f"This process is to tokenise text, but runs your script again. {GUARD}")
    text = load_corpus(corpus, data)
    no_spaces = [code for code in (text.source_language, text.target_language) if unspaced(code)]
    if no_spaces and tokenization.kind == WhitespaceTokenizer.kind:
        warn_once(
            f"{no_spaces[0]} text usually has no spaces between words; set "
            "tokenization=sentencepiece if yours has none."
        )
    hashes = text.hashes()
    options = asdict(tokenization)
    del options["workers"]
    recipe = {  # exactly the inputs that decide the content of the folder
        "format": FORMAT,
        "languages": [text.source_language, text.target_language],
        "text": hashes,
        "tokenization": options,
        "train_pairs": corpus.train_pairs,
        "train_max_words": corpus.train_max_words,
    }
    if codecs is not None:
        files = sorted([*codecs.glob("tokenizer.*"), *codecs.glob("vocabulary.*")])
        recipe["codecs"] = {path.name: file_digest(path) for path in files}
    name = digest([json.dumps(recipe, sort_keys=True).encode("utf-8")])[:16]

    def fill(folder: Path) -> None:
        counted = _fill(folder, text, corpus, tokenization, codecs)
        for part, found in text.hashes().items():
            if found != hashes[part]:
                raise UserError(
                    f"The text {part} changed while it was prepared; run the command again."
                )
        write_json(folder / "manifest.json", {**recipe, **counted})

    directory = data / "prepared" / name
    make_folder(directory, fill)
    require_sides(text)
    try:
        learned = np.load(directory / "train.learned.npy", mmap_mode="r")
        if codecs is not None:  # of this run, or of the run whose weights it starts from
            learned = np.union1d(learned, read_learned(codecs.parent.parent))
        prepared = PreparedData(
            directory=directory,
            corpus=text,
            source=TextCodec.load(directory, "source"),
            target=TextCodec.load(directory, "target"),
            max_pieces=tokenization.max_pieces,
            train=EncodedPairs.load(directory, "train"),
            valid=EncodedPairs.load(directory, "valid"),
            skipped=parse_object((directory / "manifest.json").read_bytes())["skipped"],
            hashes=hashes,
            learned=learned,
        )
    except (OSError, EOFError, ValueError, KeyError, UserError) as error:
        raise UserError(
            f"{directory} is damaged or cannot be read ({error}); delete it, and run this again."
        ) from error
    for name, split in {"valid": text.valid, **text.tests}.items():
        warn_if_learned(name, read_lines(split.source), learned)
    return prepared


def advise(config: TrainConfig, data: PreparedData) -> None:
    """Suggest more dropout in the log if it is low and the text is short and cut into subwords."""
    least = {"dropout": 0.4, "embedding_dropout": 0.3}
    low = [f"model.{k}={v}" for k, v in least.items() if getattr(config.model, k) < v]
    if low and len(data.train) < FEW_PAIRS and config.tokenization.kind == "sentencepiece":
        log.info(
            "Only %d training pairs; %s may reduce overfitting.", len(data.train), " ".join(low)
        )


def left_out(data: PreparedData, name: str) -> str:
    """Say how many pairs of "train" or "valid" were left out for each reason; "none" if none."""
    skipped = {words: data.skipped[f"{name}.{reason}"] for reason, words in REASONS.items()}
    return ", ".join(f"{n:,} {words}" for words, n in skipped.items() if n) or "none"


def summary(data: PreparedData) -> str:
    """Return lines of text: number of pairs, their lengths, percentage of unknown pieces."""
    subwords = isinstance(data.source.tokenizer, SentencePieceTokenizer)
    unit, lines = "subwords" if subwords else "words", []
    for name, pairs in (("train", data.train), ("valid", data.valid)):
        read = len(pairs) + sum(data.skipped[f"{name}.{reason}"] for reason in REASONS)
        lines.append(f"{name}: {len(pairs):,} of {read:,} pairs; left out: {left_out(data, name)}")
        for side, codec, ids, lengths in (
            ("source", data.source, pairs.source_ids, pairs.source_lengths - 1),  # without EOS
            ("target", data.target, pairs.target_ids, pairs.target_lengths),
        ):
            blocks = np.array_split(ids, 1 + len(ids) // 2**20)  # to save memory
            unknown = sum(np.count_nonzero(block == UNK) for block in blocks) / lengths.sum()
            lines.append(
                f"  {side}: {lengths.mean():.1f} {unit} a sentence, at most {lengths.max():,}; "
                f"{unknown:.2%} unknown; vocabulary of {len(codec.vocabulary):,}"
            )
    return "\n".join([*lines, f"stored in {data.directory}"])


@dataclass(frozen=True)
class _Split:
    """A corpus split (train or valid) and the limits that select its pairs."""

    name: str
    text: ParallelText
    languages: tuple[str, str]
    limit: int | None = None
    max_words: int | None = None

    def pairs(self, skipped: Counter[str]) -> Iterator[Pair]:
        return choose_pairs(self.text, self.limit, self.max_words, skipped, self.languages)


def _fill(
    folder: Path, text: Corpus, corpus: CorpusConfig, options: TokenizationConfig, own: Path | None
) -> dict[str, dict[str, int]]:
    """Write tokenizers, vocabularies and ids into ``folder``; return the counts of pairs."""
    languages = text.source_language, text.target_language
    train = _Split("train", text.train, languages, corpus.train_pairs, corpus.train_max_words)
    codecs = [TextCodec.load(own, side) for side in SIDES] if own else []
    tokenizers = [codec.tokenizer for codec in codecs] or _tokenizers(train, *languages, options)
    pairs: dict[str, int] = {}
    skipped: dict[str, int] = {}
    for split in (train, _Split("valid", text.valid, languages)):
        sides, pairs[split.name], dropped = _tokenize(folder, split, tokenizers, options)
        codecs = codecs or [
            TextCodec(tokenizer, _vocabulary(tokenizer, options, ids))
            for tokenizer, ids in zip(tokenizers, sides, strict=True)
        ]
        for ids, codec in zip(sides, codecs, strict=True):
            ids.finish(codec.vocabulary.encode(ids.pieces))
        skipped |= {f"{split.name}.{reason}": dropped[reason] for reason in REASONS}
    for side, codec in zip(SIDES, codecs, strict=True):
        codec.save(folder, side)
    return {"pairs": pairs, "skipped": skipped}


def _tokenizers(
    train: _Split, source: str, target: str, options: TokenizationConfig
) -> list[Tokenizer]:
    """Build both sides' tokenizers; subword models learn from the training pairs."""
    if options.kind == WhitespaceTokenizer.kind:
        return [WhitespaceTokenizer(source), WhitespaceTokenizer(target)]
    size = options.vocabulary_size
    assert size is not None  # TokenizationConfig checks it
    total = sum(1 for _ in train.pairs(Counter()))
    limit = TOKENIZER_SENTENCES // 2 if options.joint else TOKENIZER_SENTENCES

    def learn(sides: Sequence[str], languages: str, size: int = size) -> bytes:
        pairs = subsample_pairs(train.pairs(Counter()), total, limit)
        sentences = (getattr(pair, side) for pair in pairs for side in sides)
        where = f"the {languages} training text"
        rule = getattr(options, f"{sides[0]}_normalization")
        return SentencePieceTokenizer.train_model(sentences, size, where, rule)

    if options.joint:
        models = [learn(SIDES, f"{source} and {target}")] * 2
    else:
        models, refusals = [], dict[str, VocabularySizeError]()
        languages = dict(zip(SIDES, (source, target), strict=True))
        for side, language in languages.items():
            try:
                models.append(learn([side], language))
            except VocabularySizeError as error:
                refusals[side] = error
        if refusals:
            too_small = all(error.possible > size for error in refusals.values())
            nearest = max if too_small else min  # what is enough for both sides
            side = nearest(refusals, key=lambda side: refusals[side].possible)
            (other,) = languages.keys() - {side}
            try:
                learn([other], languages[other], refusals[side].possible)
            except VocabularySizeError as error:
                raise UserError(
                    f"No tokenization.vocabulary_size fits both sides: the nearest ones are "
                    f"{refusals[side].possible} for the {languages[side]} training text and "
                    f"{error.possible} for the {languages[other]} one; set tokenization.joint=true."
                ) from error
            raise refusals[side]
    return [SentencePieceTokenizer(source, models[0]), SentencePieceTokenizer(target, models[1])]


def _tokenize(
    folder: Path, split: _Split, tokenizers: Sequence[Tokenizer], options: TokenizationConfig
) -> tuple[tuple[TokenIdWriter, TokenIdWriter], int, Counter[str]]:
    """Tokenise a split to disk; return both sides, and how many pairs were kept and left out."""
    sides = (
        TokenIdWriter(folder / f"{split.name}.source", end=EOS),
        TokenIdWriter(folder / f"{split.name}.target", end=None),
    )
    lines = [np.zeros(0, np.int64)]
    skipped: Counter[str] = Counter()
    total = min(count_lines(split.text.source), split.limit or sys.maxsize)
    source, target = tokenizers
    for chunk in tokenize_pairs(
        split.pairs(skipped), source, target, options.max_pieces, options.workers, total, split.name
    ):
        sides[0].append(chunk.source)
        sides[1].append(chunk.target)
        lines.append(chunk.lines)
        skipped += chunk.skipped
    numbers = np.concatenate(lines)
    if not len(numbers):
        why = ", ".join(f"{skipped[reason]:,} {words}" for reason, words in REASONS.items())
        raise UserError(
            f"All {split.name} pairs of {split.text.source} and {split.text.target} were filtered "
            f"out ({why}); correct the files or raise the limits."
        )
    save_array(folder / f"{split.name}.lines.npy", len(numbers), [numbers])
    if split.name == "train":
        save_learned(
            folder / "train.learned.npy", source_digests_of([split.text.source])[numbers - 1]
        )
    return sides, len(numbers), skipped


def _vocabulary(
    tokenizer: Tokenizer, options: TokenizationConfig, ids: TokenIdWriter
) -> Vocabulary:
    """Build a vocabulary: subwords in the order of their model, words ranked by count."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        pieces = tokenizer.pieces[len(SPECIALS) :]
        return Vocabulary(pieces, [ids.counts[piece] for piece in pieces])
    return Vocabulary.from_counts(ids.counts, options.vocabulary_size, options.min_frequency)
