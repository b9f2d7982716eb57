"""BLEU by source length: the figure of Bahdanau, Cho & Bengio 2014, with intervals.

Systems differ in colour (Okabe & Ito's palette, safe for colour-blind readers), in marker and in
line, so that the figure survives grey printing. Drawn on Figure objects, without pyplot and its
global state; the same comparison gives the same bytes.
"""

import io
from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seq2seq.evaluation.lengths import FEW
from seq2seq.evaluation.systems import Comparison, System
from seq2seq.report.tables import heading

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ((0, (5, 2)), "-", (0, (1, 1.4)), (0, (6, 2, 1, 2)), (0, (3, 1)), (0, (8, 3)), "-")

INK, FAINT, GRID = "#222222", "#8A8A8A", "#E3E3E3"

STYLE = {
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture everywhere
    "font.size": 11,
    "text.color": INK,
    "text.parse_math": False,  # a system may be called "$5"
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "seq2seq",
    "svg.fonttype": "path",
}

WIDTH, HEIGHT = 9.6, 5.4
"""Inches: 16 to 9, a slide."""
DPI = 200


def render_length_figure(comparison: Comparison) -> dict[str, bytes]:
    """Draw BLEU by source length for every system: {"png": ..., "svg": ...}."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a user's own style must not change what a report looks like
        matplotlib.rcParams.update(STYLE)
        figure = length_figure(comparison)
        return {"png": _save(figure, "png"), "svg": _save(figure, "svg")}


def length_figure(comparison: Comparison) -> Figure:
    """Lay out the figure: points at the buckets, bands of the intervals, n below each bucket."""
    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DPI)
    axes = figure.add_axes((0.075, 0.2, 0.73, 0.6))
    for index, system in enumerate(comparison.systems):
        _draw_system(axes, system, index)
    _label_buckets(axes, comparison)
    top = max(
        (row.bleu_high or 0.0 for system in comparison.systems for row in system.buckets),
        default=0.0,
    )
    seeds_top = max((b for s in comparison.systems for row in s.buckets for b in row.by_seed))
    axes.set_ylim(0, min(102.0, max(top, seeds_top, 1.0) * 1.06))
    axes.set_xlim(-0.35, len(comparison.systems[0].buckets) - 1 + 0.35)
    axes.set_ylabel("BLEU (0 to 100)", labelpad=8)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.tick_params(length=0)
    _label_lines(axes, comparison.systems)
    _title(figure, comparison)
    return figure


def _draw_system(axes: Axes, system: System, index: int) -> None:
    colour = COLOURS[index % len(COLOURS)]
    marker = MARKERS[index % len(MARKERS)]
    places = [place for place, row in enumerate(system.buckets) if row.sentences]
    rows = [system.buckets[place] for place in places]
    values = [row.bleu or 0.0 for row in rows]
    lows = [row.bleu_low or 0.0 for row in rows]
    highs = [row.bleu_high or 0.0 for row in rows]

    if len(system.seeds) > 1:
        # The luck of training: a bar at each bucket, apart from the band of the test set's luck.
        offset = 0.05 * (index + 1)
        for place, row in zip(places, rows, strict=True):
            axes.vlines(
                place + offset, min(row.by_seed), max(row.by_seed), color=colour, lw=5, alpha=0.35
            )
    axes.fill_between(places, lows, highs, color=colour, alpha=0.16, linewidth=0)
    # Between two buckets of enough sentences the line is full; towards a small one it is faint.
    for (x0, y0, row0), (x1, y1, row1) in zip(
        zip(places, values, rows, strict=True),
        list(zip(places, values, rows, strict=True))[1:],
        strict=False,
    ):
        faint = row0.few or row1.few
        axes.plot(
            [x0, x1],
            [y0, y1],
            color=colour,
            linestyle=LINES[index % len(LINES)],
            linewidth=1.2 if faint else 2.2,
            alpha=0.45 if faint else 1.0,
        )
    for place, value, row in zip(places, values, rows, strict=True):
        axes.plot(
            place,
            value,
            marker=marker,
            markersize=7.5,
            color=colour,
            markerfacecolor="white" if row.few else colour,
            markeredgewidth=1.6,
            alpha=0.6 if row.few else 1.0,
            zorder=3,
        )


def _label_buckets(axes: Axes, comparison: Comparison) -> None:
    buckets = comparison.systems[0].buckets
    axes.set_xticks(range(len(buckets)), [row.words.replace("-", "–") for row in buckets])
    for place, (label, row) in enumerate(zip(axes.get_xticklabels(), buckets, strict=True)):
        label.set_color(FAINT if row.few else INK)
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


def _label_lines(axes: Axes, systems: Sequence[System]) -> None:
    """Write each system's name at the right end of its line, apart from each other."""
    ends = []
    for index, system in enumerate(systems):
        shown = [row.bleu for row in system.buckets if row.bleu is not None]
        ends.append((shown[-1], index, system))
    room = 0.075 * axes.get_ylim()[1]
    heights = spread([end for end, _, _ in ends], room)
    last = max(place for place, row in enumerate(systems[0].buckets) if row.sentences)
    for (end, index, system), height in zip(ends, heights, strict=True):
        axes.annotate(
            system.name,
            (last, end),
            xytext=(len(systems[0].buckets) - 1 + 0.45, height),
            textcoords="data",
            va="center",
            ha="left",
            color=COLOURS[index % len(COLOURS)],
            fontweight="bold",
            annotation_clip=False,
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


def _title(figure: Figure, comparison: Comparison) -> None:
    settings = comparison.settings
    figure.text(0.03, 0.935, "BLEU by source length", fontsize=16, fontweight="bold")
    figure.text(0.03, 0.88, heading(comparison), fontsize=11.5, color=INK)
    notes = [f"Bands: {settings.confidence:.0%} bootstrap intervals over sentences."]
    if any(len(system.seeds) > 1 for system in comparison.systems):
        notes.append("Points: means over seeds; bars: lowest to highest seed.")
    if any(row.few for row in comparison.systems[0].buckets):
        notes.append(f"Hollow: fewer than {FEW} sentences.")
    figure.text(0.03, 0.03, " ".join(notes), fontsize=9, color=FAINT)


def _save(figure: Figure, form: str) -> bytes:
    stream = io.BytesIO()
    metadata = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}[form]
    figure.savefig(stream, format=form, metadata=metadata)
    return stream.getvalue()
