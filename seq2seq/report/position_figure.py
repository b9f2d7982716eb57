"""The loss of references by place in the target and source length, as a map for each system."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seq2seq.report.positions import Positions, PositionTable, positions
from seq2seq.report.side_by_side import SideBySide
from seq2seq.report.style import DPI, WIDTH, ink_on, render

HEAD, CAVEAT, TITLE, ROW, FOOT = 0.95, 0.24, 0.42, 0.34, 0.75
"""Inches: the title; a line more below it; above each map; a row of it; below a row of maps."""
COLUMNS = 2
COLOUR_MAP = "magma_r"
"""Dark is bad; read alike by colour-blind eyes, and in grey."""


def render_positions(sides: SideBySide) -> dict[str, bytes]:
    """Draw the maps: {"png": ..., "svg": ...}; empty where no system says."""
    found = positions(sides)
    return render(lambda: position_figure(sides, found)) if found else {}


def position_figure(sides: SideBySide, found: Positions) -> Figure:
    """Lay out the maps, two in a row and all in the same shades."""
    rows = -(-len(found.tables) // COLUMNS)
    panel = ROW * len(sides.rows)
    head = HEAD + (CAVEAT if sides.losses_apart else 0)
    height = head + rows * (TITLE + panel + FOOT)
    figure = Figure(figsize=(WIDTH, height), dpi=DPI)
    for place, table in enumerate(found.tables):
        row, column = divmod(place, COLUMNS)
        bottom = height - head - row * (TITLE + panel + FOOT) - TITLE - panel
        box = (0.085 + 0.49 * column, bottom / height, 0.395, panel / height)
        _draw(figure.add_axes(box), table, found)
    top = 1 - 0.42 / height
    title = "Loss by place in the reference"
    figure.text(0.03, top, title, fontsize=16, fontweight="bold")
    comparison = sides.comparison
    # Not the search: these are the references, which none has found.
    known = [part for part in (comparison.corpus, comparison.test_set) if part]
    said_of = " · ".join(known) or "test set"
    said = f"{said_of}; nats per piece; italic: fewer than 100 pieces"
    figure.text(0.03, top - 0.32 / height, said, fontsize=10.5)
    figure.text(0.03, top - (0.32 + CAVEAT) / height, sides.losses_apart, fontsize=10.5)
    return figure


def _draw(axes: Axes, table: PositionTable, found: Positions) -> None:
    """One system: source lengths from above, places in the target from the left."""
    values = np.array(
        [[np.nan if cell is None else cell.loss for cell in cells] for _, cells in table.rows]
    )
    image = axes.imshow(values, cmap=COLOUR_MAP, vmin=0, vmax=found.highest or 1.0, aspect="auto")
    for row, (_, cells) in enumerate(table.rows):
        for column, cell in enumerate(cells):
            if cell is not None:
                axes.text(
                    column,
                    row,
                    f"{cell.loss:.2f}",
                    ha="center",
                    va="center",
                    color=ink_on(image, cell.loss),
                    fontstyle="italic" if cell.few else "normal",
                    fontsize=9,
                )
    axes.set_title(table.system, loc="left", fontsize=11)
    axes.set_xticks(range(len(found.columns)), [c.replace("-", "–") for c in found.columns])
    axes.set_yticks(range(len(table.rows)), [words.replace("-", "–") for words, _ in table.rows])
    axes.tick_params(length=0, labelsize=9)
    axes.set_xlabel("Place of the piece in the reference", fontsize=10)
    axes.set_ylabel("Source words", fontsize=10)
    for spine in axes.spines.values():
        spine.set_visible(False)
