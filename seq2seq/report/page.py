"""A comparison as one HTML file that needs neither a network nor other files."""

import base64
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from seq2seq.evaluation.comparison import Comparison, System
from seq2seq.evaluation.lengths import FEW
from seq2seq.evaluation.significance import LONG_WORDS, SHORT_WORDS, Interval
from seq2seq.evaluation.translations import AttentionMap
from seq2seq.report.findings import conclusion, headline
from seq2seq.report.length_figure import length_figure
from seq2seq.report.sentences import Example, longest_bucket, runs_of_words
from seq2seq.report.style import COLOURS, render
from seq2seq.report.tables import Table, heading, interval_text, with_interval

TEMPLATE = Path(__file__).with_name("page.html")
MAP_WORDS = 20
"""Source words of the attention map that is shown, or as near as there is."""


def render_page(
    comparison: Comparison,
    findings: Sequence[str],
    figures: Mapping[str, bytes],
    tables: Sequence[Table],
    notes: Sequence[str],
    sentences: Sequence[Example],
) -> bytes:
    """The page; the same content gives the same bytes.

    ``figures`` maps titles to SVG, and ``notes`` are Markdown. The first table is open; the others,
    the figures and the notes are folded.
    """
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters |= {"code": _code, "data": lambda svg: base64.b64encode(svg).decode()}
    functions = (conclusion, heading, headline, interval_text, runs_of_words, with_interval)
    environment.globals |= {function.__name__: function for function in functions}
    attending = [system for system in comparison.systems if system.first.texts.maps]
    html = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        accents=[f"s{place % len(COLOURS)}" for place in range(len(comparison.systems))],
        attending=attending[0] if attending else None,
        charts=[_chart(comparison, name) for name in ("wide", "narrow")],
        colours=COLOURS,
        comparison=comparison,
        figures=figures,
        findings=findings,
        gaps={gap.system: gap for gap in comparison.gaps},
        map=map_of_readable_size(attending[0].first.texts.maps) if attending else None,
        notes=notes,
        numbers=three_numbers(comparison),
        opening=longest_bucket(comparison).words,
        pair=_pair(comparison),
        sentences=sentences,
        tables=tables,
    )
    # Half a character of a damaged text must not cost the page.
    return html.encode("utf-8", "replace")


def _code(markdown: str) -> Markup:
    """Text as HTML; `code` is the one piece of Markdown in it."""
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(markdown))))


def _chart(comparison: Comparison, name: str) -> Markup:
    """BLEU by length as a part of the page, with ids that no other part has."""
    svg = render(partial(length_figure, comparison, narrow=name == "narrow"))["svg"].decode()
    svg = re.sub(rf'(\bid="|href="#|url\(#)(?!{name}-)', rf"\1{name}-", svg[svg.index("<svg") :])
    return Markup(svg)


def _pair(comparison: Comparison) -> list[int]:
    """The places of the systems whose sentences are compared: those of the first gap."""
    names = [system.name for system in comparison.systems]
    return [names.index(n) for gap in comparison.gaps[:1] for n in (gap.baseline, gap.system)] or [0]


def map_of_readable_size(maps: Sequence[AttentionMap]) -> AttentionMap:
    """The map of about 20 source words."""
    return min(maps, key=lambda drawn: (abs(len(drawn.source) - MAP_WORDS), drawn.line))


def three_numbers(comparison: Comparison) -> list[tuple[str, str, int | None]]:
    """What the result is about: labels, values with intervals, and places of the systems.

    Of two systems their BLEU on long sources, and by how much the gap grows, or the gap itself. Of
    more the best BLEU on all and on long sources, and the greatest gap. Of one its BLEU on all
    sources, on short and on long ones.
    """
    systems, rows = comparison.systems, comparison.systems[0].rows
    long = rows.index(longest_bucket(comparison))

    def score(system: System, place: int) -> tuple[str, str, int]:
        row = system.rows[place]
        words = "all sentences" if row is system.overall else f"{row.words} words"
        return f"{system.name}, {words}", interval_text(row), systems.index(system)

    def best(place: int) -> tuple[str, str, int]:
        return score(max(systems, key=lambda system: system.rows[place].bleu or 0.0), place)

    if not comparison.gaps:
        short = next((place for place, row in enumerate(rows) if not row.few), long)
        return [score(systems[0], place) for place in dict.fromkeys((-1, short, long))]
    overall = [(paired.gap, gap) for gap in comparison.gaps if (paired := gap.rows[-1])]
    greatest, gap = max(overall, key=lambda one: one[0].value)
    label, value = f"{gap.system} minus {gap.baseline}, all sentences", with_interval(greatest)
    if len(systems) > 2:
        return [best(-1), best(long), (label, value, None)]
    growth = gap.difference_in_differences
    if growth and min(growth.short_sentences, growth.long_sentences) >= FEW:
        label = f"gap above {LONG_WORDS} words minus gap up to {SHORT_WORDS}"
        value = with_interval(growth.difference)
    return [*(score(system, long) for system in systems), (label, value, None)]
