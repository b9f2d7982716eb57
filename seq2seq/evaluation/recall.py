"""Recall of content words: which words of the references do translations contain?

BLEU says that a translation is worse, but not what went wrong. A content word here has more than
three letters, occurs once in its reference, and occurs in at most 2% of all references. Text
without spaces is not measured. Three things can make a word hard: the length of its source, its
place in the reference, and a low count in the training text.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from seq2seq.data.text import word_pattern
from seq2seq.evaluation.scores import bucket_labels
from seq2seq.evaluation.significance import Interval, Pool, Samples

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

    def training_groups(self, training: Iterable[str]) -> tuple[Int[np.ndarray, "W"], list[str]]:
        """Group the words by their counts in the target text ``training``.

        Returns the group number of each word, and the names of the groups.
        """
        counts = dict.fromkeys(self.words, 0)
        for sentence in training:
            for word in _words(sentence):
                if word in counts:
                    counts[word] += 1
        of_words = [counts[word] for word in self.words]
        return np.searchsorted(COUNTS, of_words, side="left"), ["0", *bucket_labels(COUNTS[1:])]


@dataclass(frozen=True)
class Recall:
    """Fraction of each group of content words that the translations contain."""

    groups: list[str]
    words: list[int]
    """Number of words of each group."""
    systems: dict[str, list[Interval]]
    """System -> recall of each group, the mean over seeds; 0 for a group without words."""
    spread: dict[str, Interval]
    """System -> how much the gap to its baseline varies between groups: its standard deviation,
    each group weighted by its number of words."""
    contrast: dict[str, Interval]
    """System -> weighted sum of the recalls of the groups; {} without weights."""


def recall_by(
    groups: tuple[Int[np.ndarray, "W"], list[str]],
    line: Int[np.ndarray, "W"],
    recalled: Mapping[str, Bool[np.ndarray, "K W"]],
    against: Mapping[str, str],
    pool: Pool,
    confidence: float,
    weights: Float[np.ndarray, "G"] | None = None,
) -> Recall:
    """Compute recall on the sentences of ``pool``, with bootstrap intervals.

    ``groups`` has the group of each word and the names of the groups; ``line`` has the line of each
    word. ``recalled`` is system -> whether each seed's translation contains each word. ``against``
    is system -> its baseline. ``weights`` has the weight of each group in ``Recall.contrast``.
    """
    number, names = groups
    size = len(names)
    words = np.bincount(number[pool.members[line]], minlength=size)
    samples = {
        name: recall_samples(number, size, line, seeds, pool) for name, seeds in recalled.items()
    }
    spread = {}
    for name, baseline in against.items():
        gap = (samples[name] - samples[baseline])[:, words > 0]
        share = words[words > 0] / words.sum()
        mean = gap @ share
        deviation = np.sqrt((gap - mean[:, None]) ** 2 @ share)
        spread[name] = Interval.of(deviation, confidence)
    systems = {
        name: [Interval.of(of_system[:, group], confidence) for group in range(size)]
        for name, of_system in samples.items()
    }
    contrast = {}
    if weights is not None:
        contrast = {name: Interval.of(s @ weights, confidence) for name, s in samples.items()}
    return Recall(names, words.tolist(), systems, spread, contrast)


def recall_samples(
    number: Int[np.ndarray, "W"],
    size: int,
    line: Int[np.ndarray, "W"],
    recalled: Bool[np.ndarray, "K W"],
    pool: Pool,
) -> Samples:
    """Recall of each group of words: a column for each group.

    Row 0 has the recall on the sentences of ``pool``, and each other row that on a resample; all
    are means over seeds. ``number`` is the group of each word, from 0 to ``size`` - 1. ``line`` and
    ``pool`` are those of :func:`recall_by`; ``recalled`` is its value for one system.
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
