"""A worked example as a picture: its arrays as heatmaps, with the numbers in their cells.

All heatmaps of a picture stand on one grid of cells, so that a sum is below what it is the sum of.
"""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from seq2seq.drawing import DPI, FAINT, INK, ink_on
from seq2seq.explain.example import Example, Step

WIDE, HIGH = 0.52, 0.34
"""Inches of a cell."""
HEAD, ABOVE, BETWEEN, FOOT, EDGE = 1.0, 0.5, 0.16, 0.28, 0.3
"""Inches: for the heading; above each heatmap, for its name and the labels of its columns; between
two rows of heatmaps; below the last; at the sides."""
COLOUR_MAP = "cividis"
"""A colour map that colour-blind readers can read, also in grey."""
DECIMALS = 3
"""More have no room in a cell."""

HEADING = FontProperties(family="DejaVu Sans", weight="bold", size=16)
CAPTION = FontProperties(family="DejaVu Sans", size=11)
NAME = FontProperties(family="DejaVu Sans", weight="bold", size=10)
LABEL = FontProperties(family="DejaVu Sans", size=9.5)
NUMBER = FontProperties(family="DejaVu Sans", size=8.5)


def picture(example: Example) -> Figure:
    """Lay out the picture: one heading, how to read it, and rows of heatmaps from above."""
    rows = [[example.steps[name] for name in names] for names in example.picture]
    left = EDGE + max(_labels_width(row[0]) for row in rows)
    cells = max(_columns(row)[-1] for row in rows)
    texts = _inches(example.heading, HEADING), _inches(example.caption, CAPTION)
    width = EDGE + max(left + WIDE * cells, EDGE + max(texts))
    heights = [ABOVE + HIGH * max(len(step.values) for step in row) for row in rows]
    height = HEAD + sum(heights) + BETWEEN * (len(rows) - 1) + FOOT

    figure = Figure(figsize=(width, height), dpi=DPI)
    sheet = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))  # inches, from above
    sheet.set_axis_off()
    sheet.text(EDGE, 0.42, example.heading, fontproperties=HEADING)
    sheet.text(EDGE, 0.74, example.caption, fontproperties=CAPTION)
    y = HEAD + ABOVE
    for row, taken in zip(rows, heights, strict=True):
        labels: list[str] = []
        for step, column in zip(row, _columns(row), strict=False):
            _draw(sheet, step, left + WIDE * column, y, labelled=step.rows != labels)
            labels = step.rows
        y += taken + BETWEEN
    return figure


def _columns(row: list[Step]) -> list[int]:
    """The grid's column at which each heatmap of a row begins, and the one where the row ends.

    There is a free column between two heatmaps, and more where labels or a name need the room.
    """
    columns, end, labels = [], -1, row[0].rows
    for step in row:
        end += 1 if step.rows == labels else math.ceil(_labels_width(step) / WIDE + 0.2)
        columns.append(end)
        end += max(len(step.columns), math.ceil(_inches(step.name, NAME) / WIDE - 0.2))
        labels = step.rows
    return [*columns, end]


def _labels_width(step: Step) -> float:
    """Inches that the labels of the rows take."""
    return 0.1 + max(_inches(label, LABEL) for label in step.rows)


def _inches(text: str, font: FontProperties) -> float:
    """The width of a text."""
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return width / 72


def _draw(sheet: Axes, step: Step, x: float, y: float, labelled: bool) -> None:
    """One heatmap with its upper left at x, y: name, labels of columns, numbers, labels of rows."""
    middles = [x + WIDE * (column + 0.5) for column in range(len(step.columns))]
    centres = [y + HIGH * (row + 0.5) for row in range(len(step.rows))]
    mesh = sheet.pcolormesh(
        x + WIDE * np.arange(len(middles) + 1),
        y + HIGH * np.arange(len(centres) + 1),
        step.values,
        cmap=COLOUR_MAP,
        norm=Normalize(*step.scale),
        edgecolors="white",
        linewidth=1.2,
    )
    sheet.text(x, y - 0.29, step.name, fontproperties=NAME)
    for middle, label in zip(middles, step.columns, strict=True):
        sheet.text(middle, y - 0.07, label, ha="center", fontproperties=LABEL, color=FAINT)
    numbers = step.numbers(min(step.decimals, DECIMALS))
    style: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontproperties": NUMBER}
    for (row, column), value in np.ndenumerate(step.values):
        number, ink = numbers[row][column], ink_on(mesh, value)
        sheet.text(middles[column], centres[row], number, **style, color=ink)
    style = {"ha": "right", "va": "center_baseline", "fontproperties": LABEL}
    for centre, label in zip(centres, step.rows if labelled else [], strict=False):
        sheet.text(x - 0.06, centre, label, **style, color=INK)
