"""Tokenise and encode a corpus once, and cache the result under a hash of texts and settings.

The hash covers all that changes the result, so a folder with this name is never out of date.
"""

import json
import logging
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt64

from seq2seq.config import CorpusConfig, TokenizationConfig, TrainConfig
from seq2seq.config.settings import unspaced
from seq2seq.data import corpora
from seq2seq.data.encoding import REASONS, EncodedPairs, Split, save_array
from seq2seq.data.text import SIDES, Corpus, content_digest, read_lines, warn_once
from seq2seq.data.tokenization import SentencePieceTokenizer, TextCodec, Tokenizer
from seq2seq.data.vocabulary import SPECIALS, UNK, Vocabulary
from seq2seq.files import digest, file_digest, make_folder, parse_object, write_json

log = logging.getLogger(__name__)

FORMAT = 6
"""Version of the folder's layout and of the code that fills it; part of the hash."""
TOKENIZER_SENTENCES = 1_000_000
"""Most sentences that a subword model learns from; SentencePiece holds them all in memory."""
FEW_PAIRS = 20_000
"""Number of training pairs below which a message suggests more dropout."""


@dataclass(frozen=True)
class PreparedData:
    """Corpus, encoded in the folder ``directory``, with its tokenizers and vocabularies."""

    directory: Path
    corpus: Corpus
    source: TextCodec
    target: TextCodec
    train: EncodedPairs
    valid: EncodedPairs
    skipped: dict[str, int]
    """``<train|valid>.<reason>`` -> number of pairs left out; see :data:`REASONS`."""
    hashes: dict[str, str]
    """``<train|valid>.<source|target>`` -> SHA-256 of the unpacked text."""
    learned: UInt64[np.ndarray, " N"]
    """Sorted hashes of the sources of the training pairs, and of those that ``codecs`` learned."""


def prepare(
    corpus: CorpusConfig, tokenization: TokenizationConfig, data: Path, codecs: Path | None = None
) -> PreparedData:
    """Fetch, tokenise and encode a corpus below ``data``, or open the result of an earlier call.

    ``codecs`` is a folder with the tokenizers and vocabularies to use; None to learn them.
    """
    text = corpora.load_corpus(corpus, data)
    languages = corpus.source, corpus.target
    if any(map(unspaced, languages)) and tokenization.kind != SentencePieceTokenizer.kind:
        warn_once("Text of a language without spaces needs tokenization=sentencepiece.")
    corpora.require_sides(text)
    hashes = {
        f"{name}.{side}": content_digest(getattr(split, side))
        for name, split in (("train", text.train), ("valid", text.valid))
        for side in SIDES
    }
    recipe = {  # exactly the inputs that decide the content of the folder
        "format": FORMAT,
        "languages": languages,
        "text": hashes,
        "tokenization": asdict(tokenization),
        "train_pairs": corpus.train_pairs,
        "train_max_words": corpus.train_max_words,
    }
    if codecs is not None:
        files = sorted([*codecs.glob("tokenizer.*"), *codecs.glob("vocabulary.*")])
        recipe["codecs"] = {path.name: file_digest(path) for path in files}
    directory = data / "prepared" / digest([json.dumps(recipe, sort_keys=True).encode()])[:16]
    make_folder(directory, lambda folder: _fill(folder, text, corpus, tokenization, codecs, recipe))
    learned = np.load(directory / "train.learned.npy", mmap_mode="r")
    if codecs is not None:  # of this run, or of the run whose weights it starts from
        learned = np.union1d(learned, corpora.read_learned(codecs.parent.parent))
    for name, split in {"valid": text.valid, **text.tests}.items():
        corpora.warn_if_learned(name, read_lines(split.source), learned)
    return PreparedData(
        directory=directory,
        corpus=text,
        source=TextCodec.load(directory, "source"),
        target=TextCodec.load(directory, "target"),
        train=EncodedPairs.load(directory, "train"),
        valid=EncodedPairs.load(directory, "valid"),
        skipped=parse_object((directory / "manifest.json").read_bytes())["skipped"],
        hashes=hashes,
        learned=learned,
    )


def _fill(
    folder: Path,
    text: Corpus,
    corpus: CorpusConfig,
    options: TokenizationConfig,
    own: Path | None,
    recipe: dict[str, Any],
) -> None:
    """Write tokenizers, vocabularies, ids, and the recipe with the number of pairs left out."""
    languages, most = (text.source_language, text.target_language), options.max_pieces
    train = Split("train", text.train, languages, most, corpus.train_pairs, corpus.train_max_words)
    codecs = [TextCodec.load(own, side) for side in SIDES] if own else []
    tokenizers = [codec.tokenizer for codec in codecs] or _tokenizers(train, options)
    skipped: dict[str, int] = {}
    for split in (train, Split("valid", text.valid, languages, most)):
        sides, lines, left_out = split.cut(tokenizers)
        skipped |= left_out
        codecs = codecs or [
            TextCodec(tokenizer, _vocabulary(tokenizer, options, side.counts()))
            for tokenizer, side in zip(tokenizers, sides, strict=True)
        ]
        for name, side, codec in zip(SIDES, sides, codecs, strict=True):
            side.save(folder / f"{split.name}.{name}", codec.vocabulary)
            codec.save(folder, name)
        save_array(folder / f"{split.name}.lines.npy", lines)
        if split is train:
            learned = corpora.source_digests(read_lines(text.train.source))[lines - 1]
            save_array(folder / "train.learned.npy", np.unique(learned))
    write_json(folder / "manifest.json", {**recipe, "skipped": skipped})


def _tokenizers(train: Split, options: TokenizationConfig) -> list[Tokenizer]:
    """Build both sides' tokenizers; subword models learn from the training pairs."""
    if options.kind != "sentencepiece":
        return [Tokenizer(language) for language in train.languages]
    total = sum(1 for _ in train.pairs(Counter()))
    limit = min(total, TOKENIZER_SENTENCES // (1 + options.joint))

    def learn(*sides: int) -> bytes:
        sentences = (
            texts[side]
            for i, (_, *texts) in enumerate(train.pairs(Counter()))
            if (i + 1) * limit // total > i * limit // total
            for side in sides
        )
        assert options.vocabulary_size  # TokenizationConfig checks it
        where = f"the {' and '.join(train.languages[side] for side in sides)} training text"
        rule = "nmt_nfkc" if sides == (0,) else str(options.target_normalization)
        return SentencePieceTokenizer.train_model(sentences, options.vocabulary_size, where, rule)

    models = [learn(0, 1)] * 2 if options.joint else [learn(0), learn(1)]
    return [*map(SentencePieceTokenizer, train.languages, models)]


def _vocabulary(
    tokenizer: Tokenizer, options: TokenizationConfig, counts: dict[str, int]
) -> Vocabulary:
    """Build a vocabulary: subwords in the order of their model, words ranked by count."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        pieces = tokenizer.pieces[len(SPECIALS) :]
        return Vocabulary(pieces, [counts.get(piece, 0) for piece in pieces])
    return Vocabulary.from_counts(counts, options.vocabulary_size, options.min_frequency)


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
            lines.append(
                f"  {side}: {lengths.mean():.1f} {unit} a sentence, at most {lengths.max():,}; "
                f"{np.count_nonzero(ids == UNK) / lengths.sum():.2%} unknown; vocabulary of "
                f"{len(codec.vocabulary):,}"
            )
    return "\n".join([*lines, f"stored in {data.directory}"])
