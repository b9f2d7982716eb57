"""A comparison as one HTML file that needs neither a network nor other files."""

import base64
import contextlib
import json
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

import seq2seq
from seq2seq.decoding.translator import Translator
from seq2seq.drawing import render
from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.references import draw_maps
from seq2seq.evaluation.translations import AttentionMap
from seq2seq.looks import DARK
from seq2seq.report.findings import conclusion
from seq2seq.report.length_figure import length_figure
from seq2seq.report.live.contents import evaluated_checkpoint
from seq2seq.report.sentences import Example, longest_bucket, runs_of_words
from seq2seq.report.tables import Table, heading, score_text, with_interval

TEMPLATE = Path(__file__).with_name("page.html")
MOST_WEIGHTS = 500_000
"""Maximum number of attention weights in a page; they add less than 0.5 MB."""


def render_page(
    comparison: Comparison,
    figures: Mapping[str, bytes],
    tables: Sequence[Table],
    notes: Sequence[str],
    sentences: Sequence[Example],
    live: bool = False,
) -> bytes:
    """Render the page; equal content makes equal bytes.

    ``figures`` are title -> SVG, besides BLEU by length, which the page draws itself; ``notes`` are
    Markdown. With ``live``, the page links to live.html in the same folder.
    """
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    functions = (conclusion, heading, score_text, runs_of_words, with_interval)
    environment.globals["lang"] = partial(_lang, comparison)
    environment.globals |= {function.__name__: function for function in functions}
    html = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        charts={"wide": _chart(comparison, False), "narrow": _chart(comparison, True)},
        colours=[(colour, DARK[colour]) for colour, *_ in comparison.looks],
        comparison=comparison,
        figures={title: _base64(svg) for title, svg in figures.items()},
        live=live,
        maps=_packed_maps(comparison, [sentence.line - 1 for sentence in sentences]),
        gaps={gap.system: gap for gap in comparison.gaps},
        notes=notes,
        opening=longest_bucket(comparison).words,
        pair=_pair(comparison),
        sentences=sentences,
        tables=tables,
        target_unit="characters" if comparison.unspaced else "words",
        unit=comparison.settings.unit,
        version=seq2seq.__version__,
    )
    # A lone surrogate in a damaged text must not stop the page.
    return html.encode("utf-8", "replace")


def _lang(comparison: Comparison, side: str) -> Markup:
    """Attribute such as ``lang="de"`` for text of a side; empty if no record names a language."""
    for evaluation in comparison.evaluations:
        if language := evaluation.record.languages.get(side):
            return Markup(' lang="{}"').format(language)
    return Markup("")


def _chart(comparison: Comparison, narrow: bool) -> str:
    """Draw BLEU by length as SVG, with ids that no other part of the page has."""
    figure = partial(length_figure, comparison, narrow, bare=True)
    svg = render(figure, "narrow-" if narrow else "wide-")["svg"].decode()
    return svg[svg.index("<svg") :]


def _pair(comparison: Comparison) -> list[int]:
    """Indices of the systems whose sentences are compared: those of the first gap, or only 0."""
    names = [system.name for system in comparison.systems]
    first = comparison.gaps[:1]
    return [names.index(name) for gap in first for name in (gap.baseline, gap.system)] or [0]


def _packed_maps(comparison: Comparison, lines: Sequence[int]) -> str:
    """Pack the attention maps of ``lines`` as deflated JSON in base64; "" if there are none.

    For each line (from 1) and each index of a system, the JSON has the words of the source, the
    words of the translation, and the weights in hundredths. When the maps reach ``MOST_WEIGHTS``
    weights, the remaining maps are left out.
    """
    by_line: dict[int, dict[int, list[Any]]] = {}
    known, weights = [_maps_of(system.first, {*lines}) for system in comparison.systems], 0
    for line, (place, maps) in product(lines, enumerate(known)):
        drawn = maps.get(line)
        if drawn and drawn.source and drawn.hypothesis:
            weights += len(drawn.source) * len(drawn.hypothesis)
            if weights <= MOST_WEIGHTS:
                rows = [[round(100 * weight) for weight in row] for row in drawn.weights]
                by_line.setdefault(line + 1, {})[place] = [drawn.source, drawn.hypothesis, rows]
    text = json.dumps(by_line, separators=(",", ":"))
    return _base64(zlib.compress(text.encode(), 9)) if by_line else ""


def _maps_of(evaluation: Evaluation, lines: set[int]) -> dict[int, AttentionMap]:
    """Return line -> stored map, and new maps of ``lines`` if the checkpoint is unchanged."""
    texts = evaluation.texts
    maps = {drawn.line: drawn for drawn in texts.maps}
    with contextlib.suppress(UserError):
        if maps and (missing := lines - maps.keys()):
            translator = Translator.load(evaluated_checkpoint(evaluation), precision="fp32")
            translator.as_written = True
            maps |= {drawn.line: drawn for drawn in draw_maps(translator, texts, missing, 32)}
    return maps


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
