"""What all figures share: colours, type, width, and how they become bytes.

They are drawn on Figure objects, without pyplot and its global state; the same results give the
same bytes. A PNG is light; an SVG has the colour scheme of its reader, or of the page around it.
"""

import io
import re
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

GROUND, INK, FAINT, GRID = "#FFFFFF", "#222222", "#6B6B6B", "#E3E3E3"
DARK = {GROUND: "#14161A", INK: "#ECECEC", FAINT: "#A3A8AF", GRID: "#33373E"}
"""Light -> what an SVG has in its place in a dark scheme."""

STYLE: dict[Any, Any] = {
    "figure.facecolor": GROUND,
    "axes.facecolor": GROUND,
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

WIDTH, NARROW = 9.6, 4.2
"""Inches; the narrow one is for a phone."""
DPI = 200
ZONE = "length-"
"""Of the id of the area of each bucket in an SVG, which is invisible; then its number from 0."""


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
    """Nearly white or black: what stands out more from a value's colour; 4.5 to 1 (WCAG 2)."""
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in image.to_rgba(np.array([value]))[0, :3]
    )
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    # Not quite white: that is the ground, which turns dark.
    return "#FEFEFE" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"


def new_figure(
    height: float, title: str, subtitle: str, note: str = "", width: float = WIDTH
) -> Figure:
    """A figure with its heading; matplotlib lays out what is drawn on it.

    ``height`` in inches is made larger where title, subtitle or note need more than a line, and
    smaller without a title.
    """
    size, smaller = (16, 11) if width == WIDTH else (13, 10)
    letters = 115 * (width - 0.5)  # that fill a line, times their size in points
    title, subtitle, note = (
        textwrap.fill(text, round(letters / points))
        for text, points in ((title, size), (subtitle, smaller), (note, 9))
    )
    lines = [text.count("\n") for text in (title, subtitle, note)]
    head = 0.9 + (lines[0] * size + lines[1] * smaller) * 1.2 / 72 if title else 0.1
    foot = 0.1 + (0.3 + lines[2] * 0.15) * bool(note)
    height += head - 0.9 + lines[2] * 0.15
    room = (0.01, foot / height, 0.98, 1 - (head + foot) / height)
    figure = Figure(figsize=(width, height), dpi=DPI, layout=ConstrainedLayoutEngine(rect=room))
    left = 0.29 / width
    top, middle = 1 - 0.2 / height, 1 - (0.58 + lines[0] * size * 1.2 / 72) / height
    figure.text(left, top, title, fontsize=size, fontweight="bold", va="top", linespacing=1.2)
    figure.text(left, middle, subtitle, fontsize=smaller, va="top", linespacing=1.2)
    figure.text(left, 0.14 / height, note, fontsize=9, color=FAINT)
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
        axes.plot(*zip(*hollow, strict=True), linestyle="", markerfacecolor=GROUND, **style)


def name_lines(figure: Figure, axes: Axes) -> None:
    """Name the lines of ``axes``, from above in the order of their right ends.

    The names are next to the axes; in a narrow figure above them.
    """
    lines = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    lines.sort(key=lambda line: -np.asarray(line.get_ydata())[-1])
    names = [str(line.get_label()) for line in lines]
    look: dict[str, Any] = {"handlelength": 3.5, "fontsize": 10, "frameon": False}
    if figure.get_figwidth() > NARROW:
        names = [textwrap.fill(name, 24) for name in names]
        figure.legend(lines, names, loc="outside right center", **look)
    else:
        names = [textwrap.fill(name, 40) for name in names]
        axes.legend(lines, names, loc="lower left", bbox_to_anchor=(-0.1, 1), **look)


def render(
    lay_out: Callable[[], Figure | None], forms: Sequence[str] = ("png", "svg"), prefix: str = ""
) -> dict[str, bytes]:
    """The figure of ``lay_out`` in this style: {"png": ..., "svg": ...}; {} where there is none.

    ``prefix`` begins the ids in the SVG, for a page that has two of them in it.
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a user's own style must not change what a report looks like
        matplotlib.rcParams.update(STYLE)
        figure = lay_out()
        return {form: _save(figure, form, prefix) for form in forms} if figure else {}


def _save(figure: Figure, form: str, prefix: str) -> bytes:
    stream = io.BytesIO()
    metadata = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}[form]
    figure.savefig(stream, format=form, metadata=metadata)
    if form == "png":
        return stream.getvalue()
    svg = re.sub(r'(?<= id=")|(?<=href="#)|(?<=url\(#)', prefix, stream.getvalue().decode())
    return svg.replace("</style>", f"\n{_dark_rules(prefix)}</style>", 1).encode()


def _dark_rules(prefix: str) -> str:
    """CSS that gives the colours of an SVG their dark counterparts.

    The colours themselves remain, for programs that know no such rules.
    """
    rules = [
        f'[style*="{part}: {light.lower()}"] {{{part}: light-dark({light}, {dark}) !important}}\n'
        for light, dark in DARK.items()
        for part in ("fill", "stroke")
    ]
    zones = f'[id^="{prefix}{ZONE}"] {{pointer-events: all}}\n'
    return "".join([":root {color-scheme: light dark}\n", *rules, zones])
