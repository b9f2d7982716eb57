"""What all figures share: colours, type, width, and how they become bytes.

They are drawn on Figure objects, without pyplot and its global state; the same results give the
same bytes.
"""

import io
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.typing import LineStyleType

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe & Ito's palette, safe for colour-blind readers."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES: tuple[LineStyleType, ...] = (
    (0, (5, 2)),
    "-",
    (0, (1, 1.4)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1)),
    (0, (8, 3)),
    "-",
)

INK, FAINT, GRID = "#222222", "#757575", "#E3E3E3"

STYLE: dict[Any, Any] = {
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture everywhere
    "font.size": 11,
    "text.color": INK,
    "text.parse_math": False,  # a system may be called "$5"
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "seq2seq",
    "svg.fonttype": "path",
}

WIDTH = 9.6
"""Inches."""
DPI = 200


def look(index: int) -> tuple[str, LineStyleType, str]:
    """Colour, line and marker of the system of that number; no two of the first 49 are alike.

    The first differ in all three, so that a figure survives grey printing.
    """
    again = index // len(COLOURS)  # the next round of colours has other lines and markers
    return (
        COLOURS[index % len(COLOURS)],
        LINES[(index + again) % len(LINES)],
        MARKERS[(index + again) % len(MARKERS)],
    )


def ink_on(image: ScalarMappable, value: float) -> str:
    """White or black: what stands out more from a value's colour; at least 4.5 to 1 (WCAG 2)."""
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in image.to_rgba(np.array([value]))[0, :3]
    )
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"


def new_figure(height: float, title: str, subtitle: str, note: str = "") -> Figure:
    """A figure of ``height`` inches with its heading; matplotlib lays out what is drawn on it."""
    foot = 0.4 if note else 0.1
    room = (0.01, foot / height, 0.98, 1 - (0.9 + foot) / height)
    figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout=ConstrainedLayoutEngine(rect=room))
    figure.text(0.03, 1 - 0.42 / height, title, fontsize=16, fontweight="bold")
    figure.text(0.03, 1 - 0.72 / height, subtitle, fontsize=11)
    figure.text(0.03, 0.14 / height, note, fontsize=9, color=FAINT)
    return figure


def draw_line(
    axes: Axes, index: int, name: str, values: Sequence[float | None], few: Sequence[bool]
) -> None:
    """A line through the known of ``values``, one a place; the points that are ``few`` hollow."""
    colour, line, marker = look(index)
    known = [(place, value) for place, value in enumerate(values) if value is not None]
    hollow = [point for point in known if few[point[0]]]
    style: dict[str, Any] = {"marker": marker, "color": colour, "markersize": 7}
    axes.plot(*zip(*known, strict=True), linestyle=line, linewidth=2, label=name, **style)
    if hollow:
        axes.plot(*zip(*hollow, strict=True), linestyle="", markerfacecolor="white", **style)


def name_lines(figure: Figure, axes: Axes) -> None:
    """Name the lines of ``axes`` next to it, from above in the order of their right ends."""
    lines = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    lines.sort(key=lambda line: -np.asarray(line.get_ydata())[-1])
    figure.legend(
        lines,
        [textwrap.fill(str(line.get_label()), 24) for line in lines],
        loc="outside right center",
        labelcolor="linecolor",
        handlelength=3.5,
        fontsize=10,
        frameon=False,
    )


def render(lay_out: Callable[[], Figure | None]) -> dict[str, bytes]:
    """The figure of ``lay_out`` in this style: {"png": ..., "svg": ...}; {} where there is none."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a user's own style must not change what a report looks like
        matplotlib.rcParams.update(STYLE)
        figure = lay_out()
        return {form: _save(figure, form) for form in ("png", "svg")} if figure else {}


def _save(figure: Figure, form: str) -> bytes:
    stream = io.BytesIO()
    metadata = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}[form]
    figure.savefig(stream, format=form, metadata=metadata)
    return stream.getvalue()
