"""Learning curves: what each validation of several trainings measured.

A model that has not stopped learning loses long sentences whatever its kind, so a comparison by
length is to be believed as far as these curves are flat at their ends.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.typing import LineStyleType

from seq2seq.report.figures import LINES, MARKERS
from seq2seq.report.style import COLOURS, DPI, FAINT, GRID, WIDTH, render
from seq2seq.report.training_runs import TrainingRun

HEIGHT = 4.4
"""Inches."""


def render_curves(runs: Sequence[TrainingRun]) -> dict[str, bytes]:
    """Draw dev loss and dev BLEU against updates: {"png": ..., "svg": ...}."""
    return render(lambda: curves(runs))


def curves(runs: Sequence[TrainingRun]) -> Figure:
    """Lay out the figure: the loss on the left, BLEU on the right where it was measured."""
    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DPI)
    loss = figure.add_axes((0.075, 0.25, 0.4, 0.57))
    bleu = figure.add_axes((0.565, 0.25, 0.4, 0.57))
    for index, (run, label) in enumerate(zip(runs, labels(runs), strict=True)):
        look = _Look(label, COLOURS[index % len(COLOURS)], LINES[index % len(LINES)], _mark(index))
        _draw(loss, run.updates, run.losses, min, look)
        _draw(bleu, run.updates, run.bleus, max, look)
    for axes, label in ((loss, "Dev loss (nats per piece)"), (bleu, "Dev BLEU (greedy)")):
        axes.set_ylabel(label)
        axes.set_xlabel("Updates")
        axes.grid(axis="y", color=GRID, linewidth=0.8)
        axes.tick_params(length=0)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlim(left=0)
    # The first validations, of a model that knows nothing, would flatten all the others.
    believable = [value for run in runs for value in run.losses[len(run.losses) // 4 :]]
    if believable:
        low, high = min(believable), max(believable)
        loss.set_ylim(low - 0.05 * (high - low or 1), high + 0.1 * (high - low or 1))
    bleu.set_ylim(bottom=0)
    figure.legend(
        *loss.get_legend_handles_labels(),
        loc="upper left",
        bbox_to_anchor=(0.02, 0.9),
        ncols=min(4, len(runs)),
        frameon=False,
    )
    figure.text(0.03, 0.93, "Learning curves", fontsize=16, fontweight="bold")
    figure.text(
        0.03, 0.03, "Marks: the best of each. Dev text has all lengths.", fontsize=9, color=FAINT
    )
    return figure


def labels(runs: Sequence[TrainingRun]) -> list[str]:
    """System and seed; the experiment too, where there are several."""
    several = len({run.record.get("experiment") for run in runs}) > 1
    return [
        f"{run.name if several else run.record.get('system')}, seed {run.record.get('seed')}"
        for run in runs
    ]


class _Look(NamedTuple):
    label: str
    colour: str
    line: LineStyleType
    mark: str


def _mark(index: int) -> str:
    return MARKERS[index % len(MARKERS)]


def _draw(
    axes: Axes,
    updates: Sequence[int],
    values: Sequence[float | None],
    best: Callable[[Iterable[float]], float],
    look: _Look,
) -> None:
    """A line through what was measured, with a mark at the best."""
    points = [(u, v) for u, v in zip(updates, values, strict=True) if v is not None]
    if not points:
        return
    places, measured = zip(*points, strict=True)
    axes.plot(
        places, measured, color=look.colour, linestyle=look.line, linewidth=1.8, label=look.label
    )
    here = measured.index(best(measured))
    axes.plot(places[here], measured[here], marker=look.mark, color=look.colour, markersize=6.5)
