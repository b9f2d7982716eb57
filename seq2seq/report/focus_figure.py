"""How sharply the systems looked, and how far from the diagonal, by source length."""

import textwrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seq2seq.report.figures import look
from seq2seq.report.focus import Focus, focus
from seq2seq.report.side_by_side import SideBySide
from seq2seq.report.style import DPI, FAINT, GRID, INK, WIDTH, render
from seq2seq.report.tables import heading

HEAD, LEGEND, PANEL, FOOT = 1.0, 0.3, 2.7, 1.25
"""Inches: above the legend; a row of it; a panel; below it."""
IN_A_ROW = 4
"""Systems in a row of the legend."""
NOTE = 66
"""Letters in a line below a panel."""


def render_focus(sides: SideBySide) -> dict[str, bytes]:
    """Draw the measures of attention: {"png": ..., "svg": ...}; empty where no system attends."""
    measures = focus(sides)
    return render(lambda: focus_figure(sides, measures)) if measures else {}


def focus_figure(sides: SideBySide, measures: list[Focus]) -> Figure:
    """Lay out the figure: a panel for each measure, a line for each system that attends."""
    legend = LEGEND * -(-len(measures[0].means) // IN_A_ROW)
    height = HEAD + legend + PANEL + FOOT
    figure = Figure(figsize=(WIDTH, height), dpi=DPI)
    for place, one in enumerate(measures):
        left = 0.075 + 0.49 * place
        axes = figure.add_axes((left, FOOT / height, 0.4, PANEL / height))
        _draw(axes, sides, one)
        said = textwrap.fill(one.explanation, NOTE)
        figure.text(left, 0.5 / height, said, fontsize=8, color=FAINT, verticalalignment="top")
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(),
        loc="upper left",
        bbox_to_anchor=(0.02, 1 - (HEAD - 0.15) / height),
        ncols=IN_A_ROW,
        fontsize=10,
        frameon=False,
    )
    top = 1 - 0.42 / height
    figure.text(0.03, top, "Attention by source length", fontsize=16, fontweight="bold")
    figure.text(0.03, top - 0.34 / height, heading(sides.comparison), fontsize=11.5)
    return figure


def _draw(axes: Axes, sides: SideBySide, measure: Focus) -> None:
    """Lines through the means of the buckets; hollow marks where the sentences are few."""
    for number, means in measure.means.items():
        colour, line, marker = look(number)
        known = [(place, mean) for place, mean in enumerate(means) if mean is not None]
        places, values = zip(*known, strict=True)
        axes.plot(
            places, values, color=colour, linestyle=line, label=sides.arms[number].name, zorder=2
        )
        for place, value in known:
            fill = "white" if sides.rows[place].few else colour
            axes.plot(place, value, marker, color=colour, markerfacecolor=fill, zorder=3)
    labels = [row.words.replace("-", "–") for row in sides.rows]
    axes.set_xticks(range(len(labels)), labels)
    for label, row in zip(axes.get_xticklabels(), sides.rows, strict=True):
        label.set_color(FAINT if row.few else INK)
    axes.set_xlim(-0.35, len(labels) - 0.65)
    axes.set_ylim(0, 1.08 * measure.highest or 1.0)
    axes.set_xlabel("Source length (words)")
    axes.set_ylabel(measure.label)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.tick_params(length=0)
