"""What all figures share: colours, type, width, and how they become bytes.

They are drawn on Figure objects, without pyplot and its global state; the same results give the
same bytes.
"""

import io
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe & Ito's palette, safe for colour-blind readers."""

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


def ink_on(image: ScalarMappable, value: float) -> str:
    """White or black: what stands out more from a value's colour; at least 4.5 to 1 (WCAG 2)."""
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in image.to_rgba(np.array([value]))[0, :3]
    )
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"


def render(lay_out: Callable[[], Figure]) -> dict[str, bytes]:
    """The figure that ``lay_out`` makes, in this style: {"png": ..., "svg": ...}."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a user's own style must not change what a report looks like
        matplotlib.rcParams.update(STYLE)
        figure = lay_out()
        return {"png": _save(figure, "png"), "svg": _save(figure, "svg")}


def _save(figure: Figure, form: str) -> bytes:
    stream = io.BytesIO()
    metadata = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}[form]
    figure.savefig(stream, format=form, metadata=metadata)
    return stream.getvalue()
