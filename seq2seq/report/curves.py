"""Learning curves: what each validation of several trainings measured.

A model that has not stopped learning loses long sentences whatever its kind, so a comparison by
length is to be believed as far as these curves are flat at their ends.
"""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seq2seq.report.figures import look
from seq2seq.report.style import DPI, FAINT, GRID, WIDTH, render
from seq2seq.report.training_runs import TrainingRun

HEAD, LEGEND, PANEL, FOOT = 0.7, 0.3, 2.6, 0.95
"""Inches: above the legend; a row of it; a panel; below it."""
IN_A_ROW = 3
"""Runs in a row of the legend."""


def render_curves(runs: Sequence[TrainingRun]) -> dict[str, bytes]:
    """Draw dev loss and dev BLEU against updates: {"png": ..., "svg": ...}."""
    return render(lambda: curves(runs))


def curves(runs: Sequence[TrainingRun]) -> Figure:
    """Lay out the figure: the loss on the left, BLEU, where it was measured, on the right."""
    legend = LEGEND * math.ceil(len(runs) / IN_A_ROW)
    height = HEAD + legend + PANEL + FOOT
    figure = Figure(figsize=(WIDTH, height), dpi=DPI)
    loss = figure.add_axes((0.075, FOOT / height, 0.4, PANEL / height))
    bleu = figure.add_axes((0.565, FOOT / height, 0.4, PANEL / height))
    for index, (run, label) in enumerate(zip(runs, labels(runs), strict=True)):
        best = run.record.get("progress", {}).get("best_update")
        _draw(loss, run.updates, run.losses, best, label, index)
        _draw(bleu, run.updates, run.bleus, best, label, index)
    for axes, label in ((loss, "Dev loss (nats per piece)"), (bleu, "Dev BLEU (greedy)")):
        axes.set_ylabel(label)
        axes.set_xlabel("Updates")
        axes.grid(axis="y", color=GRID, linewidth=0.8)
        axes.tick_params(length=0)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlim(left=0)
    if any(run.losses for run in runs):
        loss.set_ylim(loss_range(runs))
    bleu.set_ylim(bottom=0)
    figure.legend(
        *loss.get_legend_handles_labels(),
        loc="upper left",
        bbox_to_anchor=(0.02, 1 - (HEAD - 0.12) / height),
        ncols=IN_A_ROW,
        fontsize=10,
        frameon=False,
    )
    figure.text(0.03, 1 - 0.42 / height, "Learning curves", fontsize=16, fontweight="bold")
    note = "Marks: the best checkpoint by the training's own measure, the one that is tested."
    figure.text(0.03, 0.03, note, fontsize=9, color=FAINT)
    return figure


def loss_range(runs: Sequence[TrainingRun]) -> tuple[float, float]:
    """Where an axis of dev loss begins and ends; one run at least has a validation.

    The first validations, of a model that knows nothing, would flatten all the others: they may
    leave the figure above.
    """
    low = min(loss for run in runs for loss in run.losses)
    high = max(loss for run in runs for loss in run.losses[len(run.losses) // 4 :])
    room = (high - low) or 1.0
    return low - 0.05 * room, high + 0.1 * room


def labels(runs: Sequence[TrainingRun]) -> list[str]:
    """System and seed; the experiment too, where there are several."""
    several = len({run.record.get("experiment") for run in runs}) > 1
    return [
        f"{run.name if several else run.record.get('system')}, seed {run.record.get('seed')}"
        for run in runs
    ]


def _draw(
    axes: Axes,
    updates: Sequence[int],
    values: Sequence[float | None],
    best: int | None,
    label: str,
    index: int,
) -> None:
    """A line through what was measured, with a mark at the update of the best checkpoint."""
    points = [(u, v) for u, v in zip(updates, values, strict=True) if v is not None]
    if not points:
        return
    places, measured = zip(*points, strict=True)
    colour, line, marker = look(index)
    axes.plot(places, measured, color=colour, linestyle=line, linewidth=1.8, label=label)
    if best is not None and best in places:
        value = measured[places.index(best)]
        axes.plot(best, value, marker=marker, color=colour, markersize=6.5)
