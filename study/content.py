"""Content words of the references of a test set: which of them do the translations contain?

BLEU says that a translation is worse, but not what went wrong. A content word here has more than
three letters, occurs once in its reference, and occurs in at most 2% of all references. Three
things can make a word hard: the length of its source, its place in the reference, and a low count
in the training text. Packed results hold content words as numbers without any text.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from jaxtyping import Bool, Float, Int

from seq2seq.data.text import ParallelText, read_pairs, word_count, word_pattern
from seq2seq.evaluation.significance import FEW, Pool, Samples

LETTERS, SHARE = 3, 0.02
"""A content word has more than LETTERS letters; at most a fraction SHARE of references has it."""
PLACES = 10
"""Number of equal parts into which each reference is divided."""
MIDDLE = np.array([-1 / 2, 0, 0, 1 / 4, 1 / 4, 1 / 4, 1 / 4, 0, 0, -1 / 2])
"""Weight of each part in a contrast: recall in the middle of a reference minus that at its ends."""
COUNTS = (0, 9, 99, 999)
"""Upper limits of the training counts of the groups 0, 1-9, 10-99, 100-999 and 1000+."""


@dataclass(frozen=True, eq=False)
class ContentWords:
    """The content words of a test set's references, in the order of the text."""

    line: Int[np.ndarray, "W"]
    """Number of each word's line, counted from 0."""
    place: Int[np.ndarray, "W"]
    """Part of the reference that holds the word: 0 for the first tenth, 9 for the last."""
    words: list[str]

    @classmethod
    def of(cls, references: Sequence[str], share: float = SHARE) -> "ContentWords":
        lines = [_words(reference) for reference in references]
        spread = Counter(word for words in lines for word in {*words})
        found: list[tuple[int, int, str]] = []
        for number, words in enumerate(lines):
            counts = Counter(words)
            for position, word in enumerate(words):
                rare = spread[word] <= share * len(lines)
                if rare and len(word) > LETTERS and counts[word] == 1:
                    found.append((number, PLACES * position // len(words), word))
        line, place = (np.array([one[i] for one in found], dtype=np.int64) for i in (0, 1))
        return cls(line, place, [word for _, _, word in found])

    def recalled(self, hypotheses: Sequence[str]) -> Bool[np.ndarray, "W"]:
        """Whether each word is in the translation of its line."""
        said = [{*_words(hypothesis)} for hypothesis in hypotheses]
        pairs = zip(self.line, self.words, strict=True)
        return np.array([word in said[line] for line, word in pairs], dtype=bool)

    def training_groups(self, training: Iterable[str]) -> Int[np.ndarray, "W"]:
        """Group of each word by its count in the target text ``training``; see ``COUNTS``."""
        counts = dict.fromkeys(self.words, 0)
        for sentence in training:
            for word in _words(sentence):
                if word in counts:
                    counts[word] += 1
        return np.searchsorted(COUNTS, [counts[word] for word in self.words], side="left")


def recall_samples(
    number: Int[np.ndarray, "W"],
    size: int,
    line: Int[np.ndarray, "W"],
    recalled: Bool[np.ndarray, "K W"],
    pool: Pool,
) -> Samples:
    """Recall of each group of words on ``pool``: a column for each group, the mean over seeds.

    ``number`` is the group of each word, from 0 to ``size`` - 1, and ``line`` its line.
    ``recalled`` says whether each seed's translation contains each word.
    """
    lines = len(pool.members)

    def count(chosen: Bool[np.ndarray, "W"]) -> Int[np.ndarray, "N G"]:
        cells = line[chosen] * size + number[chosen]
        return np.bincount(cells, minlength=lines * size).reshape(lines, size)

    total = count(np.ones(len(line), dtype=bool))
    columns = np.stack([np.concatenate([count(seed), total], axis=1) for seed in recalled])
    return pool.estimate(columns, _shares)


def _shares(sums: Float[np.ndarray, "R K C"]) -> Float[np.ndarray, "R K G"]:
    """Recall of each group; 0 for a resample without words of the group."""
    recalled, total = np.split(sums, 2, axis=-1)
    return np.asarray(recalled / np.maximum(total, 1))


def _words(text: str) -> list[str]:
    return word_pattern().findall(text.lower())


@dataclass(frozen=True, eq=False)
class Content:
    """Content words in the order of the text."""

    line: Int[np.ndarray, "W"]
    """Line of each word, from 0."""
    place: Int[np.ndarray, "W"]
    """Tenth of the reference that holds each word, from 0."""
    seen: Int[np.ndarray, "W"]
    """Group of each word by training count, see ``COUNTS``."""

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
    seen = words.training_groups(training()) if words.words else words.place
    blank = [""] * len(references)
    found = [words.recalled(lines or blank) for lines in hypotheses]
    return Content(words.line, words.place, seen), found
