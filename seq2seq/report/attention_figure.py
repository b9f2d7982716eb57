"""Figure of attention maps, word by word."""

from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from seq2seq.drawing import MAP_NOTE, WIDTH, draw_map, new_figure
from seq2seq.evaluation.comparison import System
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.translations import AttentionMap
from seq2seq.looks import FAINT

MAPS = 4
"""Maximum number of maps in a figure, unless the setting ``maps`` names their lines."""
LONGEST = 24
"""Maximum number of words on each side of a readable map."""
WORDS = 1.2
"""Space in inches left of and above a map, for the words."""


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
