"""Colours of all figures and pages, and the look of each system in them."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from seq2seq.config import flatten

GROUND, INK, FAINT, GRID = "#FFFFFF", "#222222", "#6B6B6B", "#E3E3E3"
ATTENDS = {"#0072B2": "#56B4E9", "#009E73": "#35C79B", "#5F5BC0": "#A9A5F2", "#3F8F3F": "#8FD18F"}
DOES_NOT = {"#D55E00": "#F58A3C", "#B8558F": "#E39AC4", "#8A6A00": "#E6B800", "#A83232": "#F08080"}
"""Colours of systems with attention (cold) and without (warm): in a light scheme -> in a dark one.

The first colour of each group is from Okabe and Ito's palette, which colour-blind readers can
tell apart."""
DARK = {GROUND: "#14161A", INK: "#ECECEC", FAINT: "#A3A8AF", GRID: "#33373E", **ATTENDS, **DOES_NOT}
"""Colour of an SVG in a light scheme -> its colour in a dark scheme."""
WITHOUT_ATTENTION = ("fixed", "init_only", "none", "uniform")
"""Attention kinds with one context for all steps; figures draw them as systems without attention.
"""
LineStyle = Literal["-"] | tuple[float, tuple[float, ...]]
"""Line of matplotlib: solid, or an offset and the lengths of dashes and gaps in turn."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES: tuple[LineStyle, ...] = ("-", (0, (5, 2)), (0, (1, 1.4)), (0, (6, 2, 1, 2)), (0, (3, 1)))
Look = tuple[str, LineStyle, str]
"""Colour, line and marker."""


def looks(configs: Sequence[Mapping[str, Any] | None]) -> list[Look]:
    """Choose colour, line and marker for the system of each config.

    The colour shows whether a system has attention. Where a config is None, position decides: the
    second, fourth, ... system gets a colour of systems with attention. Systems that differ in
    ``corpus.train_max_words`` have different dashes, and for each value of this setting the colours
    start again. Markers differ, too, because colours are lost in grey print.
    """
    settings = [flatten(dict(config or {})) for config in configs]
    limits_found = [one.get("corpus.train_max_words") for one in settings]
    words = [limit if isinstance(limit, int) else math.inf for limit in limits_found]
    limits = sorted(set(words), reverse=True)
    found: list[Look] = []
    earlier: Counter[tuple[bool, float]] = Counter()
    for index, (one, limit) in enumerate(zip(settings, words, strict=True)):
        kind = one.get("model.attention.kind")
        attends = kind not in WITHOUT_ATTENTION if kind else index % 2 == 1
        colours, place = list(ATTENDS if attends else DOES_NOT), earlier[attends, limit]
        earlier[attends, limit] += 1
        line = limits.index(limit) if limits[1:] else place // len(colours) + (not attends)
        marker = MARKERS[index % len(MARKERS)]
        found.append((colours[place % len(colours)], LINES[line % len(LINES)], marker))
    return found
