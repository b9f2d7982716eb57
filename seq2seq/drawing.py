"""Style of all figures, and functions that draw them and turn them into bytes.

Figures are matplotlib's Figure objects, made without pyplot and its global state. Equal results
give equal bytes. An SVG is light or dark like the page around it, or like the reader's system.
"""

import contextlib
import io
import logging
import os
import re
import textwrap
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

BACKEND = os.environ.pop("MPLBACKEND", None)  # a notebook's, which may not be installed here
import matplotlib

if BACKEND is not None:
    os.environ["MPLBACKEND"] = BACKEND
    with contextlib.suppress(ValueError):
        matplotlib.rcParams["backend"] = BACKEND
import numpy as np
from matplotlib import font_manager as fonts
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.text import Text

from seq2seq.looks import ATTENDS, DARK, FAINT, GROUND, INK, Look

_warn = cache(logging.getLogger(__name__).warning)
logging.getLogger(fonts.__name__).setLevel(logging.ERROR)  # do not report a missing bold face

LETTERS = 16
"""Maximum number of letters of a word on an axis; the rest is left out."""
MAP_NOTE = (
    "Across: the source; down: the translation. The stronger the colour, the higher the weight."
)
STYLE: dict[Any, Any] = {
    "figure.facecolor": GROUND,
    "axes.facecolor": GROUND,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so figures are equal everywhere
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
    "svg.fonttype": "none",  # text, to be searched, copied and drawn in the reader's fonts
    "pdf.fonttype": 42,  # publishers refuse the usual type 3
}

WIDTH, NARROW = 9.6, 4.2
"""Widths of a figure in inches; the narrow one is for a phone."""
DPI = 200
logging.getLogger("fontTools").setLevel(logging.WARNING)  # it logs each glyph of a PDF
ZONE = "length-"
"""Start of the id of the invisible area over a length bucket in an SVG.

The id ends with the number of the bucket, counted from 0."""


def new_figure(
    height: float, title: str, subtitle: str, note: str = "", narrow: bool = False
) -> Figure:
    """Create a figure with its heading; matplotlib lays out what is drawn on it.

    The figure is ``height`` inches high, more if title, subtitle or note need several lines, and
    0.8 inches less without a title.
    """
    width, sizes = (NARROW, (13, 10, 9)) if narrow else (WIDTH, (16, 11, 9))
    letters = [
        round((width - 0.5) * by / size) for by, size in zip((115, 130, 130), sizes, strict=True)
    ]
    texts = [textwrap.fill(*text) for text in zip((title, subtitle, note), letters, strict=True)]
    more = [text.count("\n") * size / 60 for text, size in zip(texts, sizes, strict=True)]
    head, foot = 0.9 + more[0] + more[1], (0.4 if note else 0.1) + more[2]
    height += sum(more)
    if not title:
        head, height = head - 0.8, height - 0.8
    room = (0.01, foot / height, 0.98, 1 - (head + foot) / height)
    figure = Figure(figsize=(width, height), dpi=DPI, layout=ConstrainedLayoutEngine(rect=room))
    left, below = 0.29 / width, 1 - (0.58 + more[0]) / height
    figure.text(left, 1 - 0.2 / height, texts[0], fontsize=sizes[0], fontweight="bold", va="top")
    figure.text(left, below, texts[1], fontsize=sizes[1], va="top")
    figure.text(left, 0.14 / height, texts[2], fontsize=sizes[2], color=FAINT)
    return figure


def draw_line(
    axes: Axes,
    look: Look,
    name: str,
    values: Sequence[float | None],
    few: Sequence[bool] = (),
    band: tuple[Sequence[float | None], Sequence[float | None]] | None = None,
    places: Sequence[float] = (),
) -> None:
    """Draw a line through the ``values`` that are not None; points marked ``few`` are hollow.

    ``band`` has the lower and the upper ends of intervals. ``places`` are the x coordinates, which
    are 0, 1, 2, ... by default.
    """
    colour, line, marker = look
    known = [number for number, value in enumerate(values) if value is not None]

    def points(numbers: Sequence[int], column: Sequence[float | None]) -> list[Any]:
        return [column[number] for number in numbers]

    across = places or range(len(values))
    if band is not None:
        low, high = (points(known, end) for end in band)
        axes.fill_between(points(known, across), low, high, color=colour, alpha=0.16, linewidth=0)
    style: dict[str, Any] = {"marker": marker, "color": colour, "markersize": 7}
    drawn = points(known, across), points(known, values)
    axes.plot(*drawn, linestyle=line, linewidth=2, label=name, **style)
    if hollow := [number for number in known if few and few[number]]:
        drawn = points(hollow, across), points(hollow, values)
        axes.plot(*drawn, linestyle="", markerfacecolor=GROUND, **style)


def map_figure(
    source: Sequence[str], target: Sequence[str], weights: Sequence[Sequence[float]], subtitle: str
) -> Figure:
    """Draw an attention map with its heading."""
    cell = min(0.5, 7 / len(source))
    figure = new_figure(cell * len(target) + 2.6, "Attention", subtitle, MAP_NOTE)
    draw_map(figure.subplots(), source, target, weights, cell)
    find_fonts(figure)
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


def short(word: str) -> str:
    """Cut a word to at most ``LETTERS`` letters, for an axis or a column."""
    return word if len(word) <= LETTERS else word[: LETTERS - 1] + "…"


def name_lines(figure: Figure, axes: Axes, more: Sequence[Line2D] = ()) -> None:
    """Draw a legend: the lines of ``axes``, sorted by falling final value, then the lines ``more``.

    The legend is next to the axes; in a narrow figure, it is above the axes.
    """
    narrow = figure.get_figwidth() == NARROW
    named = {str(line.get_label()): line for line in axes.lines}
    lines = sorted(named.values(), key=lambda line: -np.asarray(line.get_ydata())[-1])
    lines = [one for one in (*lines, *more) if not str(one.get_label()).startswith("_")]
    names = [textwrap.fill(str(line.get_label()), 40 if narrow else 24) for line in lines]
    style: dict[str, Any] = {"handlelength": 3.5, "fontsize": 10, "frameon": False}
    if narrow:
        axes.legend(lines, names, loc="lower left", bbox_to_anchor=(-0.1, 1), **style)
    else:
        figure.legend(lines, names, loc="outside right center", **style)


def find_fonts(figure: Figure) -> None:
    """Use installed fonts for letters that DejaVu Sans lacks; warn if a letter is in no font."""
    texts: list[Any] = figure.findobj(Text)
    letters = {letter for text in texts for letter in text.get_text() if letter.isprintable()}
    families, lacking = ["DejaVu Sans"], letters - _letters_of(fonts.findfont("DejaVu Sans"))
    while lacking:
        paths = sorted(fonts.findSystemFonts())
        best = max(paths, key=lambda path: len(lacking & _letters_of(path)), default="")
        if not lacking & _letters_of(best):
            names = ", ".join(sorted({unicodedata.name(i, "OTHER").split()[0] for i in lacking}))
            _warn(f"Figures lack {names} letters; install fonts-noto-cjk or fonts-noto-core.")
            warnings.filterwarnings("ignore", "Glyph .* missing")  # matplotlib warns of each letter
            break
        fonts.fontManager.addfont(best)  # matplotlib's own list may be older
        families.append(FT2Font(best).family_name)
        lacking -= _letters_of(best)
    for text in texts if len(families) > 1 else ():
        text.set_fontfamily(families)


@cache
def _letters_of(path: str) -> frozenset[str]:
    """Characters that matplotlib can draw with a font; an empty set for a font of bitmaps."""
    try:
        font = FT2Font(path)
    except (OSError, RuntimeError):  # the file cannot be read
        return frozenset()
    return frozenset(map(chr, font.get_charmap())) if font.scalable else frozenset()


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Context with the style of all figures; it ignores a user's own matplotlib style."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def render(
    lay_out: Callable[[], Figure | None], prefix: str = "", forms: Sequence[str] = ("svg",)
) -> dict[str, bytes]:
    """Return the figure of ``lay_out`` in each of ``forms``; {} if the figure is None.

    In an SVG, every id begins with ``prefix``, so that the ids of several SVGs in a page differ.
    """
    with styled():
        if (figure := lay_out()) is None:
            return {}
        find_fonts(figure)
        if engine := figure.get_layout_engine():
            engine.execute(figure)  # lay out once, not for each form
            figure.set_layout_engine(None)
        return {form: _save(figure, form, prefix) for form in forms}


def _save(figure: Figure, form: str, prefix: str) -> bytes:
    stream = io.BytesIO()
    keys = {"svg": ("Date", "Creator"), "pdf": ("CreationDate", "Creator", "Producer")}
    metadata = dict.fromkeys(keys.get(form, ("Software",)))
    figure.savefig(stream, format=form, metadata=metadata)
    if form != "svg":
        return stream.getvalue()
    families = re.sub(rb"(font-family: [^;]*)", rb"\1, Verdana, sans-serif", stream.getvalue())
    svg = re.sub(r'(?<= id=")|(?<=href="#)|(?<=url\(#)', prefix, families.decode())
    svg = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", svg)  # not allowed in XML
    # The SVG also keeps its light colours, for programs that ignore these rules.
    rules = [
        f'[style*="{part}: {light.lower()}"] {{{part}: light-dark({light}, {dark}) !important}}\n'
        for light, dark in DARK.items()
        for part in ("fill", "stroke")
    ]
    rules += [f'[id^="{prefix}{ZONE}"] {{pointer-events: all}}\n:root {{color-scheme: light dark}}']
    return svg.replace("</style>", f"\n{''.join(rules)}</style>", 1).encode()
