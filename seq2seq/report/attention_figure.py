"""Figures of attention: maps word by word; entropy and distance from the diagonal by length."""

import textwrap
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from seq2seq.drawing import MAP_NOTE, WIDTH, draw_line, draw_map, name_lines, new_figure
from seq2seq.evaluation.comparison import Comparison, System
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.translations import AttentionMap, ReferenceScores
from seq2seq.looks import FAINT, GRID
from seq2seq.report.length_figure import label_lengths
from seq2seq.report.tables import heading

MAPS = 4
"""Maximum number of maps in a figure, unless the setting ``maps`` names their lines."""
LONGEST = 24
"""Maximum number of words on each side of a readable map."""
WORDS = 1.2
"""Space in inches left of and above a map, for the words."""

MEASURES: dict[str, tuple[str, str, Callable[[ReferenceScores], list[float | None] | None]]] = {
    "Entropy (nats)": (
        "Entropy of attention",
        "0: all weight is on one source piece. The logarithm of the source's length: all weights "
        "are equal.",
        lambda scores: scores.entropy,
    ),
    "Distance": (
        "Distance of attention from the diagonal",
        "0: attention follows the source in order. If all weights are equal it is 1/3, and more in "
        "short sentences.",
        lambda scores: scores.off_diagonal,
    ),
}
"""Label of an axis -> title, explanation, and function that returns a model's values."""


def choose_maps(evaluation: Evaluation) -> list[AttentionMap]:
    """Choose the attention maps of the lines that the setting ``maps`` names.

    If none of these lines has a map, choose a few maps of readable size, from small to large, or
    the smallest map if none is readable.
    """
    maps, asked = evaluation.texts.maps, evaluation.record.maps
    if chosen := [drawn for drawn in maps if drawn.line + 1 in asked]:
        return chosen
    by_size = sorted(maps, key=lambda drawn: (_size(drawn), drawn.line))
    readable = [drawn for drawn in by_size if _size(drawn) <= LONGEST] or by_size[:1]
    places = np.linspace(0, len(readable) - 1, min(MAPS, len(readable)))
    return [readable[round(place)] for place in places]


def _size(drawn: AttentionMap) -> int:
    return max(len(drawn.source), len(drawn.hypothesis))


def attention_figure(system: System, colour: str) -> Figure:
    """Draw attention maps of a few lines (Bahdanau et al. 2014, Figure 3), two in a row."""
    record, maps = replace(system.first.record, system=system.name), choose_maps(system.first)
    title = f"{record.name} on {record.test_set}, {record.search}"
    room = WIDTH / 2 - WORDS
    rows = [maps[start : start + 2] for start in range(0, len(maps), 2)]
    heights = [
        min(1.4 * room, max(room * len(m.hypothesis) / len(m.source) for m in row)) for row in rows
    ]
    height = sum(heights) + WORDS * len(rows) + 1.3
    figure = new_figure(height, "Attention", title, MAP_NOTE)
    ratios = [tall + WORDS for tall in heights]
    grid = figure.add_gridspec(len(rows), 2, height_ratios=ratios)
    for place, drawn in enumerate(maps):
        row, column = divmod(place, 2)
        cell = min(room / len(drawn.source), heights[row] / len(drawn.hypothesis))
        axes = figure.add_subplot(grid[row, column])
        draw_map(axes, drawn.source, drawn.hypothesis, drawn.weights, cell, colour)
        axes.set_xlabel(f"line {drawn.line + 1}", fontsize=7.5, color=FAINT)
    return figure


def mean_by_bucket(
    comparison: Comparison,
    system: System,
    measure: Callable[[ReferenceScores], list[float | None] | None],
) -> list[float | None]:
    """Mean of ``measure`` in each bucket, over sentences, then seeds; [] without attention."""
    seeds = [values for s in system.reference_scores if (values := measure(s)) is not None]
    means: list[float | None] = []
    for chosen in comparison.members if seeds else []:
        of_seeds = [
            np.mean(known)
            for values in seeds
            if (known := [v for i in np.flatnonzero(chosen) if (v := values[i]) is not None])
        ]
        means.append(float(np.mean(of_seeds)) if of_seeds else None)
    return means


def focus_figure(comparison: Comparison) -> Figure | None:
    """Draw entropy and distance from the diagonal by source length; None without values."""
    figure = new_figure(4.9, "Attention by source length", heading(comparison))
    rows = comparison.systems[0].buckets
    panels = figure.subplots(1, 2)
    for axes, (label, (title, explanation, measure)) in zip(panels, MEASURES.items(), strict=True):
        for system, look in zip(comparison.systems, comparison.looks, strict=True):
            means = mean_by_bucket(comparison, system, measure)
            if any(mean is not None for mean in means):
                draw_line(axes, look, system.name, means, [row.few for row in rows])
        label_lengths(axes, rows, comparison.settings.unit)
        axes.tick_params(axis="x", labelsize=9)
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])  # room for the highest mark
        axes.set_ylabel(label)
        axes.set_title(title, fontsize=11)
        axes.grid(axis="y", color=GRID, linewidth=0.8)
        axes.annotate(
            textwrap.fill(explanation, 58), (0, 0), (0, -42), "axes fraction", "offset points",
            va="top", fontsize=8, color=FAINT,
        )  # fmt: skip
    name_lines(figure, panels[0])
    return figure if panels[0].lines else None
