"""How sharply the systems looked, and where: entropy and distance from the diagonal by length."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from seq2seq.evaluation.scores import ReferenceScores
from seq2seq.report.side_by_side import Arm, SideBySide

Measured = Callable[[ReferenceScores], list[float | None] | None]
"""What a model said of each sentence; None for one that does not attend."""


@dataclass(frozen=True)
class Focus:
    """A measure of attention by source length."""

    name: str
    title: str
    label: str
    """Of the axis."""
    means: dict[int, list[float | None]]
    """Number of each system that says -> its mean in each of ``SideBySide.rows``."""
    explanation: str

    @property
    def highest(self) -> float:
        """The highest mean of all."""
        return max(mean for means in self.means.values() for mean in means if mean is not None)


def focus(sides: SideBySide) -> list[Focus]:
    """Entropy and distance from the diagonal; empty where no system says."""
    found = [
        Focus(
            "entropy",
            "Entropy of attention",
            "Entropy (nats)",
            _means(sides, lambda said: said.entropy),
            "0 nats: every piece of the reference looks at one source piece; the logarithm of "
            "the source's length: it looks everywhere alike.",
        ),
        Focus(
            "diagonal",
            "Distance of attention from the diagonal",
            "Distance",
            _means(sides, lambda said: said.off_diagonal),
            "0: attention walks through the source in order; 1/3, and more in short sentences: it "
            "looks everywhere alike.",
        ),
    ]
    return [one for one in found if one.means]


def _means(sides: SideBySide, of: Measured) -> dict[int, list[float | None]]:
    each = {arm.number: by_bucket(sides, arm, of) for arm in sides.arms}
    return {number: means for number, means in each.items() if any(m is not None for m in means)}


def by_bucket(sides: SideBySide, arm: Arm, of: Measured) -> list[float | None]:
    """The mean over the sentences of each bucket that have the measure, then over seeds."""
    of_seeds = [values for said in arm.reference_scores if (values := of(said)) is not None]
    means: list[float | None] = []
    for chosen in sides.members:
        measured = [
            [value for i in np.flatnonzero(chosen) if (value := values[i]) is not None]
            for values in of_seeds
        ]
        of_bucket = [float(np.mean(values)) for values in measured if values]
        means.append(float(np.mean(of_bucket)) if of_bucket else None)
    return means
