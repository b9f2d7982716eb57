"""BLEU by source length: the figure of Bahdanau, Cho & Bengio 2014, with intervals; and as a map.

Systems differ in colour, in marker and in line, so that the figure survives grey printing.
"""

import textwrap
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.typing import LineStyleType

from seq2seq.evaluation.comparison import Comparison, System
from seq2seq.evaluation.lengths import FEW, ScoreRow
from seq2seq.report.numbers import percent
from seq2seq.report.style import COLOURS, DPI, FAINT, GRID, INK, WIDTH, ink_on, render
from seq2seq.report.tables import heading

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES: tuple[LineStyleType, ...] = (
    (0, (5, 2)),
    "-",
    (0, (1, 1.4)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1)),
    (0, (8, 3)),
    "-",
)

HEIGHT = 5.4
"""Inches: 16 to 9 with the width, a slide."""
LEFT = 0.075
MANY_SYSTEMS = 4
"""With more systems, whose lines cover each other, a comparison has a heatmap too."""
ROW, HEAD, FOOT = 0.52, 1.05, 1.1
"""Inches of the heatmap: a row; above it; below it."""
SAMPLE = 30
"""Points: the length of the line sample next to a system's name."""


def look(index: int) -> tuple[str, LineStyleType, str]:
    """Colour, line and marker of the system of that number; no two of the first 49 are alike."""
    again = index // len(COLOURS)  # the next round of colours has other lines and markers
    return (
        COLOURS[index % len(COLOURS)],
        LINES[(index + again) % len(LINES)],
        MARKERS[(index + again) % len(MARKERS)],
    )


def render_length_figure(comparison: Comparison) -> dict[str, bytes]:
    """BLEU by source length for every system: {"png": ..., "svg": ...}."""
    return render(lambda: length_figure(comparison))


def length_figure(comparison: Comparison) -> Figure:
    """Lay out the figure: points at the buckets, bands of the intervals, n below each bucket."""
    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DPI)
    axes = figure.add_axes((LEFT, 0.2, 0.7, 0.62))
    buckets = comparison.systems[0].buckets
    for index, system in enumerate(comparison.systems):
        _draw_system(axes, system, index)
    _label_buckets(axes, buckets)
    axes.set_ylim(0, bleu_top(comparison.systems))
    axes.set_ylabel("BLEU (0 to 100)", labelpad=8)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    _label_lines(figure, axes, comparison.systems)
    _title(figure, comparison, buckets)
    return figure


def label_lengths(axes: Axes, rows: Sequence[ScoreRow]) -> None:
    """Write the source lengths of ``rows`` below the axes, faint where sentences are few."""
    axes.set_xticks(range(len(rows)), [row.words.replace("-", "–") for row in rows])
    for label, row in zip(axes.get_xticklabels(), rows, strict=True):
        label.set_color(FAINT if row.few else INK)
    axes.set_xlim(-0.35, len(rows) - 0.65)
    axes.tick_params(length=0)


def bleu_top(systems: Sequence[System]) -> float:
    """The upper end of the BLEU axis: just above all points, and the intervals to be believed."""
    drawn = [1.0]
    for system in systems:
        for row in system.buckets:
            drawn += [row.bleu or 0.0, *row.by_seed]
            if not row.few:
                drawn.append(row.bleu_high or 0.0)
    return 102.0 if max(drawn) > 88 else max(drawn) * 1.08


def _draw_system(axes: Axes, system: System, index: int) -> None:
    colour, line, marker = look(index)
    points = [
        (place, row.bleu, row.bleu_low or 0.0, row.bleu_high or 0.0, row)
        for place, row in enumerate(system.buckets)
        if row.bleu is not None
    ]
    places, values, lows, highs, rows = zip(*points, strict=True)
    axes.fill_between(places, lows, highs, color=colour, alpha=0.16, linewidth=0)
    for here in range(len(points) - 1):
        # Faint towards a bucket of few sentences: the eye should not follow it as far.
        faint = rows[here].few or rows[here + 1].few
        axes.plot(
            places[here : here + 2],
            values[here : here + 2],
            color=colour,
            linestyle=line,
            linewidth=1.2 if faint else 2.2,
            alpha=0.5 if faint else 1.0,
        )
    for place, value, row in zip(places, values, rows, strict=True):
        if len(system.seeds) > 1:
            below, above = value - min(row.by_seed), max(row.by_seed) - value
            axes.errorbar(
                place,
                value,
                yerr=[[max(0.0, below)], [max(0.0, above)]],
                color=colour,
                linewidth=1.1,
                capsize=5,
                capthick=1.1,
            )
        axes.plot(
            place,
            value,
            marker=marker,
            markersize=7.5,
            color=colour,
            markerfacecolor="white" if row.few else colour,
            markeredgewidth=1.4,
            zorder=3,
        )


def _label_buckets(axes: Axes, buckets: Sequence[ScoreRow]) -> None:
    label_lengths(axes, buckets)
    for place, row in enumerate(buckets):
        axes.annotate(
            f"n = {row.sentences:,}",
            (place, 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, -27),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=9,
            color=FAINT,
        )
    axes.set_xlabel("Source length (words)", labelpad=22)


def _label_lines(figure: Figure, axes: Axes, systems: Sequence[System]) -> None:
    """Write each system's name at the right end of its line, after a sample of that line."""
    ends = []
    for system in systems:
        values = [row.bleu for row in system.buckets if row.bleu is not None]
        ends.append(values[-1])
    names = [textwrap.fill(system.name, 24) for system in systems]
    lines = max(name.count("\n") + 1 for name in names)
    heights = spread(ends, (0.02 + 0.055 * lines) * axes.get_ylim()[1])
    labels = [
        axes.annotate(
            name,
            (1, height),
            xycoords=("axes fraction", "data"),
            xytext=(SAMPLE + 14, 0),
            textcoords="offset points",
            va="center",
            color=look(index)[0],
            fontweight="bold",
        )
        for index, (name, height) in enumerate(zip(names, heights, strict=True))
    ]
    renderer = FigureCanvasAgg(figure).get_renderer()
    longest = max(label.get_window_extent(renderer).width for label in labels)
    right = 0.035 + longest / figure.bbox.width + SAMPLE / 72 / WIDTH
    width = 1 - LEFT - right
    axes.set_position((LEFT, 0.2, width, 0.62))
    point = 1 / (72 * WIDTH * width)  # as a part of the axes
    for index, height in enumerate(heights):
        colour, line, marker = look(index)
        axes.plot(
            [1 + 8 * point, 1 + (8 + SAMPLE / 2) * point, 1 + (8 + SAMPLE) * point],
            [height] * 3,
            transform=axes.get_yaxis_transform(),
            clip_on=False,
            color=colour,
            linestyle=line,
            linewidth=2.2,
            marker=marker,
            markevery=[1],
            markersize=7.5,
        )


def spread(heights: Sequence[float], room: float) -> list[float]:
    """Move values apart until neighbours are ``room`` apart, each as little as that takes."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    groups: list[list[float]] = []  # [centre, members]
    for i in order:
        groups.append([heights[i], 1])
        while len(groups) > 1 and (
            groups[-1][0] - groups[-2][0] < room * (groups[-1][1] + groups[-2][1]) / 2
        ):
            centre, size = groups.pop()
            before, count = groups[-1]
            groups[-1] = [(centre * size + before * count) / (size + count), size + count]
    placed = [
        centre + room * (position - (size - 1) / 2)
        for centre, size in groups
        for position in range(int(size))
    ]
    moved = [0.0] * len(heights)
    for i, height in zip(order, placed, strict=True):
        moved[i] = height
    return moved


def _title(figure: Figure, comparison: Comparison, buckets: Sequence[ScoreRow]) -> None:
    settings = comparison.settings
    figure.text(0.03, 0.935, "BLEU by source length", fontsize=16, fontweight="bold")
    figure.text(0.03, 0.88, heading(comparison), fontsize=11.5, color=INK)
    notes = [f"Bands: {percent(settings.confidence)} bootstrap intervals over sentences."]
    if any(len(system.seeds) > 1 for system in comparison.systems):
        notes.append("With whiskers: means, from the lowest to the highest seed.")
    if any(row.few for row in buckets):
        notes.append(f"Hollow: fewer than {FEW} sentences.")
    figure.text(0.03, 0.03, " ".join(notes), fontsize=9, color=FAINT)


def render_heatmap(comparison: Comparison) -> dict[str, bytes]:
    """BLEU by system and source length: {"png": ..., "svg": ...}."""
    return render(lambda: heatmap(comparison))


def heatmap(comparison: Comparison) -> Figure:
    """Lay out the map: the systems in the comparison's order from above, n below each length."""
    values = bleu_matrix(comparison)
    rows = len(comparison.systems)
    height = HEAD + ROW * rows + FOOT
    figure = Figure(figsize=(WIDTH, height), dpi=DPI)
    names = [_name(system) for system in comparison.systems]
    longest = max(map(len, names))
    left = min(0.4, 0.045 + 0.0095 * longest)
    axes = figure.add_axes((left, FOOT / height, 0.97 - left, ROW * rows / height))
    highest = max(1.0, np.nanmax(values))
    image = axes.imshow(values, cmap="cividis", vmin=0, vmax=highest, aspect="auto")
    _write_values(axes, values, image)
    shown = comparison.systems[0].buckets
    labels = [f"{row.words.replace('-', '–')}\nn = {row.sentences:,}" for row in shown]
    axes.set_xticks(range(len(shown)), labels)
    for label, row in zip(axes.get_xticklabels(), shown, strict=True):
        label.set_color(FAINT if row.few else INK)
    axes.set_yticks(range(rows), names)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel("Source length (words)", labelpad=8)
    top = 1 - 0.42 / height
    figure.text(0.03, top, "BLEU by system and source length", fontsize=16, fontweight="bold")
    figure.text(0.03, top - 0.34 / height, heading(comparison), fontsize=11.5)
    return figure


def bleu_matrix(comparison: Comparison) -> Float[np.ndarray, "systems lengths"]:
    """BLEU of each system at each length up to the longest of the test set; NaN without any."""
    return np.array(
        [
            [np.nan if row.bleu is None else row.bleu for row in system.buckets]
            for system in comparison.systems
        ]
    )


def _name(system: System) -> str:
    seeds = len(system.seeds)
    return f"{system.name} ({seeds} seeds)" if seeds > 1 else system.name


def _write_values(
    axes: Axes, values: Float[np.ndarray, "systems lengths"], image: AxesImage
) -> None:
    """The number in each cell, in a colour that can be read on it."""
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            ink = ink_on(image, value)
            axes.text(column, row, f"{value:.1f}", ha="center", va="center", color=ink)
