"""Content words of the references of a test set, as numbers without any text."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from jaxtyping import Bool, Int

from seq2seq.data.text import ParallelText, read_pairs, word_count
from seq2seq.evaluation.recall import ContentWords
from seq2seq.evaluation.significance import FEW


@dataclass(frozen=True, eq=False)
class Content:
    """Content words in the order of the text."""

    line: Int[np.ndarray, "W"]
    """Line of each word, from 0."""
    place: Int[np.ndarray, "W"]
    """Tenth of the reference that holds each word, from 0."""
    seen: Int[np.ndarray, "W"]
    """Group of each word by training count, as ``ContentWords.training_groups`` numbers them."""

    @classmethod
    def none(cls) -> "Content":
        """Content without words, for an evaluation whose content words are not counted yet."""
        return cls(*(np.zeros(0, dtype=np.int64) for _ in range(3)))


def training_pairs(
    text: ParallelText, pairs: int | None, max_words: int | None
) -> list[tuple[str, str]]:
    """Pairs that a training reads: of the first ``pairs``, those of up to ``max_words`` words."""
    limit = max_words or sys.maxsize
    read = islice(read_pairs(text.source, text.target), pairs)
    return [pair for pair in read if max(map(word_count, pair)) <= limit]


def count_content(
    references: Sequence[str],
    hypotheses: Sequence[Sequence[str]],
    training: Callable[[], list[str]],
) -> tuple[Content, list[Bool[np.ndarray, "W"]]]:
    """Find the content words of ``references``, and which of them each system's translations have.

    A system without ``hypotheses`` has none of them. If fewer than 100 references have content
    words, no content words are counted. ``training`` returns the target side of the training text.
    """
    words = ContentWords.of(references)
    if len({*words.line.tolist()}) < FEW:
        words = ContentWords.of([])
    seen = words.training_groups(training())[0] if words.words else words.place
    blank = [""] * len(references)
    found = [words.recalled(lines or blank) for lines in hypotheses]
    return Content(words.line, words.place, seen), found
