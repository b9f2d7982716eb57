"""A walk-through as a picture: its arrays as heatmaps, with the numbers in their cells.

All heatmaps of a picture stand on one grid of cells, so that a sum is below what it is the sum of.
"""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from seq2seq.explain.walkthrough import Step, Walkthrough
from seq2seq.report.style import DPI, FAINT, INK, ink_on, render

WIDE, HIGH = 0.52, 0.34
"""Inches of a cell."""
HEAD, ABOVE, BETWEEN, FOOT, EDGE = 1.0, 0.5, 0.16, 0.28, 0.3
"""Inches: for the heading; above each heatmap, for its name and the labels of its columns; between
two rows of heatmaps; below the last; at the sides."""
COLOUR_MAP = "cividis"
"""Read alike by colour-blind eyes, and in grey."""
DECIMALS = 3
"""More have no room in a cell."""

HEADING = FontProperties(family="DejaVu Sans", weight="bold", size=16)
CAPTION = FontProperties(family="DejaVu Sans", size=11)
NAME = FontProperties(family="DejaVu Sans", weight="bold", size=10)
LABEL = FontProperties(family="DejaVu Sans", size=9.5)
NUMBER = FontProperties(family="DejaVu Sans", size=8.5)


def render_walkthrough(walkthrough: Walkthrough) -> dict[str, bytes]:
    """Draw the steps that ``walkthrough.picture`` names: {"png": ..., "svg": ...}."""
    return render(lambda: picture(walkthrough))


def picture(walkthrough: Walkthrough) -> Figure:
    """Lay out the picture: one heading, how to read it, and rows of heatmaps from above."""
    rows = [[walkthrough.step(name) for name in names] for names in walkthrough.picture]
    left = EDGE + max(_labels_width(row[0]) for row in rows)
    cells = max(_columns(row)[-1] for row in rows)
    texts = _inches(walkthrough.heading, HEADING), _inches(walkthrough.caption, CAPTION)
    width = EDGE + max(left + WIDE * cells, EDGE + max(texts))
    heights = [ABOVE + HIGH * max(len(step.values) for step in row) for row in rows]
    height = HEAD + sum(heights) + BETWEEN * (len(rows) - 1) + FOOT

    figure = Figure(figsize=(width, height), dpi=DPI)
    sheet = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))  # inches, from above
    sheet.set_axis_off()
    sheet.text(EDGE, 0.42, walkthrough.heading, fontproperties=HEADING)
    sheet.text(EDGE, 0.74, walkthrough.caption, fontproperties=CAPTION)
    upper = HEAD + ABOVE
    for row, taken in zip(rows, heights, strict=True):
        columns = _columns(row)[:-1]
        for place, (step, column) in enumerate(zip(row, columns, strict=True)):
            corner = left + WIDE * column, upper
            _draw(sheet, step, corner)
            if place == 0 or not _alike(row[place - 1], step):
                _label_rows(sheet, step, corner)
        upper += taken + BETWEEN
    return figure


def _columns(row: Sequence[Step]) -> list[int]:
    """The grid's column at which each heatmap of a row begins, and the one where the row ends.

    There is a free column between two heatmaps, and more where labels or a name need the room.
    """
    columns = [0]
    for place, step in enumerate(row):
        named = math.ceil(_inches(step.name, NAME) / WIDE - 0.2)
        end = columns[-1] + max(step.values.shape[1], named)
        if place + 1 < len(row):
            after = row[place + 1]
            end += 1 if _alike(step, after) else math.ceil(_labels_width(after) / WIDE + 0.2)
        columns.append(end)
    return columns


def _alike(before: Step, step: Step) -> bool:
    """Whether the labels of rows of the one are good for the other too."""
    return list(before.labels.rows) == list(step.labels.rows)


def _labels_width(step: Step) -> float:
    """Inches that the labels of the rows take."""
    return 0.1 + max(_inches(label, LABEL) for label in step.labels.rows)


def _inches(text: str, font: FontProperties) -> float:
    """The width of a text."""
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return width / 72


def _draw(sheet: Axes, step: Step, corner: tuple[float, float]) -> None:
    """One heatmap with its upper left at ``corner``; above it its name and its columns' labels."""
    x, y = corner
    height, width = step.values.shape
    low, high = step.scale or (float(step.values.min()), float(step.values.max()))
    mesh = sheet.pcolormesh(
        x + WIDE * np.arange(width + 1),
        y + HIGH * np.arange(height + 1),
        step.values,
        cmap=COLOUR_MAP,
        vmin=low,
        vmax=high,
        edgecolors="white",
        linewidth=1.2,
    )
    sheet.text(x, y - 0.29, step.name, fontproperties=NAME)
    for column, label in enumerate(step.labels.columns):
        middle = x + WIDE * (column + 0.5)
        sheet.text(middle, y - 0.07, label, ha="center", fontproperties=LABEL, color=FAINT)
    for (row, column), value in np.ndenumerate(step.values):
        sheet.text(
            x + WIDE * (column + 0.5),
            y + HIGH * (row + 0.5),
            step.written(DECIMALS)[row][column],
            ha="center",
            va="center_baseline",
            fontproperties=NUMBER,
            color=ink_on(mesh, value),
        )


def _label_rows(sheet: Axes, step: Step, corner: tuple[float, float]) -> None:
    """The labels of a heatmap's rows, left of it."""
    x, y = corner
    for row, label in enumerate(step.labels.rows):
        middle = y + HIGH * (row + 0.5)
        sheet.text(
            x - 0.06,
            middle,
            label,
            ha="right",
            va="center_baseline",
            fontproperties=LABEL,
            color=INK,
        )
