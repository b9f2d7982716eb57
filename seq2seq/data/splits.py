"""Split a parallel text by hashes of its sources; notice text that was learned, by the same.

Two passes read the text; memory holds 16 bytes of hashes for each pair.
"""

import hashlib
import json
import logging
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int8, UInt64
from tqdm import tqdm

from seq2seq.config import CorpusConfig
from seq2seq.config.evaluation import unspaced
from seq2seq.data.text import SIDES, Corpus, LineWriter, ParallelText, read_lines, warn_once
from seq2seq.errors import UserError
from seq2seq.files import digest

log = logging.getLogger(__name__)

LEARNED = "learned.npy"
"""File of a run folder: sorted hashes of the sources that the model has learned from."""
RULES = 2
"""Version of the cleaning and splitting; text of an older version is made again."""
WAYS = ("train", "valid", "test", "duplicate", "held_out", "empty", "too_long", "uneven")
TRAIN, VALID, TEST, DUPLICATE, HELD_OUT, EMPTY, TOO_LONG, UNEVEN = range(len(WAYS))
"""Labels of pairs, as indices of WAYS. HELD_OUT: the source is already in a validation or test
text, so the pair is in no split."""
OPEN = len(WAYS)
"""Label of a pair that :func:`assign` has yet to label."""


def recipe_folder(home: Path, config: CorpusConfig, *recipe: Any) -> Path:
    """Return a folder below ``home``, named by a hash of what its text is made from."""
    code = digest([json.dumps([RULES, *recipe]).encode()])[:12]
    return home / f"{config.source}-{config.target}-{code}"


def split_text(
    folder: Path,
    languages: tuple[str, str],
    read: Callable[[], Iterator[tuple[str, str]]],
    label: Callable[[str, str], int],
    sizes: tuple[int, int],
    *,
    kept: Iterable[Path] = (),
    unique: bool = False,
) -> dict[str, int]:
    """Write {train,valid,test}.<language> from pairs; return the number of pairs by label.

    ``sizes`` are those of valid and test. Sources in the files ``kept`` get into no split. With
    ``unique``, only the first of equal pairs does.
    """
    labels, pairs, sources = bytearray(), array("Q"), array("Q")
    for source, target in tqdm(read(), "reading", unit=" pairs", disable=None):
        labels.append(label(source, target))
        if labels[-1] == OPEN:
            pairs.append(_digest(f"{source}\n{target}") if unique else len(pairs))
            sources.append(source_digest(source))
    kept_sources = chain.from_iterable(map(read_lines, kept))
    ways = np.frombuffer(labels, np.int8)
    digests = np.array(pairs, np.uint64), np.array(sources, np.uint64)
    ways[ways == OPEN] = assign(*digests, *sizes, source_digests(kept_sources))
    with ExitStack() as stack:
        files = {
            way: [
                stack.enter_context(LineWriter(folder / f"{WAYS[way]}.{language}"))
                for language in languages
            ]
            for way in {TRAIN, VALID, TEST}.intersection(labels)
        }
        pairs_again = tqdm(read(), "splitting", len(ways), unit=" pairs", disable=None)
        for way, pair in zip(labels, pairs_again, strict=True):
            for file, line in zip(files.get(way, ()), pair, strict=False):
                file.write(line)
    counts = dict(zip(WAYS, np.bincount(ways, minlength=len(WAYS)).tolist(), strict=True))
    log.info("Pairs: %s", ", ".join(f"{way} {size:,}" for way, size in counts.items() if size))
    return {"read": len(ways), **counts}


def assign(
    pairs: UInt64[np.ndarray, " N"],
    sources: UInt64[np.ndarray, " N"],
    valid: int,
    test: int,
    elsewhere: UInt64[np.ndarray, " M"],
) -> Int8[np.ndarray, " N"]:
    """Label N pairs, from the hashes of pairs and sources, so that no two splits share a source.

    Sources of ``elsewhere`` are HELD_OUT. Of the others, sorted by hash, the first ``test`` are
    TEST, the next ``valid`` are VALID, each with one pair; their further pairs are HELD_OUT.
    """
    labels = np.full(len(pairs), DUPLICATE, np.int8)
    taken = np.isin(sources, elsewhere)
    labels[taken] = HELD_OUT
    _, first = np.unique(pairs, return_index=True)
    first = np.sort(first[~taken[first]])  # the first of equal pairs, in the order of the text
    distinct, leader, source = np.unique(sources[first], return_index=True, return_inverse=True)
    if len(distinct) <= valid + test:
        raise UserError(
            f"The text has only {len(distinct)} distinct source sentences for corpus.valid_pairs="
            f"{valid}, corpus.test_pairs={test} and training; lower them, or add text."
        )
    split = np.repeat([TEST, VALID, TRAIN], [test, valid, len(distinct) - test - valid])
    labels[first] = np.where(split == TRAIN, TRAIN, HELD_OUT)[source]
    labels[first[leader]] = split
    return labels


def source_digests(sources: Iterable[str]) -> UInt64[np.ndarray, " M"]:
    """Return the :func:`source_digest` of each source."""
    return np.array([source_digest(source) for source in sources], np.uint64)


def source_digest(source: str) -> int:
    """Return a 64-bit hash of a source, ignoring case and extra spaces."""
    return _digest(" ".join(source.split()).casefold())


def _digest(text: str) -> int:
    """64-bit hash; the probability of a collision among two million pairs is about 1e-7."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def read_learned(run: Path) -> UInt64[np.ndarray, " N"]:
    """Hashes of the sources that the model of a run folder has learned from; [] if not known."""
    try:
        return np.asarray(np.load(run / LEARNED, mmap_mode="r"), np.uint64)
    except (OSError, ValueError):
        log.info("%s has no readable %s: leaked test text is not noticed.", run, LEARNED)
        return np.zeros(0, np.uint64)


def warn_if_learned(name: str, sources: Iterable[str], learned: UInt64[np.ndarray, " N"]) -> None:
    """Warn, once for each text, of sources that were learned, but for case and spaces."""
    seen = np.isin(source_digests(sources), learned)
    if seen.any():
        warn_once(
            f"{name}: {seen.sum():,} of {len(seen):,} sources are also in the training text, so "
            "scores on them are too good; take these pairs out of the training text."
        )


def _words(text: ParallelText, side: str, language: str) -> set[str]:
    pattern = re.compile(r"\w" if unspaced(language) else r"\w+")
    lines = islice(read_lines(getattr(text, side)), 5_000)
    return {word for line in lines for word in pattern.findall(line)}


def require_sides(corpus: Corpus) -> None:
    """Refuse validation or test text of which a side has the words of the other training side."""
    languages = corpus.source_language, corpus.target_language
    for side, other, language in zip(SIDES, SIDES[::-1], languages, strict=True):
        known = [_words(corpus.train, each, language) for each in (side, other)]
        for name, text in {"valid": corpus.valid, **corpus.tests}.items():
            found = _words(text, side, language)
            own, crossed = (len(found & words) / max(len(found), 20) for words in known)
            if crossed > 0.5 and own < crossed / 2:
                raise UserError(
                    f"{getattr(text, side)} has {crossed:.0%} of its words in common with "
                    f"{getattr(corpus.train, other)}, but {own:.0%} with "
                    f"{getattr(corpus.train, side)}; exchange the {name} or the train files of the "
                    "two languages."
                )
