"""Where the time of an update goes: for each way to train a bar, as long as the update takes.

Drawn from the JSON files of the stage ``benchmark``; see ``seq2seq/benchmark/report.py``.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.text import Text

from seq2seq.errors import UserError
from seq2seq.files import parse_object
from seq2seq.report.style import COLOURS, DPI, FAINT, GRID, INK, WIDTH, render

_ENCODER, _RECURRENCE, _OUTPUT, _OPTIMIZER = COLOURS[1], COLOURS[5], COLOURS[2], COLOURS[4]


@dataclass(frozen=True)
class Look:
    """How the part of a bar that is one stage is drawn and explained."""

    label: str
    colour: str
    stripes: str | None = None
    """Colour of stripes across it, for a stage that is two in one."""


STAGES = {
    "encoder": Look("encoder", _ENCODER),
    "recurrence": Look("recurrence", _RECURRENCE),
    "output, loss": Look("output layer and loss", _OUTPUT),
    "recurrence, output, loss": Look("recurrence and output in one loop", _RECURRENCE, _OUTPUT),
    "optimizer": Look("optimizer", _OPTIMIZER),
}
"""By their names in the files, in the order of the legend."""

ROW, BAR = 0.5, 0.62
"""Inches from bar to bar; the part of that which a bar fills."""
HEAD, HEADING, AXIS, FOOT = 0.85, 0.5, 0.42, 0.62
"""Inches above all panels; above a panel's bars; below them; below all panels."""
MARGIN = 0.3
"""Inches left of all, and right of all."""


@dataclass(frozen=True)
class Bar:
    """One way to train, timed."""

    name: str
    detail: str
    """Precision and kernels."""
    milliseconds: float
    """Per update: the median."""
    speedup: float
    """How many times as fast as the first bar of the panel."""
    shares: dict[str, float]
    """Stage -> its part of the update, in the order of time; they sum to 1."""

    @property
    def parts(self) -> list[tuple[str, float, float]]:
        """Stage, start and length in milliseconds, from left to right."""
        parts, start = [], 0.0
        for stage, share in self.shares.items():
            parts.append((stage, start, share * self.milliseconds))
            start += share * self.milliseconds
        return parts


@dataclass(frozen=True)
class Panel:
    """One benchmark: a model and a batch on a machine, trained in several ways."""

    name: str
    detail: str
    bars: list[Bar]


def read_panel(path: Path) -> Panel | None:
    """The panel of one benchmark's JSON file; None for peers, which are not timed by stages.

    Raises:
        UserError: the file is missing, or is not what the stage ``benchmark`` writes today.
    """
    try:
        content = parse_object(path.read_bytes())
        if "runs" in content:
            return None
        bars = [_bar(entry) for entry in content["paths"]]
        if not bars:
            raise ValueError("no paths")
        return Panel(str(content["name"]), _setting(content), bars)
    except FileNotFoundError:
        raise UserError(f"There is no {path} for the picture; run scripts/benchmark.py.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(
            f"{path} is damaged or of another version; run scripts/benchmark.py again."
        ) from None


def _setting(content: dict[str, Any]) -> str:
    size, hardware = content["size"], content["environment"]["hardware"]
    machine = hardware.get("gpu") or f"{hardware['processor']}, {hardware['threads']} threads"
    attention = "" if content["attention"] == "additive" else ", no attention"
    return (
        f"decoder {size['decoder']:,}, vocabulary {size['vocabulary']:,}{attention}; "
        f"{size['batch']} sentences of {size['source']} source and {size['target']} target "
        f"pieces; {machine}"
    )


def _bar(entry: dict[str, Any]) -> Bar:
    if unknown := set(entry["shares"]) - set(STAGES):
        raise ValueError(f"unknown stages {unknown}")
    return Bar(
        name=str(entry["name"]),
        detail=f"{entry['precision']}, {entry['kernels']} kernels",
        milliseconds=1e3 * float(entry["median_seconds"]),
        speedup=float(entry["speedup"]),
        shares={stage: float(share) for stage, share in entry["shares"].items()},
    )


def render_benchmark_figure(panels: Sequence[Panel]) -> dict[str, bytes]:
    """Draw all panels, one below the other: {"png": ..., "svg": ...}."""
    return render(lambda: benchmark_figure(panels))


def benchmark_figure(panels: Sequence[Panel]) -> Figure:
    """Lay out the figure: a panel per benchmark with a scale of its own, a bar per path."""
    heights = [HEADING + ROW * len(panel.bars) + AXIS for panel in panels]
    height = HEAD + sum(heights) + FOOT
    figure = Figure(figsize=(WIDTH, height), dpi=DPI)
    labels: list[Text] = []
    ends: list[Text] = []
    top = height - HEAD
    for panel, room in zip(panels, heights, strict=True):
        bottom = top - room + AXIS
        axes = figure.add_axes((0, bottom / height, 1, ROW * len(panel.bars) / height))
        ends += _draw_bars(axes, panel.bars)
        for row, bar in enumerate(panel.bars):
            labels += _write(axes, (0, row), (bar.name, bar.detail), -7, "right")
        line = (top - HEADING / 2) / height
        name = figure.text(MARGIN / WIDTH, line, panel.name, fontweight="bold", va="center")
        figure.text(
            (MARGIN + 0.12) / WIDTH + _widest([name], figure) / WIDTH,
            line,
            textwrap.fill(panel.detail, 118),
            fontsize=9,
            color=FAINT,
            va="center",
        )
        top -= room
    left = MARGIN + _widest(labels, figure) + 0.1
    right = MARGIN + _widest(ends, figure) + 0.1
    for axes in figure.axes:
        place = axes.get_position()
        width = (WIDTH - left - right) / WIDTH
        axes.set_position((left / WIDTH, place.y0, width, place.height))
    figure.axes[-1].set_xlabel("ms per update", fontsize=9)
    _explain(figure, panels)
    return figure


def _draw_bars(axes: Axes, bars: Sequence[Bar]) -> list[Text]:
    """Draw the bars, the first on top; return what is written at their ends."""
    ends = []
    for row, bar in enumerate(bars):
        for stage, start, length in bar.parts:
            look = STAGES[stage]
            axes.barh(
                row,
                length,
                left=start,
                height=BAR,
                color=look.colour,
                edgecolor=look.stripes or "white",
                hatch="///" if look.stripes else None,
                linewidth=0 if look.stripes else 0.5,
            )
        words = (f"{bar.speedup:.2f}×" if row else "", f"{bar.milliseconds:,.1f} ms")
        ends += _write(axes, (bar.milliseconds, row), words, 7, "left")
    axes.set_xlim(0, max(bar.milliseconds for bar in bars))
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_yticks([])
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.tick_params(length=0, labelsize=9)
    axes.spines["bottom"].set_visible(False)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    return ends


def _write(
    axes: Axes, place: tuple[float, float], words: tuple[str, str], aside: float, side: str
) -> list[Text]:
    """Write a word and a smaller one below it, ``aside`` points right of ``place``."""
    looks = ((words[0], 6, 11, INK), (words[1], -6.5, 8, FAINT))
    return [
        axes.annotate(
            text,
            place,
            xytext=(aside, up if all(words) else 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=size,
            color=colour,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},  # over the grid
        )
        for text, up, size, colour in looks
        if text
    ]


def _explain(figure: Figure, panels: Sequence[Panel]) -> None:
    """Title, legend of the stages that occur, and how to read the bars."""
    height = figure.get_figheight()
    x = MARGIN / WIDTH
    figure.text(x, 1 - 0.42 / height, "Time of one update", fontsize=16, fontweight="bold")
    drawn = {stage for panel in panels for bar in panel.bars for stage in bar.shares}
    figure.legend(
        handles=[
            Patch(
                facecolor=look.colour,
                edgecolor=look.stripes or "white",
                hatch="///" if look.stripes else None,
                linewidth=0,
                label=look.label,
            )
            for stage, look in STAGES.items()
            if stage in drawn
        ],
        loc="upper left",
        bbox_to_anchor=(x, 1 - 0.55 / height),
        ncols=len(STAGES),
        borderpad=0,
        borderaxespad=0,
        frameon=False,
        fontsize=10,
        handlelength=1.4,
        columnspacing=1.6,
    )
    figure.text(
        x,
        0.16 / height,
        "Length: median time of an update, forward, backward and optimizer. Parts: its shares, "
        "timed stage by stage.\n×: how many times as fast as the first bar of the panel.",
        fontsize=9,
        color=FAINT,
    )


def _widest(texts: Sequence[Text], figure: Figure) -> float:
    """Inches that the widest of these texts takes."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    return max(text.get_window_extent(renderer).width for text in texts) / figure.dpi
