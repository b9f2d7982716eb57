"""Sentences to show: the best and the worst of each bucket, and a few chosen blindly."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from seq2seq.evaluation.lengths import (
    lines_by_length,
    perplexity,
    reference_loss,
    source_words,
)
from seq2seq.evaluation.systems import SystemRow
from seq2seq.report.side_by_side import Arm, SideBySide

EXAMPLES = 3
"""Best sentences of a bucket, worst ones, and samples."""
MOST_CHARACTERS = 800
"""A longer text is cut where it is shown, so that the page stays small."""


@dataclass(frozen=True)
class Example:
    """A sentence with one system's translation."""

    line: int
    """Of the test set, from 1."""
    source: str
    reference: str
    hypothesis: str
    bleu: float
    """Of this sentence alone."""


@dataclass(frozen=True)
class Bucket:
    """What one point of the figure stands for."""

    key: str
    """A word for its id on the page."""
    system: str
    row: SystemRow
    loss: float | None
    """Of the references, in nats per piece, the mean over seeds; None where nobody knows."""
    perplexity: float | None
    best: list[Example]
    worst: list[Example]


@dataclass(frozen=True)
class Said:
    """A system's translation of a sample."""

    system: str
    hypothesis: str
    bleu: float


@dataclass(frozen=True)
class Sample:
    """A sentence with the translations of all systems."""

    line: int
    """Of the test set, from 1."""
    bucket: str
    words: int
    source: str
    reference: str
    hypotheses: list[Said]


def buckets(sides: SideBySide, arm: Arm) -> list[Bucket]:
    """The buckets of a system that hold sentences."""
    return [
        _bucket(arm, place, arm.system.buckets[place], np.flatnonzero(chosen))
        for place, chosen in enumerate(sides.members)
        if chosen.any()
    ]


def _bucket(arm: Arm, place: int, row: SystemRow, lines: Int[np.ndarray, "M"]) -> Bucket:
    best, worst = extremes(arm.bleus[lines])
    said = [reference_loss(scores, lines) for scores in arm.reference_scores]
    losses = [loss for loss in said if loss is not None]
    loss = float(np.mean(losses)) if losses and len(losses) == len(arm.evaluations) else None
    return Bucket(
        key=f"s{arm.number}-b{place}",
        system=arm.name,
        row=row,
        loss=loss,
        perplexity=None if loss is None else perplexity(loss),
        best=[_example(arm, int(lines[i])) for i in best],
        worst=[_example(arm, int(lines[i])) for i in worst],
    )


def extremes(scores: Float[np.ndarray, "M"]) -> tuple[list[int], list[int]]:
    """Where the best and the worst scores are, no place in both; of equals the earlier first."""
    up = np.argsort(scores, kind="stable")
    down = np.argsort(-scores, kind="stable")
    best = down[: min(EXAMPLES, (len(scores) + 1) // 2)].tolist()
    worst = [i for i in up.tolist() if i not in best]
    return best, worst[: min(EXAMPLES, len(scores) // 2)]


def _example(arm: Arm, line: int) -> Example:
    texts = arm.first.texts
    return Example(
        line + 1,
        shortened(texts.sources[line]),
        shortened(texts.references[line]),
        shortened(texts.hypotheses[line]),
        float(arm.bleus[line]),
    )


def samples(sides: SideBySide) -> list[Sample]:
    """A few sentences of every bucket, the same whatever the systems say."""
    texts = sides.texts
    words = source_words(texts.sources)
    lines = lines_by_length(texts.sources, sides.comparison.settings.length_buckets, EXAMPLES)
    lines.sort(key=lambda line: int(words[line]))
    return [
        Sample(
            line=line + 1,
            bucket=bucket_of(sides, line),
            words=int(words[line]),
            source=shortened(texts.sources[line]),
            reference=shortened(texts.references[line]),
            hypotheses=[
                Said(arm.name, shortened(arm.first.texts.hypotheses[line]), float(arm.bleus[line]))
                for arm in sides.arms
            ],
        )
        for line in lines
    ]


def bucket_of(sides: SideBySide, line: int) -> str:
    """What the bucket of a line, from 0, is called."""
    return next(
        row.words for row, chosen in zip(sides.rows, sides.members, strict=True) if chosen[line]
    )


def shortened(text: str) -> str:
    """A text as it is shown."""
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + " … (cut here)"
