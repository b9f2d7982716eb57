"""Line charts as numbers that a template can write down as SVG: every coordinate is ready.

They are drawn once, on the side of Python, so that a page shows them without its script too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from seq2seq.report.figures import look

SHAPES = {
    "o": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "s": "M-4.5-4.5h9v9h-9z",
    "^": "M0-6L5.5 4.5h-11z",
    "D": "M0-6L6 0L0 6L-6 0z",
    "v": "M0 6L-5.5-4.5h11z",
    "P": "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
    "X": "M-6-3.5L-3.5-6L0-2.5L3.5-6L6-3.5L2.5 0L6 3.5L3.5 6L0 2.5L-3.5 6L-6 3.5L-2.5 0z",
}
"""Markers of the figures, as SVG paths around their middle."""

LEFT, RIGHT, TOP, BOTTOM = 64.0, 18.0, 14.0, 46.0
"""Room around the lines, in the units of the drawing."""
SECOND_LINE = 14.0
"""More room below, where labels of the x axis have two lines."""
MOST_TICKS = 6


@dataclass(frozen=True)
class Point:
    """What was measured at one place of the x axis."""

    x: float
    y: float
    label: str
    """All that it says, in words."""
    low: float | None = None
    """Of an interval, drawn as a band; None for none."""
    high: float | None = None
    spread: tuple[float, float] | None = None
    """Lowest and highest of several seeds, drawn as a whisker."""
    hollow: bool = False
    """Of few sentences."""
    key: str = ""
    """What on the page belongs to it."""


@dataclass(frozen=True)
class Series:
    """The points of a system, in the order of x."""

    name: str
    system: int
    """Its number, which decides colour, line and marker."""
    points: list[Point]
    marked: bool = True
    """Whether each point has a marker; else the line alone is drawn."""


@dataclass(frozen=True)
class Tick:
    """A label of an axis."""

    place: float
    text: str
    below: str = ""
    faint: bool = False


@dataclass(frozen=True)
class Style:
    """How a system is told from the others: by colour, by line, by marker."""

    colour: int
    """Number of a colour of the palette, of which there are a light and a dark one."""
    dash: str
    shape: str


@dataclass(frozen=True)
class Segment:
    """A piece of a line."""

    path: str
    faint: bool


@dataclass(frozen=True)
class Mark:
    """A point in place."""

    x: float
    y: float
    point: Point
    whisker: tuple[float, float] | None


@dataclass(frozen=True)
class Line:
    """A series in place."""

    name: str
    style: Style
    segments: list[Segment]
    band: str
    marks: list[Mark]


@dataclass(frozen=True)
class Chart:
    """All that a template needs to know."""

    name: str
    """A word for the ids of its parts."""
    title: str
    x_label: str
    y_label: str
    width: float
    height: float
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    lines: list[Line]
    left: float
    """Where the lines have room, like the three below."""
    right: float
    top: float
    bottom: float


@dataclass(frozen=True)
class Axis:
    """From numbers to places of the drawing."""

    low: float
    high: float
    start: float
    """Where ``low`` is drawn."""
    end: float

    def __call__(self, value: float) -> float:
        """The place of a value, to a tenth of a unit."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return round(self.start + share * (self.end - self.start), 1)


def draw(
    name: str,
    title: str,
    labels: tuple[str, str],
    series: Sequence[Series],
    x_ticks: Sequence[Tick],
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    size: tuple[float, float] = (860.0, 400.0),
) -> Chart:
    """Put series in their places.

    Args:
        name: a word for the ids of its parts.
        title: what is shown.
        labels: of the x axis and of the y axis.
        series: the lines.
        x_ticks: at places in the numbers of the x axis.
        x_range: the ends of the x axis, and ``y_range`` of the y axis; what lies outside is cut.
        y_range: see ``x_range``.
        size: width and height in units of the drawing, which are pixels at full size.
    """
    width, height = size
    right = width - RIGHT
    bottom = height - BOTTOM - (SECOND_LINE if any(tick.below for tick in x_ticks) else 0.0)
    x = Axis(*x_range, LEFT, right)
    y = Axis(*y_range, bottom, TOP)
    return Chart(
        name=name,
        title=title,
        x_label=labels[0],
        y_label=labels[1],
        width=width,
        height=height,
        x_ticks=[Tick(x(t.place), t.text, t.below, t.faint) for t in x_ticks],
        y_ticks=[Tick(y(value), text) for value, text in ticks(*y_range)],
        lines=[_line(one, x, y) for one in series],
        left=LEFT,
        right=right,
        top=TOP,
        bottom=bottom,
    )


def _line(series: Series, x: Axis, y: Axis) -> Line:
    points = series.points
    segments = [
        Segment(f"M{x(a.x)} {y(a.y)}L{x(b.x)} {y(b.y)}", a.hollow or b.hollow)
        for a, b in pairwise(points)
        if series.marked
    ]
    if not series.marked and len(points) > 1:  # one path, so that its dashes run on
        path = "L".join(f"{x(point.x)} {y(point.y)}" for point in points)
        segments = [Segment(f"M{path}", False)]
    banded = [point for point in points if point.low is not None and point.high is not None]
    edges = [(point.x, point.high or 0.0) for point in banded]
    edges += [(point.x, point.low or 0.0) for point in reversed(banded)]
    marks = [
        Mark(
            x(point.x),
            y(point.y),
            point,
            None if point.spread is None else (y(point.spread[0]), y(point.spread[1])),
        )
        for point in points
        if series.marked or point is points[-1]
    ]
    band = " ".join(f"{x(place)},{y(value)}" for place, value in edges)
    return Line(series.name, style(series.system), segments, band, marks)


def style(system: int) -> Style:
    """The look of the system of that number in the figures, for SVG."""
    _, line, marker = look(system)
    lengths = () if isinstance(line, str) else line[1] or ()
    dash = " ".join(f"{2.2 * length:.3g}" for length in lengths)
    return Style(system % len(SHAPES), dash, SHAPES[marker])


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round numbers between two, and how they are written."""
    span = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(span))
    steps = [power * step for step in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)]
    step = next(step for step in steps if span / step <= MOST_TICKS)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(n * step, f"{n * step:,.{digits}f}") for n in range(first, last + 1)]
