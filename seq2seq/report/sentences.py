"""Example sentences: translations of the same source by all systems, and their errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial

import numpy as np

from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.lengths import ScoreRow, lines_by_length
from seq2seq.evaluation.scores import sentence_bleu, source_lengths

EACH = 3
"""Maximum number of sentences of a bucket that are shown for the same reason."""
MOST_CHARACTERS = 3000
"""Maximum number of characters of a text that is shown; a longer one is cut, and not compared."""
CUT = " … (cut here)"


@dataclass(frozen=True)
class Example:
    """A sentence with its translations by the first seed of each system."""

    line: int
    """Line of the test set, from 1."""
    bucket: str
    length: int
    reason: str
    median: bool
    """Whether this is the median of its bucket."""
    source: str
    references: list[str]
    hypotheses: list[tuple[str, str, float]]
    """(system, translation, BLEU of this sentence alone) of each system."""

    @property
    def cut(self) -> bool:
        """Whether a reference or translation is cut, so that its errors cannot be counted."""
        texts = [*self.references, *(text for _, text, _ in self.hypotheses)]
        return any(text.endswith(CUT) for text in texts)


def examples(comparison: Comparison) -> list[Example]:
    """Choose sentences of every bucket, short ones first.

    A few are chosen by the sources alone, the others by sentence BLEU: the sentences on which the
    first system with a baseline gains most over its baseline, those on which it loses most, and the
    median. Without a baseline, these are the best, worst and median sentences of the first system.
    Of two middle sentences, the median is the lower one. Ties are in the order of lines.
    """
    texts = comparison.systems[0].first.texts
    settings, unit = comparison.settings, comparison.settings.unit
    scores = {
        system.name: sentence_bleu(
            system.first.texts.hypotheses, *texts.all_references, tokenize=settings.tokenize
        )
        for system in comparison.systems
    }
    most, least, measure = "one of the best", "one of the worst", "sentence BLEU"
    value = scores[comparison.systems[0].name]
    if comparison.gaps:
        gap = comparison.gaps[0]
        value = scores[gap.system] - scores[gap.baseline]
        most, least = f"one where {gap.system} gains most", f"one where {gap.system} loses most"
        measure = f"sentence BLEU, {gap.system} minus {gap.baseline}"
    blind = lines_by_length(texts.sources, settings, EACH)
    lengths = source_lengths(texts.sources, settings.unit)
    chosen = []
    for row, members in zip(comparison.systems[0].buckets, comparison.members, strict=True):
        if not row.sentences:
            continue
        order = sorted(np.flatnonzero(members).tolist(), key=lambda line: (value[line], line))
        median, half = order[(len(order) - 1) // 2], len(order) // 2
        worst, best = order[: min(EACH, half)], order[max(half, len(order) - EACH) :]
        if comparison.gaps:
            worst = [line for line in worst if value[line] < 0]
            best = [line for line in best if value[line] > 0]
        rules = {
            "a sample by its source alone": [line for line in blind if members[line]],
            most: best,
            least: worst,
            f"the median of {measure}": [median],
        }
        reasons = {
            line: " and ".join(rule for rule, lines in rules.items() if line in lines)
            for line in {line for lines in rules.values() for line in lines}
        }
        for line in sorted(reasons, key=lambda line: (int(lengths[line]), line)):
            hypotheses = [
                (s.name, shortened(s.first.texts.hypotheses[line]), float(scores[s.name][line]))
                for s in comparison.systems
            ]
            rule = f"{reasons[line]}, among {row.sentences:,} sentences of {row.words} {unit}"
            meant = [shortened(reference[line]) for reference in texts.all_references]
            texts_of = shortened(texts.sources[line]), meant
            place = line + 1, row.words, int(lengths[line])
            chosen.append(Example(*place, rule, line == median, *texts_of, hypotheses))
    return chosen


def longest_bucket(comparison: Comparison) -> ScoreRow:
    """Row of the longest bucket that has at least 100 sentences.

    If there is none, row of the longest bucket that has sentences.
    """
    buckets = comparison.systems[0].buckets
    return next((row for row in reversed(buckets) if not row.few), buckets[-1])


def runs_of_words(
    references: Sequence[str], hypothesis: str, unit: str = "words"
) -> list[tuple[list[str], list[str]]]:
    """Split the hypothesis into runs of words, each paired with a run of the closest reference.

    The runs of a pair are equal where the hypothesis is right. One run is empty where words are
    missing or added. With the ``unit`` characters, the runs consist of characters, but no spaces.
    """
    texts = [text.split() for text in (hypothesis, *references)]
    written, *meanings = texts if unit == "words" else [[*"".join(words)] for words in texts]
    match = partial(SequenceMatcher, None, written, autojunk=False)
    meant = max(meanings, key=lambda one: match(one).ratio())
    return [(written[i:j], meant[k:m]) for _, i, j, k, m in match(meant).get_opcodes()]


def shortened(text: str) -> str:
    """Cut a long text, and add a note that it is cut."""
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + CUT
