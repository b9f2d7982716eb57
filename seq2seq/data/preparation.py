"""From a corpus config to encoded pairs, made once and cached under a hash of what made them.

``data/prepared/<hash>`` holds the tokenizers, the vocabularies, the ids of training and validation
text and a ``manifest.json``. The hash covers the content of the text files and every option that
alters the result, so a folder found is a folder that fits; it is written under another name and
renamed when complete.
"""

import hashlib
import json
import logging
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from seq2seq.config import CorpusConfig, TokenizationConfig, to_json
from seq2seq.data.codec import TextCodec
from seq2seq.data.corpora import SIDES, Corpus, ParallelText, obtain
from seq2seq.data.dataset import EncodedPairs, PreparedData
from seq2seq.data.encoding import (
    Pair,
    SideFile,
    read_pairs,
    sample,
    tokenize_pairs,
    worker_count,
)
from seq2seq.data.text import content_digest, count_lines
from seq2seq.data.tokenization import (
    MosesWordTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    WhitespaceTokenizer,
)
from seq2seq.data.vocabulary import EOS, SPECIALS, Vocabulary
from seq2seq.errors import UserError

FORMAT = 1
"""Version of the cache's layout and of the code that fills it; part of the hash."""
TOKENIZER_PAIRS = 1_000_000
"""Most pairs, evenly spaced over the training text, that a subword model learns from."""
REASONS = {
    "empty": "with an empty side",
    "max_words": "longer than corpus.train_max_words",
    "max_pieces": "longer than tokenization.max_pieces",
}
"""Why a pair is left out: key in the counts -> words for a message."""

log = logging.getLogger(__name__)


def prepare(corpus: CorpusConfig, tokenization: TokenizationConfig, data: Path) -> PreparedData:
    """Fetch, tokenise and encode a corpus, or open what an earlier call made of the same text.

    Args:
        corpus: which text, and which of its pairs to train on.
        tokenization: how to cut it.
        data: folder for corpora; encoded text goes to ``<data>/prepared/<hash>``.

    Raises:
        UserError: no pair is left to train or validate on, or the vocabulary size does not fit.
    """
    text = obtain(corpus, data)
    hashes = {
        f"{name}.{side}": content_digest(getattr(files, side))
        for name, files in (("train", text.train), ("valid", text.valid))
        for side in SIDES
    }
    recipe = _recipe(corpus, tokenization, text, hashes)
    digest = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode("utf-8")).hexdigest()
    directory = data / "prepared" / digest[:16]
    if not (directory / "manifest.json").exists():
        _build(directory, text, corpus, tokenization, recipe)
    try:
        manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
        return PreparedData(
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
            f"The cache {directory} is damaged ({error}); delete that folder."
        ) from None


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


def _build(
    directory: Path,
    text: Corpus,
    corpus: CorpusConfig,
    tokenization: TokenizationConfig,
    recipe: dict[str, Any],
) -> None:
    """Fill ``directory``, under another name until it is complete."""
    part = directory.with_name(f"{directory.name}.part-{os.getpid()}")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        manifest = {**recipe, **_fill(part, text, corpus, tokenization)}
        content = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
        (part / "manifest.json").write_text(content, encoding="utf-8", newline="\n")
        try:
            part.replace(directory)
        except OSError:  # the folder is there: of another process that was faster, or a torso
            if not (directory / "manifest.json").exists():
                shutil.rmtree(directory)
                part.replace(directory)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _fill(
    part: Path, text: Corpus, corpus: CorpusConfig, tokenization: TokenizationConfig
) -> dict[str, Any]:
    """Write tokenizers, vocabularies and ids below ``part``; return what was counted."""
    limits = corpus.train_pairs, corpus.train_max_words
    train_skipped: Counter[str] = Counter()
    if next(read_pairs(text.train, *limits, train_skipped), None) is None:
        raise _nothing_left("train", text.train, train_skipped)
    train_total = min(count_lines(text.train.source), corpus.train_pairs or sys.maxsize)
    tokenizers = _tokenizers(text, tokenization, *limits, train_total)

    train_skipped = Counter()
    pairs = read_pairs(text.train, *limits, train_skipped)
    sides = _tokenize(part, "train", pairs, tokenizers, tokenization, train_total, train_skipped)
    if sides is None:
        raise _nothing_left("train", text.train, train_skipped)
    vocabularies = []
    for side, tokenizer, file in zip(SIDES, tokenizers, sides, strict=True):
        vocabulary = _vocabulary(tokenizer, tokenization, file.counts())
        TextCodec(tokenizer, vocabulary).save(part, side)
        vocabularies.append(vocabulary)
    _write(part, "train", sides, vocabularies)

    valid_skipped: Counter[str] = Counter()
    pairs = read_pairs(text.valid, None, None, valid_skipped)
    total = count_lines(text.valid.source)
    sides = _tokenize(part, "valid", pairs, tokenizers, tokenization, total, valid_skipped)
    if sides is None:
        raise _nothing_left("valid", text.valid, valid_skipped)
    _write(part, "valid", sides, vocabularies)

    skipped = {f"train.{reason}": train_skipped[reason] for reason in REASONS}
    skipped |= {f"valid.{reason}": valid_skipped[reason] for reason in REASONS}
    return {"skipped": skipped}


def _tokenizers(
    text: Corpus, options: TokenizationConfig, limit: int | None, max_words: int | None, total: int
) -> tuple[Tokenizer, Tokenizer]:
    """Make the source's and the target's tokenizer, trained on the training pairs if need be."""
    source, target = text.source_language, text.target_language
    if options.kind == "whitespace":
        return WhitespaceTokenizer(source), WhitespaceTokenizer(target)
    if options.kind == "moses":
        return MosesWordTokenizer(source), MosesWordTokenizer(target)
    assert options.vocabulary_size is not None  # TokenizationConfig sees to it

    def sampled() -> Iterator[Pair]:
        pairs = read_pairs(text.train, limit, max_words, Counter())
        return sample(pairs, total, TOKENIZER_PAIRS)

    size = options.vocabulary_size
    if options.joint:
        sentences = (sentence for pair in sampled() for sentence in (pair.source, pair.target))
        model = SentencePieceTokenizer.train_model(
            sentences, size, f"the {source} and {target} training text"
        )
        models = model, model
    else:
        models = (
            SentencePieceTokenizer.train_model(
                (pair.source for pair in sampled()), size, f"the {source} training text"
            ),
            SentencePieceTokenizer.train_model(
                (pair.target for pair in sampled()), size, f"the {target} training text"
            ),
        )
    return SentencePieceTokenizer(source, models[0]), SentencePieceTokenizer(target, models[1])


def _vocabulary(
    tokenizer: Tokenizer, options: TokenizationConfig, counts: Counter[str]
) -> Vocabulary:
    """Number a subword model's pieces as the model does; rank words by count."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        pieces = tokenizer.pieces[len(SPECIALS) :]
        return Vocabulary(pieces, [counts[piece] for piece in pieces])
    return Vocabulary.from_counts(counts, options.vocabulary_size, options.min_frequency)


def _tokenize(
    part: Path,
    name: str,
    pairs: Iterator[Pair],
    tokenizers: tuple[Tokenizer, Tokenizer],
    options: TokenizationConfig,
    total: int,
    skipped: Counter[str],
) -> tuple[SideFile, SideFile] | None:
    """Tokenise "train" or "valid" to disk, counting into ``skipped``; None when nothing is left."""
    sides = SideFile(part / f"{name}.source.ids"), SideFile(part / f"{name}.target.ids")
    workers = worker_count(options.workers, total, *tokenizers)
    lines = []
    for chunk in tokenize_pairs(pairs, *tokenizers, options.max_pieces, workers, total, name):
        sides[0].append(chunk.source)
        sides[1].append(chunk.target)
        lines.append(chunk.lines)
        skipped["empty"] += chunk.empty
        skipped["max_pieces"] += chunk.too_long
    kept = sum(map(len, lines))
    log.info("%s: %s pairs kept; left out: %s.", name, f"{kept:,}", _reasons(skipped))
    np.save(part / f"{name}.lines.npy", np.concatenate([np.zeros(0, np.int64), *lines]))
    return sides if kept else None


def _write(
    part: Path, name: str, sides: tuple[SideFile, SideFile], vocabularies: list[Vocabulary]
) -> None:
    """Renumber the pieces by the vocabularies; the source gets its EOS."""
    for side, end, file, vocabulary in zip(SIDES, (EOS, None), sides, vocabularies, strict=True):
        file.finish(vocabulary.encode(file.pieces), part / f"{name}.{side}", end)


def _nothing_left(name: str, text: ParallelText, skipped: Counter[str]) -> UserError:
    return UserError(
        f"No {name} pair of {text.source} and {text.target} is left; left out: "
        f"{_reasons(skipped)}. Mend the files or raise the limits."
    )


def _reasons(skipped: Counter[str]) -> str:
    return ", ".join(f"{skipped[reason]:,} {text}" for reason, text in REASONS.items())
