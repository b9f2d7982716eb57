"""Content words of the references of a test set: which of them do the translations contain?

BLEU says that a translation is worse, but not what went wrong. A content word here has more than
three letters, occurs once in its reference, and occurs in few of the references. Packed results
hold content words as numbers without any text.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from seq2seq.data.text import word_pattern
from seq2seq.evaluation.significance import FEW

LETTERS, SHARE, GRAMMAR_SHARE = 3, 0.02, 0.1
"""A content word has more than LETTERS letters; at most a fraction SHARE of references has it. The
grammar has few words, so its share is higher."""
PLACES = 10
"""Number of equal parts into which each reference is divided."""
MIDDLE = np.array([-1 / 2, 0, 0, 1 / 4, 1 / 4, 1 / 4, 1 / 4, 0, 0, -1 / 2])
"""Weight of each part in a contrast: recall in the middle of a reference minus that at its ends."""


@dataclass(frozen=True, eq=False)
class Content:
    """Content words in the order of the text."""

    line: Int[np.ndarray, "W"]
    """Line of each word, from 0."""
    place: Int[np.ndarray, "W"]
    """Tenth of the reference that holds each word, from 0."""


def count_content(
    references: Sequence[str], hypotheses: Sequence[Sequence[str]], share: float = SHARE
) -> tuple[Content, list[Bool[np.ndarray, "W"]]]:
    """Find the content words of ``references``, and which of them each system's translations have.

    If fewer than 100 references have content words, none are counted.
    """
    lines = [_words(reference) for reference in references]
    spread = Counter(word for words in lines for word in {*words})
    found = [
        (number, PLACES * position // len(words), word)
        for number, words in enumerate(lines)
        for position, word in enumerate(words)
        if spread[word] <= share * len(lines) and len(word) > LETTERS and words.count(word) == 1
    ]
    if len({number for number, _, _ in found}) < FEW:
        found = []
    line, place = (np.array([one[i] for one in found], dtype=np.int64) for i in (0, 1))
    said = [[{*_words(hypothesis)} for hypothesis in of] for of in hypotheses]
    there = [np.array([word in of[number] for number, _, word in found], dtype=bool) for of in said]
    return Content(line, place), there


def _words(text: str) -> list[str]:
    return word_pattern().findall(text.lower())
