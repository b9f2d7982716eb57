"""A worked example: named arrays, one after the other, that a reader can check by hand.

Each array is made by running the lines of code that are shown with it. Every array has rows and
columns, as on paper: one number for each source position is a column of numbers where the positions
are rows, and a row of numbers where they are columns.
"""

import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from jaxtyping import Float

WORDS = Path(__file__).with_name("examples.yaml")
UNIT = (0.0, 1.0)
"""The scale of what lies between 0 and 1."""
LARGE = "-large"
"""How the name of an example ends that has the equations of another one, and larger arrays."""
WIDTH = 100
"""Characters of a line; an array that is wider continues below itself."""


@dataclass(frozen=True)
class Step:
    """One array of an example."""

    name: str
    remark: str
    """What it stands for, in plain ASCII; may be empty."""
    code: str
    """The lines that made it; empty where a trained model did."""
    values: Float[np.ndarray, "rows columns"]
    rows: list[str]
    """The label of each row."""
    columns: list[str]
    decimals: int
    scale: tuple[float, float]
    """Numbers of the darkest and of the lightest colour in the picture."""

    def numbers(self, decimals: int) -> list[list[str]]:
        """The numbers as text; what rounds to 0 has no sign."""
        return [
            [f"{round(number, decimals) + 0.0:.{decimals}f}" for number in row]
            for row in self.values.tolist()
        ]

    def text(self) -> str:
        """``name (rows x columns): remark``, the code and the table."""
        head = f"{self.name} ({len(self.rows)} x {len(self.columns)})"
        head += f": {self.remark}" if self.remark else ""
        return "\n".join([head, textwrap.indent(self.code, "   "), self.table()])

    def table(self) -> str:
        """A line for each row, its label first.

        Columns that do not fit into a line follow in a block of their own, the labels once more.
        """
        count, lines = len(self.columns), [self.columns, *self.numbers(self.decimals)]
        margin = max(map(len, self.rows))
        cell = 2 + max(len(number) for line in lines for number in line)
        blocks = -(-count // ((WIDTH - 2 - margin) // cell))
        together = -(-count // blocks)
        written = []
        for start in range(0, count, together):
            for label, line in zip(["", *self.rows], lines, strict=True):
                cells = "".join(f"{number:>{cell}}" for number in line[start : start + together])
                written.append(f"  {label:<{margin}}{cells}")
        return "\n".join(written)


@dataclass(frozen=True)
class Example:
    """An example from its inputs to its result."""

    name: str
    """As in ``examples=[...]``; the files of its picture have this name too."""
    heading: str
    source: str
    """The paper that has the equations."""
    story: str
    """What happens, before the arrays."""
    lesson: str
    """What to see in the numbers, after the arrays."""
    caption: str
    """How to read the picture."""
    picture: list[list[str]]
    """The steps to draw: rows of names, from above."""
    steps: dict[str, Step] = field(default_factory=dict)
    """By name, in the order of the computation."""
    variables: dict[str, Any] = field(default_factory=lambda: {"np": np})
    """What the code of the next step may use."""

    @classmethod
    def begin(cls, name: str) -> "Example":
        """The example called ``name`` with its words, and no step yet."""
        return cls(name, **yaml.safe_load(WORDS.read_text("utf-8"))[name])

    def step(
        self,
        name: str,
        remark: str,
        code: str,
        rows: str | list[str],
        columns: str | list[str],
        decimals: int | None = None,
        scale: tuple[float, float] | None = None,
    ) -> Float[np.ndarray, "rows columns"]:
        """Run ``code``, whose last line sets one variable; add its array, and return it.

        ``rows`` and ``columns`` are its labels, "h#" standing for h1, h2, ... There are 3
        ``decimals`` by default, 8 in a large example. ``scale`` is by default from 0 to 1 for what
        lies there, else from the smallest to the largest number.
        """
        exec(code, self.variables)
        values = self.variables[code.split("\n")[-1].partition(" = ")[0]]
        row_labels, column_labels = (
            [words.replace("#", str(number)) for number in range(1, count + 1)]
            if isinstance(words, str)
            else words
            for words, count in zip((rows, columns), values.shape, strict=True)
        )
        bounds = float(values.min()), float(values.max())
        scale = scale or (UNIT if 0 <= bounds[0] <= bounds[1] <= 1 else bounds)
        if decimals is None:
            decimals = 8 if self.name.endswith(LARGE) else 3
        step = Step(name, remark, code, values, row_labels, column_labels, decimals, scale)
        self.steps[name] = step
        return values

    def __getitem__(self, name: str) -> Float[np.ndarray, "rows columns"]:
        """The array of the step called ``name``."""
        return self.steps[name].values

    def text(self) -> str:
        """Heading, story, every array, numbered from 1, and the lesson, in plain ASCII."""
        heading = f"{self.name}: {self.heading}"
        parts = [
            f"{heading}\n{'=' * len(heading)}\n{self.source}",
            textwrap.fill(self.story, WIDTH),
            *(f"{number}. {step.text()}" for number, step in enumerate(self.steps.values(), 1)),
            textwrap.fill(self.lesson, WIDTH),
        ]
        return "\n\n".join(parts)
