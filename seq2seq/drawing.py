"""Style of all figures, and functions that draw them and turn them into bytes.

Figures are matplotlib's Figure objects, made without pyplot and its global state. Equal results
give equal bytes. An SVG is light or dark like the page around it, or like the reader's system.
"""

import io
import logging
import math
import re
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Literal, NamedTuple

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from seq2seq.config import flatten

_warn = cache(logging.getLogger(__name__).warning)
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # a font may not be installed
logging.getLogger("fontTools").setLevel(logging.WARNING)  # it logs each glyph of a PDF

GROUND, INK, FAINT, GRID = "#FFFFFF", "#222222", "#6B6B6B", "#E3E3E3"
ATTENDS = {"#0072B2": "#56B4E9", "#009E73": "#35C79B", "#5F5BC0": "#A9A5F2", "#3F8F3F": "#8FD18F"}
DOES_NOT = {"#D55E00": "#F58A3C", "#B8558F": "#E39AC4", "#8A6A00": "#E6B800", "#A83232": "#F08080"}
"""Colours of systems with attention (cold) and without (warm): in a light scheme -> in a dark one.
The first of each group is from Okabe and Ito's palette, which colour-blind readers can tell apart.
"""
DARK = {GROUND: "#14161A", INK: "#ECECEC", FAINT: "#A3A8AF", GRID: "#33373E", **ATTENDS, **DOES_NOT}
"""Colour of an SVG in a light scheme -> its colour in a dark scheme."""
WITHOUT_ATTENTION = ("fixed", "init_only", "none", "uniform")
"""Attention kinds with one context for all steps, drawn as systems without attention."""
LineStyle = Literal["-"] | tuple[float, tuple[float, ...]]
"""Line of matplotlib: solid, or an offset and the lengths of dashes and gaps in turn."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES: tuple[LineStyle, ...] = ("-", (0, (5, 2)), (0, (1, 1.4)), (0, (6, 2, 1, 2)), (0, (3, 1)))
LETTERS = 16
"""Maximum number of letters of a word on an axis; the rest is left out."""
MAP_NOTE = (
    "Across: the source; down: the translation. The stronger the colour, the higher the weight."
)
WIDTH = 9.6
"""Width of a figure in inches."""
FONTS = ("CJK JP", "Thai", "Devanagari", "Khmer", "Lao", "Myanmar")
"""Fonts for letters that DejaVu Sans lacks, all of the family Noto Sans."""
RC: dict[Any, Any] = {
    "figure.dpi": 200,
    "figure.facecolor": GROUND,
    "axes.facecolor": GROUND,
    # The first comes with matplotlib, so figures are equal everywhere.
    "font.family": ["DejaVu Sans", *(f"Noto Sans {name}" for name in FONTS)],
    "font.size": 11,
    "text.color": INK,
    "text.parse_math": False,  # a system may be called "$5"
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": GRID,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "legend.handlelength": 3.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "seq2seq",
    "svg.fonttype": "none",  # text, to be searched, copied and drawn in the reader's fonts
    "pdf.fonttype": 42,  # publishers refuse the usual type 3
}
METADATA = {
    "svg": dict.fromkeys(("Date", "Creator")),
    "pdf": dict.fromkeys(("CreationDate", "Creator", "Producer")),
}
"""Form of a figure -> metadata that would differ from one day or version to the next."""
ZONE = "length-"
"""Start of the id of the area over a length bucket in an SVG; its number, from 0, is the rest."""


class Style(NamedTuple):
    """Look of a system's line, by matplotlib's names."""

    color: str
    linestyle: LineStyle
    marker: str


def styles(configs: Sequence[Mapping[str, Any] | None]) -> list[Style]:
    """Choose the style of the system of each config.

    The colour shows attention (if a config is None, every second system has it), the dashes show
    different ``corpus.train_max_words``. Markers differ because colours are lost in grey print.
    """
    settings = [flatten(dict(config or {})) for config in configs]
    known = [one.get("corpus.train_max_words") for one in settings]
    words = [limit if isinstance(limit, int) else math.inf for limit in known]
    limits = sorted(set(words), reverse=True)
    found: list[Style] = []
    earlier: Counter[tuple[bool, float]] = Counter()
    for index, (one, limit) in enumerate(zip(settings, words, strict=True)):
        kind = one.get("model.attention.kind")
        attends = kind not in WITHOUT_ATTENTION if kind else index % 2 == 1
        colours, place = list(ATTENDS if attends else DOES_NOT), earlier[attends, limit]
        earlier[attends, limit] += 1
        line = limits.index(limit) if limits[1:] else place // len(colours) + (not attends)
        marker = MARKERS[index % len(MARKERS)]
        found.append(Style(colours[place % len(colours)], LINES[line % len(LINES)], marker))
    return found


def new_figure(height: float, title: str, subtitle: str, note: str = "") -> Figure:
    """Create a figure with its heading; matplotlib lays out what is drawn on it.

    ``height`` is in inches; several lines of text add to it, and no title takes 0.8 from it.
    """
    sizes = 16, 11, 9
    texts = [
        textwrap.fill(text, round((WIDTH - 0.5) * by / size))
        for text, by, size in zip((title, subtitle, note), (115, 130, 130), sizes, strict=True)
    ]
    more = [text.count("\n") * size / 60 for text, size in zip(texts, sizes, strict=True)]
    head, foot = 0.9 + more[0] + more[1], (0.4 if note else 0.1) + more[2]
    height += sum(more)
    if not title:
        head, height = head - 0.8, height - 0.8
    room = (0.01, foot / height, 0.98, 1 - (head + foot) / height)
    figure = Figure(figsize=(WIDTH, height), layout=ConstrainedLayoutEngine(rect=room))
    left, below = 0.29 / WIDTH, 1 - (0.58 + more[0]) / height
    figure.text(left, 1 - 0.2 / height, texts[0], fontsize=sizes[0], fontweight="bold", va="top")
    figure.text(left, below, texts[1], fontsize=sizes[1], va="top")
    figure.text(left, 0.14 / height, texts[2], fontsize=sizes[2], color=FAINT)
    return figure


def draw_line(
    axes: Axes,
    style: Style,
    name: str,
    values: Sequence[float | None],
    few: Sequence[bool] = (),
    band: tuple[Sequence[float | None], Sequence[float | None]] | None = None,
    places: Sequence[float] = (),
) -> None:
    """Draw a line through the ``values`` that are not None; points marked ``few`` are hollow.

    ``band`` has lower and upper ends of intervals; ``places`` are x, by default 0, 1, 2, ...
    """
    heights, across = np.array(values, dtype=float), np.array(places or range(len(values)))
    known = ~np.isnan(heights)
    if band is not None:
        low, high = (np.array(end, dtype=float)[known] for end in band)
        axes.fill_between(across[known], low, high, color=style.color, alpha=0.16, linewidth=0)
    drawn: dict[str, Any] = {**style._asdict(), "markersize": 7}
    axes.plot(across[known], heights[known], linewidth=2, label=name, **drawn)
    hollow = known & np.array(few or False)
    if hollow.any():
        drawn |= {"linestyle": "", "markerfacecolor": GROUND}
        axes.plot(across[hollow], heights[hollow], **drawn)


def map_figure(
    source: Sequence[str], target: Sequence[str], weights: Sequence[Sequence[float]], subtitle: str
) -> Figure:
    """Draw an attention map with its heading."""
    cell = min(0.5, 7 / len(source))
    figure = new_figure(cell * len(target) + 2.6, "Attention", subtitle, MAP_NOTE)
    draw_map(figure.subplots(), source, target, weights, cell)
    return figure


def draw_map(
    axes: Axes,
    source: Sequence[str],
    target: Sequence[str],
    weights: Sequence[Sequence[float]],
    cell: float,
    colour: str = next(iter(ATTENDS)),
) -> None:
    """Draw a square for each weight, and words whose size fits squares of ``cell`` inches."""
    shades = LinearSegmentedColormap.from_list("weights", [f"{colour}00", colour])
    axes.imshow(np.array(weights), cmap=shades, vmin=0, vmax=1)
    axes.set_xticks(range(len(source)), [short(word) for word in source], rotation=90)
    axes.set_yticks(range(len(target)), [short(word) for word in target])
    axes.xaxis.tick_top()
    points = max(3.5, min(9.0, 72 * cell * 0.8))  # no larger than a cell
    axes.tick_params(length=0, pad=2, labelsize=points)
    axes.spines[:].set_visible(False)
    axes.grid(False)


def short(word: str) -> str:
    """Cut a word to at most ``LETTERS`` letters, for an axis or a column."""
    return word if len(word) <= LETTERS else word[: LETTERS - 1] + "…"


def name_lines(figure: Figure, axes: Axes, more: Sequence[Line2D] = ()) -> None:
    """Draw a legend: the lines of ``axes`` by falling final value, then the lines ``more``."""
    named = {str(line.get_label()): line for line in axes.lines}
    lines = sorted(named.values(), key=lambda line: -np.asarray(line.get_ydata())[-1])
    lines = [one for one in (*lines, *more) if not str(one.get_label()).startswith("_")]
    names = [textwrap.fill(str(line.get_label()), 24) for line in lines]
    figure.legend(lines, names, loc="outside right center")


def styled() -> AbstractContextManager[None]:
    """Context with the style of all figures; it ignores a user's own matplotlib style."""
    return matplotlib.style.context(RC, after_reset=True)


def render(
    lay_out: Callable[[], Figure], prefix: str = "", forms: Sequence[str] = ("svg",)
) -> dict[str, bytes]:
    """Return the figure in each of ``forms``; every id of an SVG begins with ``prefix``."""
    images = {}
    with styled(), warnings.catch_warnings(record=True, action="default") as caught:
        figure = lay_out()
        if engine := figure.get_layout_engine():
            engine.execute(figure)  # lay out once, not for each form
            figure.set_layout_engine(None)
        for form in forms:
            stream = io.BytesIO()
            figure.savefig(stream, format=form, metadata=METADATA.get(form))
            images[form] = stream.getvalue()
    if any(" missing from font" in str(one.message) for one in caught):
        _warn("Figures lack letters; install fonts-noto-cjk or fonts-noto-core.")
    if "svg" in images:
        images["svg"] = _for_pages(images["svg"], prefix)
    return images


def _for_pages(image: bytes, prefix: str) -> bytes:
    """Return the SVG with usual fonts, ids of its own, and a dark scheme."""
    svg = re.sub("(font-family: '[^']*')[^;]*", r"\1, Verdana, sans-serif", image.decode())
    svg = re.sub(r'(?<= id=")|(?<=href="#)|(?<=url\(#)', prefix, svg)
    svg = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", svg)  # not allowed in XML
    # The SVG also keeps its light colours, for programs that ignore these rules.
    rules = [
        f'[style*="{part}: {light.lower()}"] {{{part}: light-dark({light}, {dark}) !important}}\n'
        for light, dark in DARK.items()
        for part in ("fill", "stroke")
    ]
    rules += [f'[id^="{prefix}{ZONE}"] {{pointer-events: all}}\n:root {{color-scheme: light dark}}']
    return svg.replace("</style>", f"\n{''.join(rules)}</style>", 1).encode()
