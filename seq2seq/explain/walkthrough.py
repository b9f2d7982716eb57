"""A worked example: named arrays, one after the other, that a reader can check by hand.

Every array has rows and columns, as on paper: one number for each source position is a column of
numbers where the positions are rows, and a row of numbers where they are columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

UNIT = (0.0, 1.0)
"""The scale of what lies between 0 and 1."""


class Labels(NamedTuple):
    """What stands beside each row of an array and above each of its columns."""

    rows: Sequence[str]
    columns: Sequence[str]


@dataclass(frozen=True)
class Step:
    """One array, what it is, and how it is written down."""

    name: str
    """What it is called; no other step of the walk-through has this name."""
    meaning: str
    """The formula that gives it, or what it stands for, in plain ASCII."""
    values: Float[np.ndarray, "rows columns"]
    labels: Labels
    decimals: int = 8
    """Digits after the point."""
    scale: tuple[float, float] | None = None
    """Numbers of the darkest and of the lightest colour in the picture; None for the array's own
    smallest and largest."""

    def __post_init__(self) -> None:
        """Refuse labels that do not fit the array."""
        labelled = len(self.labels.rows), len(self.labels.columns)
        if self.values.shape != labelled:
            raise ValueError(f"{self.name} has shape {self.values.shape}, its labels {labelled}")

    def written(self, most: int) -> list[list[str]]:
        """The numbers as text, with at most ``most`` decimals; what rounds to 0 has no sign."""
        decimals = min(self.decimals, most)
        return [
            [f"{round(number, decimals) + 0.0:.{decimals}f}" for number in row]
            for row in self.values.tolist()
        ]


@dataclass(frozen=True, kw_only=True)
class Walkthrough:
    """An example from its inputs to its result."""

    name: str
    """As in ``examples=[...]``; the files of its picture are called so too."""
    heading: str
    source: str
    """The paper that has the equations."""
    story: str
    """What happens, before the arrays."""
    steps: Sequence[Step]
    """In the order of the computation."""
    lesson: str
    """What to see in the numbers, after the arrays."""
    caption: str
    """How to read the picture."""
    picture: Sequence[Sequence[str]]
    """The steps to draw: rows of names, from above."""

    def __post_init__(self) -> None:
        """Refuse two steps of one name."""
        names = [step.name for step in self.steps]
        if len(set(names)) < len(names):
            raise ValueError(f"two steps of {self.name} have one name")

    def step(self, name: str) -> Step:
        """The step called ``name``; KeyError if there is none."""
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(f"{self.name} has no step {name!r}")

    def __getitem__(self, name: str) -> Float[np.ndarray, "rows columns"]:
        """The array of the step called ``name``; KeyError if there is none."""
        return self.step(name).values


def numbered(letter: str, count: int) -> list[str]:
    """The labels ``letter`` 1, 2, ... up to ``count``."""
    return [f"{letter}{number}" for number in range(1, count + 1)]
