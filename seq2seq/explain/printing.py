"""A walk-through as text: its arrays one below the other, with their labels, in plain ASCII."""

import textwrap
from collections.abc import Iterator

from seq2seq.explain.walkthrough import Step, Walkthrough

WIDTH = 100
"""Characters of a line; an array that is wider goes on below itself."""


def walkthrough_text(walkthrough: Walkthrough) -> str:
    """Heading, story, every array as :func:`step_text` writes it, and the lesson.

    The arrays are numbered from 1 in the order of the computation.
    """
    heading = f"{walkthrough.name}: {walkthrough.heading}"
    parts = [
        f"{heading}\n{'=' * len(heading)}\n{walkthrough.source}",
        textwrap.fill(walkthrough.story, WIDTH),
        *(f"{place}. {step_text(step)}" for place, step in enumerate(walkthrough.steps, 1)),
        textwrap.fill(walkthrough.lesson, WIDTH),
    ]
    return "\n\n".join(parts)


def step_text(step: Step) -> str:
    """One array: ``name (rows x columns): meaning``, then a line for each row, its label first.

    Columns that do not fit into a line follow in a block of their own, the labels once more.
    """
    height, width = step.values.shape
    head = f"{step.name} ({height} x {width}): {step.meaning}"
    return "\n".join([head, *_lines(step)])


def _lines(step: Step) -> Iterator[str]:
    """The lines of an array below its head, in blocks of about equal width."""
    numbers = step.written(step.decimals)
    rows, columns = step.labels
    margin = max(map(len, rows))
    cell = 2 + max(len(text) for row in [columns, *numbers] for text in row)
    fit = (WIDTH - 2 - margin) // cell
    blocks = -(-len(columns) // fit)
    together = -(-len(columns) // blocks)
    for start in range(0, len(columns), together):
        part = slice(start, start + together)
        for label, texts in zip(["", *rows], [columns, *numbers], strict=True):
            yield f"  {label:<{margin}}" + "".join(f"{text:>{cell}}" for text in texts[part])
