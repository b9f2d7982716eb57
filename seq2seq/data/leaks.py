"""Checks of validation and test text against the training text."""

import logging
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np
from jaxtyping import UInt64

from seq2seq.config.evaluation import unspaced
from seq2seq.data.encoding import save_array
from seq2seq.data.splits import source_digests
from seq2seq.data.text import SIDES, Corpus, read_lines, warn_once
from seq2seq.errors import UserError

log = logging.getLogger(__name__)

LEARNED = "learned.npy"
"""File of a run folder: sorted hashes of the sources that the model has learned from."""


def save_learned(path: Path, digests: UInt64[np.ndarray, " N"]) -> None:
    """Write hashes of sources, sorted, each once."""
    save_array(path, np.unique(digests))


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


def require_sides(corpus: Corpus) -> None:
    """Refuse validation or test text of which a side has the words of the other training side."""
    languages = corpus.source_language, corpus.target_language
    for side, other, language in zip(SIDES, SIDES[::-1], languages, strict=True):
        pattern = re.compile(r"\w" if unspaced(language) else r"\w+")

        def words(path: Path, pattern: re.Pattern[str] = pattern) -> set[str]:
            return {w for line in islice(read_lines(path), 5_000) for w in pattern.findall(line)}

        ours, theirs = (words(getattr(corpus.train, each)) for each in (side, other))
        for name, text in {"valid": corpus.valid, **corpus.tests}.items():
            found = words(path := getattr(text, side))
            own, crossed = (len(found & known) / max(len(found), 20) for known in (ours, theirs))
            if crossed > 0.5 and own < crossed / 2:
                raise UserError(
                    f"{path} has {crossed:.0%} of its words in common with "
                    f"{getattr(corpus.train, other)}, but {own:.0%} with "
                    f"{getattr(corpus.train, side)}; exchange the {name} or the train files of the "
                    "two languages."
                )
