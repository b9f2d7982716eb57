"""Attention as pictures: maps word by word, and how sharp and how monotone it is by length."""

import textwrap
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seq2seq.evaluation.comparison import Comparison, System
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.translations import AttentionMap, ReferenceScores
from seq2seq.report.length_figure import label_lengths, look
from seq2seq.report.style import DPI, FAINT, GRID, WIDTH, render
from seq2seq.report.tables import heading

MAPS = 4
"""In a figure for which no lines are chosen."""
LONGEST = 24
"""Words a side of such a map: more would be too small to read."""
LETTERS = 16
"""Of a word on an axis; the rest of it is left out."""
TITLE, TOP, BOTTOM, RIGHT, LEFT = 0.75, 1.05, 0.35, 0.15, 1.15
"""Inches: the title; above a map, for the source words; below, right and left of it."""

MEASURES: dict[str, tuple[str, str, Callable[[ReferenceScores], list[float | None] | None]]] = {
    "Entropy (nats)": (
        "Entropy of attention",
        "0 nats: each piece of the reference looks at one source piece; the logarithm of the "
        "source's length: at all alike.",
        lambda said: said.entropy,
    ),
    "Distance": (
        "Distance of attention from the diagonal",
        "0: attention walks through the source in order; 1/3, and more in short sentences: it is "
        "uniform.",
        lambda said: said.off_diagonal,
    ),
}
"""Label of an axis -> title, explanation, and the values of a model, None without attention."""


def render_attention(evaluation: Evaluation) -> dict[str, bytes]:
    """Attention maps of a few lines (Bahdanau et al. 2014, Figure 3): {"png": ..., "svg": ...}."""
    record = evaluation.record
    seed = "" if record.get("seed") is None else f", seed {record['seed']}"
    title = f"{record.get('system')}{seed} on {record.get('test_set')}, {record.get('search')}"
    return render(lambda: attention_figure(choose_maps(evaluation), title))


def choose_maps(evaluation: Evaluation) -> list[AttentionMap]:
    """The maps asked for with ``maps=[...]``; else a few of readable size, from short to long."""
    maps, asked = evaluation.texts.maps, evaluation.record.get("maps")
    if asked:
        return [one for one in maps if one.line + 1 in asked]
    by_size = sorted(maps, key=lambda one: (_size(one), one.line))
    readable = [one for one in by_size if _size(one) <= LONGEST] or by_size[:1]
    places = np.linspace(0, len(readable) - 1, min(MAPS, len(readable)))
    return [readable[round(place)] for place in places]


def _size(one: AttentionMap) -> int:
    return max(len(one.source), len(one.hypothesis))


def attention_figure(maps: Sequence[AttentionMap], title: str) -> Figure:
    """Lay out the maps in two columns, all with words of one size, rows as high as they need."""
    columns = min(2, len(maps))
    width = WIDTH if columns == 2 else WIDTH * 0.62
    room = width / columns - LEFT - RIGHT
    rows = [maps[start : start + columns] for start in range(0, len(maps), columns)]
    heights = [
        min(1.4 * room, max(room * len(one.hypothesis) / max(len(one.source), 1) for one in row))
        for row in rows
    ]
    height = TITLE + sum(heights) + (TOP + BOTTOM) * len(rows)
    figure = Figure(figsize=(width, height), dpi=DPI)
    top = height - TITLE
    for row, tall in zip(rows, heights, strict=True):
        top -= TOP
        for column, one in enumerate(row):
            cell = min(room / len(one.source), tall / len(one.hypothesis))
            wide, high = cell * len(one.source), cell * len(one.hypothesis)
            left = column * width / columns + LEFT
            box = (left / width, (top - high) / height, wide / width, high / height)
            _draw_map(figure.add_axes(box), one, cell)
        top -= tall + BOTTOM
    figure.text(0.02, 1 - 0.36 / height, "Attention", fontsize=15, fontweight="bold")
    figure.text(0.02, 1 - 0.62 / height, title, fontsize=10.5)
    note = "Across: the source; down: the translation. Black: a weight of 0, white: of 1."
    figure.text(0.02, 0.1 / height, note, fontsize=8.5, color=FAINT)
    return figure


def _draw_map(axes: Axes, one: AttentionMap, cell: float) -> None:
    """One square, or oblong, of weights with its words; a cell is ``cell`` inches wide."""
    axes.imshow(np.array(one.weights), cmap="gray", vmin=0, vmax=1, aspect="auto")
    points = max(3.5, min(9.0, 72 * cell * 0.8))  # no larger than a cell
    axes.set_xticks(range(len(one.source)), [_short(word) for word in one.source], rotation=90)
    axes.set_yticks(range(len(one.hypothesis)), [_short(word) for word in one.hypothesis])
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=2, labelsize=points)
    axes.text(
        1.0, -0.03, f"line {one.line + 1}", transform=axes.transAxes, ha="right", va="top",
        fontsize=7.5, color=FAINT,
    )  # fmt: skip
    for spine in axes.spines.values():
        spine.set_visible(False)


def _short(word: str) -> str:
    return word if len(word) <= LETTERS else word[: LETTERS - 1] + "…"


def render_focus(comparison: Comparison) -> dict[str, bytes]:
    """Entropy and distance from the diagonal by length; {} where no system attends."""
    attends = any(
        mean_by_bucket(comparison, s, lambda said: said.entropy) for s in comparison.systems
    )
    return render(lambda: focus_figure(comparison)) if attends else {}


def mean_by_bucket(
    comparison: Comparison,
    system: System,
    measure: Callable[[ReferenceScores], list[float | None] | None],
) -> list[float | None]:
    """The mean over the sentences of each bucket, then over seeds; [] without attention."""
    seeds = [values for said in system.reference_scores if (values := measure(said)) is not None]
    means: list[float | None] = []
    for chosen in comparison.members if seeds else []:
        of_seeds = [
            np.mean(known)
            for values in seeds
            if (known := [v for i in np.flatnonzero(chosen) if (v := values[i]) is not None])
        ]
        means.append(float(np.mean(of_seeds)) if of_seeds else None)
    return means


def focus_figure(comparison: Comparison) -> Figure:
    """Lay out a panel for each measure, with a line for each system that attends."""
    legend = 0.3 * -(-len(comparison.systems) // 4)
    height = 4.95 + legend
    figure = Figure(figsize=(WIDTH, height), dpi=DPI)
    rows = comparison.systems[0].buckets
    for panel, (label, (title, explanation, measure)) in enumerate(MEASURES.items()):
        left = 0.075 + 0.49 * panel
        axes = figure.add_axes((left, 1.25 / height, 0.4, 2.7 / height))
        for number, system in enumerate(comparison.systems):
            means = mean_by_bucket(comparison, system, measure)
            known = [(place, mean) for place, mean in enumerate(means) if mean is not None]
            if not known:
                continue
            colour, line, marker = look(number)
            axes.plot(*zip(*known, strict=True), color=colour, linestyle=line, label=system.name)
            for place, value in known:
                fill = "white" if rows[place].few else colour
                axes.plot(place, value, marker, color=colour, markerfacecolor=fill, zorder=3)
        label_lengths(axes, rows)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("Source length (words)")
        axes.set_ylabel(label)
        axes.set_title(title, fontsize=11)
        axes.grid(axis="y", color=GRID, linewidth=0.8)
        said = textwrap.fill(explanation, 66)
        figure.text(left, 0.5 / height, said, fontsize=8, color=FAINT, verticalalignment="top")
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(),
        loc="upper left",
        bbox_to_anchor=(0.02, 1 - 0.85 / height),
        ncols=4,
        fontsize=10,
        frameon=False,
    )
    top = 1 - 0.42 / height
    figure.text(0.03, top, "Attention by source length", fontsize=16, fontweight="bold")
    figure.text(0.03, top - 0.34 / height, heading(comparison), fontsize=11.5)
    return figure
