"""The figures of a comparison: BLEU by source length, attention maps, learning curves."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seq2seq.drawing import (
    FAINT,
    INK,
    MAP_NOTE,
    WIDTH,
    ZONE,
    Style,
    draw_line,
    draw_map,
    name_lines,
    new_figure,
    styles,
)
from seq2seq.evaluation.comparison import Comparison, System
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.scores import bleu, bleu_counts
from seq2seq.evaluation.translations import FEW, AttentionMap, ScoreRow
from seq2seq.report.tables import conclusion, title
from seq2seq.report.training_runs import TrainingRun

HEIGHT = 5.4
"""Height of the length figure in inches; it is 16 to 9, like a slide."""
MAPS = 4
"""Maximum number of maps in a figure, unless the setting ``maps`` names their lines."""
LONGEST = 24
"""Maximum number of words on each side of a readable map."""
WORDS = 1.2
"""Space in inches left of and above a map, for the words."""


def length_figure(comparison: Comparison, bare: bool = False) -> Figure:
    """Draw BLEU by source length: points at buckets, bands for intervals, n below each bucket.

    An invisible area over each bucket (``ZONE``) lets a page show details of the bucket. ``bare``
    is for a page with its own title.
    """
    settings, systems = comparison.settings, comparison.systems
    buckets, several = systems[0].buckets, any(len(system.seeds) > 1 for system in systems)
    notes = f"Bands: {settings.confidence:.0%} bootstrap intervals."
    notes += " Points: means over seeds; whiskers: lowest and highest seed." * several
    notes += f" Hollow: fewer than {FEW} sentences." * any(row.few for row in buckets)
    texts = ("", "") if bare else (title(comparison), conclusion(comparison))
    figure = new_figure(HEIGHT, *texts, notes)
    axes = figure.add_subplot()
    drawn = [1.0]
    for system, style in zip(systems, styles(comparison.configs), strict=True):
        rows = system.buckets
        values, few = [row.bleu for row in rows], [row.few for row in rows]
        band = [row.bleu_low for row in rows], [row.bleu_high for row in rows]
        draw_line(axes, style, system.name, values, few, band)
        scored = {place: row.by_seed for place, row in enumerate(rows) if row.by_seed}
        low, high = ([end(of_seeds) for of_seeds in scored.values()] for end in (min, max))
        if len(system.seeds) > 1:
            axes.vlines([*scored], low, high, color=style.color, linewidth=1.1)
        drawn += [value or 0.0 for value in (*values, *band[1], *high)]
    highest = _draw_copying(axes, comparison)
    for place in range(len(buckets)):
        ends = place - 0.5, place + 0.5
        axes.axvspan(*ends, alpha=0, linewidth=0, zorder=9, gid=f"{ZONE}{place}")
    label_lengths(axes, buckets, settings.unit, count=True)
    if settings.buckets:
        axes.set_xlabel(settings.grouping)
    top = 102.0 if max(drawn) > 88 else max(drawn) * 1.08
    axes.set_ylim(0, max(top, 1.08 * highest))
    axes.set_ylabel("BLEU (0 to 100)")
    name_lines(figure, axes)
    return figure


def _draw_copying(axes: Axes, comparison: Comparison) -> float:
    """Draw the BLEU of copied sources as a dotted line; return its highest value."""
    texts, tokenize = comparison.systems[0].first.texts, comparison.settings.tokenize
    counts = bleu_counts(texts.sources, *texts.all_references, tokenize=tokenize)
    known = {i: bleu(counts[of].sum(axis=0)) for i, of in enumerate(comparison.members) if of.any()}
    axes.plot(*zip(*known.items(), strict=True), ":", color=FAINT, label="copying the source")
    return float(max(known.values()))


def label_lengths(axes: Axes, rows: Sequence[ScoreRow], unit: str, count: bool = False) -> None:
    """Write the source lengths of ``rows`` below the axes, faint where sentences are few."""
    labels = [row.words.replace("-", "–") + f"\nn = {row.sentences:,}" * count for row in rows]
    axes.set_xticks(range(len(rows)), labels)
    for label, row in zip(axes.get_xticklabels(), rows, strict=True):
        label.set_color(FAINT if row.few else INK)
    axes.set_xlim(-0.35, len(rows) - 0.65)
    axes.set_xlabel(f"Source length ({unit})")
    axes.tick_params(length=0)


def choose_maps(evaluation: Evaluation) -> list[AttentionMap]:
    """Choose the maps of the lines that the setting ``maps`` names, or else a few readable ones,
    from small to large, or else the smallest one.
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
    room = WIDTH / 2 - WORDS
    shapes = [room * len(drawn.hypothesis) / len(drawn.source) for drawn in maps]
    heights = [min(1.4 * room, max(shapes[row : row + 2])) for row in range(0, len(maps), 2)]
    height = sum(heights) + WORDS * len(heights) + 1.3
    title = f"{record.name} on {record.test_set}, {record.search}"
    figure = new_figure(height, "Attention", title, MAP_NOTE)
    grid = figure.add_gridspec(len(heights), 2, height_ratios=[tall + WORDS for tall in heights])
    for place, drawn in enumerate(maps):
        row, column = divmod(place, 2)
        cell = min(room / len(drawn.source), heights[row] / len(drawn.hypothesis))
        axes = figure.add_subplot(grid[row, column])
        draw_map(axes, drawn.source, drawn.hypothesis, drawn.weights, cell, colour)
        axes.set_xlabel(f"line {drawn.line + 1}", fontsize=7.5, color=FAINT)
    return figure


def learning_curves(runs: Sequence[TrainingRun]) -> Figure:
    """Draw dev loss and dev BLEU by updates."""
    runs = [run for run in runs if run.validations]
    configs = {run.record.system: run.config for run in runs}
    style_of = dict(zip(configs, styles(list(configs.values())), strict=True))
    note = "Marks: the best checkpoint by the training's own measure."
    figure = new_figure(4.5, "Learning curves", "by updates", note)
    loss, bleu = figure.subplots(1, 2)
    for run in runs:
        style = style_of[run.record.system]
        _draw_curve(loss, run, {one.update: one.loss for one in run.validations}, style)
        scores = {one.update: one.bleu for one in run.validations if one.bleu is not None}
        _draw_curve(bleu, run, scores, style)
    loss.set(xlabel="Updates", ylabel="Dev loss (nats per piece)")
    bleu.set(xlabel="Updates", ylabel="Dev BLEU (greedy)")
    for axes in figure.axes:
        axes.tick_params(length=0)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set(xlim=(0, None), ylim=(0, None))
    losses = [[one.loss for one in run.validations] for run in runs]
    low = min(map(min, losses))
    # The first validations, of an untrained model, would flatten the others.
    high = max(max(of_run[len(of_run) // 4 :]) for of_run in losses)
    room = (high - low) or 1.0
    loss.set_ylim(low - 0.05 * room, high + 0.1 * room)
    name_lines(figure, loss)
    return figure


def _draw_curve(axes: Axes, run: TrainingRun, points: dict[int, float], style: Style) -> None:
    """Draw a line through the points (update -> value), with a mark at the best checkpoint."""
    line, best = style._replace(marker=""), run.record.progress.best_update
    axes.plot(
        [*points], [*points.values()], linewidth=1.8, label=run.record.system, **line._asdict()
    )
    if best in points:
        axes.plot(best, points[best], marker=style.marker, color=style.color, markersize=6.5)
