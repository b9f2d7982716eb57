"""Many systems on one test set: BLEU by system and source length, as a map.

Where lines would cross and cover each other, a row of the map is a system and a column a length.
"""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from seq2seq.evaluation.systems import Comparison, System
from seq2seq.report.style import DPI, FAINT, INK, WIDTH, ink_on, render
from seq2seq.report.tables import heading

ROW, HEAD, FOOT = 0.52, 1.05, 1.1
"""Inches: a row of the map; above it; below it."""
MANY_SYSTEMS = 4
"""With more systems a comparison has a map beside its figure."""
COLOUR_MAP = "cividis"
"""Read alike by colour-blind eyes, and in grey."""


def render_heatmap(comparison: Comparison) -> dict[str, bytes]:
    """Draw BLEU by system and source length: {"png": ..., "svg": ...}."""
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
    image = axes.imshow(values, cmap=COLOUR_MAP, vmin=0, vmax=highest, aspect="auto")
    _write_values(axes, values, image)
    shown = comparison.systems[0].buckets[: values.shape[1]]
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
    """BLEU of each system at each length up to the longest of the test set; NaN where none is."""
    counts = [row.sentences for row in comparison.systems[0].buckets]
    shown = 1 + max(place for place, count in enumerate(counts) if count)
    return np.array(
        [
            [np.nan if row.bleu is None else row.bleu for row in system.buckets[:shown]]
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
