"""Where a model looked, word by word: the grey squares of Bahdanau et al. 2014, Figure 3."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seq2seq.errors import UserError
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.scores import AttentionMap
from seq2seq.report.style import DPI, FAINT, WIDTH, render

MAPS = 4
"""In a figure for which no lines are chosen."""
LONGEST = 24
"""Words a side of such a map: more would be too small to read."""

HEAD, TOP, FOOT, GAP = 0.75, 1.05, 0.35, 0.15
"""Inches: the title; the source words above a map; below a row of maps; right of a map."""
LEFT = 1.15
"""Inches left of a map, for the words of the hypothesis."""
LETTERS = 16
"""Of a word on an axis; the rest of it is left out."""


def render_attention(evaluation: Evaluation, lines: Sequence[int] = ()) -> dict[str, bytes]:
    """Draw maps of an evaluation: {"png": ..., "svg": ...}; see :func:`choose_maps`."""
    maps = choose_maps(evaluation, lines)
    record = evaluation.record
    title = f"{evaluation.system} on {record.get('test_set')}, {record.get('search')}"
    return render(lambda: attention_figure(maps, title))


def choose_maps(evaluation: Evaluation, lines: Sequence[int] = ()) -> list[AttentionMap]:
    """The maps of ``lines``, counted from 1; without any, a few of readable size by length.

    Raises:
        UserError: the evaluation has no maps, or none of a line.
    """
    by_line = {one.line + 1: one for one in evaluation.texts.maps}
    if not by_line:
        raise UserError(
            f"{evaluation.directory} holds no attention to draw; evaluate a model that attends, "
            "with this version."
        )
    for line in lines:
        if line not in by_line:
            raise UserError(
                f"{evaluation.directory} holds no attention of line {line}; evaluate with "
                f"maps=[{line}]."
            )
    if lines:
        return [by_line[line] for line in lines]
    by_size = sorted(by_line.values(), key=lambda one: (_size(one), one.line))
    readable = [one for one in by_size if _size(one) <= LONGEST] or by_size[:1]
    places = np.linspace(0, len(readable) - 1, min(MAPS, len(readable)))
    return [readable[round(place)] for place in places]


def _size(one: AttentionMap) -> int:
    return max(len(one.source), len(one.hypothesis))


def attention_figure(maps: Sequence[AttentionMap], title: str) -> Figure:
    """Lay out the maps in two columns, all with words of one size, rows as high as they need."""
    columns = min(2, len(maps))
    width = WIDTH if columns == 2 else WIDTH * 0.62
    room = width / columns - LEFT - GAP
    rows = [maps[start : start + columns] for start in range(0, len(maps), columns)]
    heights = [
        max(room * len(one.hypothesis) / max(len(one.source), 1) for one in row) for row in rows
    ]
    heights = [min(height, 1.4 * room) for height in heights]
    height = HEAD + sum(heights) + (TOP + FOOT) * len(rows)
    figure = Figure(figsize=(width, height), dpi=DPI)
    top = height - HEAD
    for row, tall in zip(rows, heights, strict=True):
        top -= TOP
        for column, one in enumerate(row):
            cell = min(room / len(one.source), tall / len(one.hypothesis))
            wide, high = cell * len(one.source), cell * len(one.hypothesis)
            left = column * width / columns + LEFT
            box = (left / width, (top - high) / height, wide / width, high / height)
            _draw(figure.add_axes(box), one, cell)
        top -= tall + FOOT
    figure.text(0.02, 1 - 0.36 / height, "Attention", fontsize=15, fontweight="bold")
    figure.text(0.02, 1 - 0.62 / height, title, fontsize=10.5)
    figure.text(
        0.02,
        0.1 / height,
        "Across: the source; down: the translation. Black: a weight of 0, white: of 1.",
        fontsize=8.5,
        color=FAINT,
    )
    return figure


def _draw(axes: Axes, one: AttentionMap, cell: float) -> None:
    """One square, or oblong, of weights with its words."""
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
    if len(word) <= LETTERS:
        return word
    return word[: LETTERS - 1] + "…"
