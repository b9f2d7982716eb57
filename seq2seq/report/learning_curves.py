"""Figure of learning curves: dev loss and BLEU by updates."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from seq2seq.drawing import name_lines, new_figure
from seq2seq.looks import GRID, INK, LINES, Look, looks
from seq2seq.report.training_runs import TrainingRun


def learning_curves(runs: Sequence[TrainingRun]) -> Figure | None:
    """Draw dev loss and BLEU by updates, and each system's BLEU at a few lengths if measured.

    Returns None if no run has a validation.
    """
    runs = [run for run in runs if run.updates]
    if not runs:
        return None
    configs = {run.system: run.config for run in runs}
    look_of = dict(zip(configs, looks(list(configs.values())), strict=True))
    measured = list(next((by[0] for run in runs if (by := run.bleus_by_length)[0]), {}))
    places = zip((0, len(measured) // 2, -1), LINES[2::-1], strict=True)
    lines = {measured[place]: line for place, line in places if measured}
    span = 2 if len(look_of) <= 2 else 1  # of four columns
    rows = -(-len(look_of) * span // 4) if lines else 0
    subtitle = "by updates" + "; below: dev BLEU of each system by source length" * bool(lines)
    note = "Marks: the best checkpoint by the training's own measure."
    figure = new_figure(4.5 + 2 * rows, "Learning curves", subtitle, note)
    grid = figure.add_gridspec(1 + rows, 4, height_ratios=[1.6, *[1] * rows])
    loss, bleu = figure.add_subplot(grid[0, :2]), figure.add_subplot(grid[0, 2:])
    for run in runs:
        _draw_curve(loss, run, run.losses, look_of[run.system])
        _draw_curve(bleu, run, run.bleus, look_of[run.system])
    for place, system in enumerate(look_of if lines else ()):
        row, column = divmod(place * span, 4)
        cell, first = grid[1 + row, column : column + span], figure.axes[2:3]
        panel = figure.add_subplot(cell, sharey=first[0] if first else None)
        panel.set_title(system, fontsize=10, loc="left")
        for run in (run for run in runs if run.system == system):
            for length, line in lines.items():
                values = [by.get(length, np.nan) for by in run.bleus_by_length]
                panel.plot(run.updates, values, color=look_of[system][0], linestyle=line)
    loss.set(xlabel="Updates", ylabel="Dev loss (nats per piece)")
    bleu.set(xlabel="Updates", ylabel="Dev BLEU (greedy)")
    for axes in figure.axes:
        axes.grid(axis="y", color=GRID, linewidth=0.8)
        axes.tick_params(length=0)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
    low = min(loss for run in runs for loss in run.losses)
    # The first validations, of an untrained model, would flatten the others.
    high = max(loss for run in runs for loss in run.losses[len(run.losses) // 4 :])
    room = (high - low) or 1.0
    loss.set_ylim(low - 0.05 * room, high + 0.1 * room)
    keys = [
        Line2D([], [], color=INK, linestyle=line, label=f"length {length}".replace("-", "–"))
        for length, line in lines.items()
    ]
    name_lines(figure, loss, keys)
    return figure


def _draw_curve(axes: Axes, run: TrainingRun, values: Sequence[float | None], look: Look) -> None:
    """Draw a line through the measured values, with a mark at the best checkpoint."""
    points = {u: v for u, v in zip(run.updates, values, strict=True) if v is not None}
    colour, line, marker = look
    places, measured = list(points), list(points.values())
    axes.plot(places, measured, color=colour, linestyle=line, linewidth=1.8, label=run.system)
    best = run.record.progress.best_update
    if best in points:
        axes.plot(best, points[best], marker=marker, color=colour, markersize=6.5)
