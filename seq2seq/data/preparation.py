"""From a corpus config to encoded pairs, made once and cached under a hash of what made them.

``data/prepared/<hash>`` holds the tokenizers, the vocabularies, the ids of training and validation
text and a ``manifest.json``. The hash covers the content of the text files and every option that
alters the result, so a folder found is a folder that fits. ``tests.json`` says where the test sets
lie and what they hold, so that an evaluation need not look for them.
"""

import hashlib
import json
import logging
import sys
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from seq2seq.config import CorpusConfig, TokenizationConfig, to_json
from seq2seq.data.codec import TextCodec
from seq2seq.data.corpora import load_corpus, warn_of_one_file
from seq2seq.data.dataset import EncodedPairs, PreparedData
from seq2seq.data.encoding import (
    GrowingArray,
    Pair,
    TokenIdWriter,
    read_pairs,
    sample,
    tokenize_pairs,
    worker_count,
)
from seq2seq.data.parallel_text import SIDES, Corpus, ParallelText
from seq2seq.data.text import content_digest, count_lines
from seq2seq.data.tokenization import (
    MosesWordTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    WhitespaceTokenizer,
)
from seq2seq.data.vocabulary import EOS, SPECIALS, Vocabulary
from seq2seq.errors import UserError
from seq2seq.files import encode_json, new_folder, parse_object, write_json, write_whole

FORMAT = 3
"""Version of the cache's layout and of the code that fills it; part of the hash."""
TOKENIZER_SENTENCES = 1_000_000
"""Most sentences, evenly spaced over the training text, that a subword model learns from. It holds
all of them in memory, so this bounds the memory of ``prepare``."""
REASONS = {
    "empty": "with an empty side",
    "max_words": "longer than corpus.train_max_words",
    "max_pieces": "longer than tokenization.max_pieces",
}
"""Why a pair is left out: key in the counts -> words for a message."""

logger = logging.getLogger(__name__)


def prepare(corpus: CorpusConfig, tokenization: TokenizationConfig, data: Path) -> PreparedData:
    """Fetch, tokenise and encode a corpus, or open what an earlier call made of the same text.

    Args:
        corpus: which text, and which of its pairs to train on.
        tokenization: how to cut it.
        data: folder for corpora; encoded text goes to ``<data>/prepared/<hash>``.

    Raises:
        UserError: no pair is left to train or validate on, the vocabulary size does not fit, or
            what an earlier call made is damaged.
    """
    text = load_corpus(corpus, data)
    warn_of_one_file(corpus)
    hashes = text.hashes()
    recipe = _recipe(corpus, tokenization, text, hashes)
    digest = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode("utf-8")).hexdigest()
    directory = data / "prepared" / digest[:16]
    with new_folder(directory) as part:
        if part is not None:
            counted = _fill(part, text, corpus, tokenization)
            write_json(part / "manifest.json", {**recipe, **counted})
    try:
        manifest = parse_object((directory / "manifest.json").read_bytes())
        prepared = PreparedData(
            directory=directory,
            corpus=text,
            source=TextCodec.load(directory, "source"),
            target=TextCodec.load(directory, "target"),
            max_pieces=tokenization.max_pieces,
            train=EncodedPairs.load(directory, "train"),
            valid=EncodedPairs.load(directory, "valid"),
            skipped=manifest["skipped"],
            hashes=hashes,
        )
    except (OSError, ValueError, KeyError, UserError) as error:
        raise UserError(
            f"The prepared folder {directory} is damaged ({error}); delete that folder."
        ) from None
    _write_tests(directory, text.tests)
    return prepared


def _write_tests(directory: Path, tests: dict[str, ParallelText]) -> None:
    """Write ``tests.json``; test text may move or change while the prepared text stays."""
    described = encode_json({name: describe_text(text) for name, text in tests.items()})
    path = directory / "tests.json"
    if not path.is_file() or path.read_bytes() != described:
        with FileLock(directory.with_name(f"{directory.name}.lock")):
            write_whole(path, described)


def describe_text(text: ParallelText) -> dict[str, Any]:
    """Describe a text as in ``tests.json``: absolute paths, number of pairs, SHA-256 by side."""
    return {
        "source": str(text.source.resolve()),
        "target": str(text.target.resolve()),
        "alignments": None if text.alignments is None else str(text.alignments.resolve()),
        "pairs": count_lines(text.source),
        "source_sha256": content_digest(text.source),
        "target_sha256": content_digest(text.target),
    }


def prepared_test_sets(directory: Path) -> dict[str, ParallelText]:
    """Read from a prepared folder where the test sets of its corpus lie."""
    tests = parse_object((directory / "tests.json").read_bytes())
    return {
        name: ParallelText(
            Path(test["source"]),
            Path(test["target"]),
            None if test["alignments"] is None else Path(test["alignments"]),
        )
        for name, test in tests.items()
    }


def _recipe(
    corpus: CorpusConfig, tokenization: TokenizationConfig, text: Corpus, hashes: dict[str, str]
) -> dict[str, Any]:
    """All that decides the content of the cache, and nothing else."""
    options = to_json(tokenization)
    del options["workers"]
    return {
        "format": FORMAT,
        "languages": [text.source_language, text.target_language],
        "text": hashes,
        "tokenization": options,
        "train_pairs": corpus.train_pairs,
        "train_max_words": corpus.train_max_words,
    }


@dataclass(frozen=True)
class _Split:
    """A part of the corpus, and which of its pairs to take."""

    name: str
    text: ParallelText
    limit: int | None = None
    max_words: int | None = None

    def pairs(self, skipped: Counter[str]) -> Iterator[Pair]:
        return read_pairs(self.text, self.limit, self.max_words, skipped)

    def total(self) -> int:
        return min(count_lines(self.text.source), self.limit or sys.maxsize)

    def nothing_left(self, skipped: Counter[str]) -> UserError:
        return UserError(
            f"No {self.name} pair of {self.text.source} and {self.text.target} is left; left out: "
            f"{_reasons(skipped)}; correct the files or raise the limits."
        )


def _fill(
    part: Path, text: Corpus, corpus: CorpusConfig, options: TokenizationConfig
) -> dict[str, dict[str, int]]:
    """Write tokenizers, vocabularies and ids below ``part``; return what was counted."""
    train = _Split("train", text.train, corpus.train_pairs, corpus.train_max_words)
    valid = _Split("valid", text.valid)
    tokenizers = _tokenizers(train, text.source_language, text.target_language, options)
    vocabularies: list[Vocabulary] = []
    pairs: dict[str, int] = {}
    skipped: Counter[str] = Counter()
    for split in (train, valid):
        sides, pairs[split.name], left_out = _tokenize(part, split, tokenizers, options)
        if split is train:
            for side, tokenizer, file in zip(SIDES, tokenizers, sides, strict=True):
                vocabularies.append(_vocabulary(tokenizer, options, file))
                TextCodec(tokenizer, vocabularies[-1]).save(part, side)
        for file, vocabulary in zip(sides, vocabularies, strict=True):
            file.finish(vocabulary.encode(file.pieces))
        for reason in REASONS:
            skipped[f"{split.name}.{reason}"] = left_out[reason]
    return {"pairs": pairs, "skipped": dict(skipped)}


def _tokenizers(
    train: _Split, source: str, target: str, options: TokenizationConfig
) -> tuple[Tokenizer, Tokenizer]:
    """Make the two languages' tokenizers, learnt from the training pairs if need be."""
    if options.kind == "whitespace":
        return WhitespaceTokenizer(source), WhitespaceTokenizer(target)
    if options.kind == "moses":
        return MosesWordTokenizer(source), MosesWordTokenizer(target)
    size = options.vocabulary_size
    assert size is not None  # TokenizationConfig sees to it
    skipped: Counter[str] = Counter()
    if next(train.pairs(skipped), None) is None:
        raise train.nothing_left(skipped)
    limit = TOKENIZER_SENTENCES // 2 if options.joint else TOKENIZER_SENTENCES
    total = train.total()
    if total > limit and train.max_words is not None:  # else all are taken, or none is too long
        left_out: Counter[str] = Counter()
        deque(train.pairs(left_out), maxlen=0)
        total -= left_out["max_words"]

    def sampled() -> Iterator[Pair]:
        return sample(train.pairs(Counter()), total, limit)

    learn = SentencePieceTokenizer.train_model
    if options.joint:
        both = (sentence for pair in sampled() for sentence in (pair.source, pair.target))
        models = [learn(both, size, f"the {source} and {target} training text")] * 2
    else:
        models = [
            learn((pair.source for pair in sampled()), size, f"the {source} training text"),
            learn((pair.target for pair in sampled()), size, f"the {target} training text"),
        ]
    return SentencePieceTokenizer(source, models[0]), SentencePieceTokenizer(target, models[1])


def _tokenize(
    part: Path, split: _Split, tokenizers: tuple[Tokenizer, Tokenizer], options: TokenizationConfig
) -> tuple[tuple[TokenIdWriter, TokenIdWriter], int, Counter[str]]:
    """Tokenise to disk; return both sides, the pairs kept and the reasons of the others."""
    sides = (
        TokenIdWriter(part / f"{split.name}.source", end=EOS),
        TokenIdWriter(part / f"{split.name}.target", end=None),
    )
    lines = GrowingArray(part / f"{split.name}.lines.npy", np.int64)
    skipped: Counter[str] = Counter()
    total = split.total()
    chunks = tokenize_pairs(
        split.pairs(skipped),
        *tokenizers,
        options.max_pieces,
        worker_count(options.workers, total, *tokenizers),
        total,
        split.name,
    )
    for chunk in chunks:
        sides[0].append(chunk.source)
        sides[1].append(chunk.target)
        lines.append(chunk.lines)
        skipped["empty"] += chunk.empty
        skipped["max_pieces"] += chunk.too_long
    if len(lines) == 0:
        raise split.nothing_left(skipped)
    lines.finish()
    logger.info("%s: %s pairs; left out: %s", split.name, f"{len(lines):,}", _reasons(skipped))
    return sides, len(lines), skipped


def _vocabulary(
    tokenizer: Tokenizer, options: TokenizationConfig, file: TokenIdWriter
) -> Vocabulary:
    """Number a subword model's pieces as the model does; rank words by count."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        pieces = tokenizer.pieces[len(SPECIALS) :]
        numbers = [file.pieces.get(piece) for piece in pieces]
        return Vocabulary(pieces, [0 if n is None else file.counts[n] for n in numbers])
    size, least = options.vocabulary_size, options.min_frequency
    # Up to four of the most frequent may be spelt like specials, which the size includes.
    counts = file.most_frequent(size or len(file.pieces), least)
    return Vocabulary.from_counts(counts, size, least)


def _reasons(skipped: Counter[str]) -> str:
    return ", ".join(f"{skipped[reason]:,} {text}" for reason, text in REASONS.items())
