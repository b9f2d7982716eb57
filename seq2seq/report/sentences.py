"""Sentences to look at: what the systems make of the same source, where they differ most."""

from dataclasses import dataclass

import numpy as np

from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.lengths import lines_by_length
from seq2seq.evaluation.scores import sentence_bleu, source_words

EACH = 3
"""Sentences of a bucket for each reason to show them."""
MOST_CHARACTERS = 800
"""A longer text is cut where it is shown."""


@dataclass(frozen=True)
class Example:
    """A sentence with the translations of all systems, of their first seeds."""

    line: int
    """Of the test set, from 1."""
    bucket: str
    words: int
    reason: str
    source: str
    reference: str
    hypotheses: list[tuple[str, str, float]]
    """System, its translation, and BLEU of this sentence alone."""


def examples(comparison: Comparison) -> list[Example]:
    """Sentences of every bucket, short ones first.

    A few are chosen by the sources alone. Others are those on which the system of the first gap
    gains and loses most against its baseline, in BLEU of the sentence alone; of one system, its
    best and its worst.
    """
    texts = comparison.systems[0].first.texts
    tokenize = comparison.settings.tokenize
    scores = {
        system.name: sentence_bleu(system.first.texts.hypotheses, texts.references, tokenize)
        for system in comparison.systems
    }
    names, difference = ("best", "worst"), scores[comparison.systems[0].name]
    if comparison.gaps:
        gap = comparison.gaps[0]
        difference = scores[gap.system] - scores[gap.baseline]
        names = f"{gap.system} gains most", f"{gap.system} loses most"
    blind = lines_by_length(texts.sources, comparison.settings.length_buckets, EACH)
    words = source_words(texts.sources)
    chosen = []
    for row, members in zip(comparison.systems[0].buckets, comparison.members, strict=True):
        lines = np.flatnonzero(members)
        order = lines[np.argsort(-difference[lines], kind="stable")].tolist()
        half = (len(order) + 1) // 2
        reasons: dict[int, str] = {line: "a sample" for line in blind if members[line]}
        best, worst = order[: min(EACH, half)], order[max(half, len(order) - EACH) :]
        if comparison.gaps:
            best = [line for line in best if difference[line] > 0]
            worst = [line for line in worst if difference[line] < 0]
        reasons |= {**dict.fromkeys(best, names[0]), **dict.fromkeys(worst, names[1])}
        for line in sorted(reasons, key=lambda line: (int(words[line]), line)):
            hypotheses = [
                (s.name, shortened(s.first.texts.hypotheses[line]), float(scores[s.name][line]))
                for s in comparison.systems
            ]
            source, reference = shortened(texts.sources[line]), shortened(texts.references[line])
            why, count = reasons[line], int(words[line])
            example = Example(line + 1, row.words, count, why, source, reference, hypotheses)
            chosen.append(example)
    return chosen


def shortened(text: str) -> str:
    """A text as it is shown."""
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + " … (cut here)"
