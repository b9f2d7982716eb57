"""A comparison as one HTML file that needs neither a network nor other files."""

import base64
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template

from seq2seq.evaluation.comparison import Comparison
from seq2seq.report.sentences import Example
from seq2seq.report.tables import Table, heading

TEMPLATE = Path(__file__).with_name("page.html")


def render_page(
    comparison: Comparison,
    findings: Sequence[str],
    figures: Mapping[str, bytes],
    tables: Sequence[Table],
    notes: Sequence[str],
    sentences: Sequence[Example],
) -> bytes:
    """The page; the same content gives the same bytes.

    ``figures`` maps titles to SVG, and ``notes`` are Markdown. The first figure and the first table
    stand below the findings; the other tables are folded.
    """
    pictures = [_figure(title, svg) for title, svg in figures.items()]
    buckets = dict.fromkeys(example.bucket for example in sentences)
    template = TEMPLATE.read_text(encoding="utf-8")
    systems = [system.name for system in comparison.systems]
    parts = {
        "title": escape(heading(comparison)),
        "systems": f"{comparison.sentences:,} sentences; {escape(', '.join(systems))}",
        "findings": _items(findings),
        "figure": pictures[0],
        "table": _table(tables[0]),
        "tables": "".join(_table(table) for table in tables[1:]),
        "notes": _items(notes),
        "figures": "".join(pictures[1:]),
        "buckets": "".join(f'<option value="{words}">{words} words</option>' for words in buckets),
        "sentences": "".join(_sentence(example) for example in sentences),
    }
    # Half a character of a damaged text must not cost the page.
    return Template(template).substitute(parts).encode("utf-8", "replace")


def _items(sentences: Sequence[str]) -> str:
    """List items; `code` is the one piece of Markdown in them."""
    coded = (re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(sentence)) for sentence in sentences)
    return "".join(f'<li dir="auto">{sentence}</li>\n' for sentence in coded)


def _figure(title: str, svg: bytes) -> str:
    name, data = escape(title), base64.b64encode(svg).decode()
    return (
        f'<figure><div class="scroll" tabindex="0" role="region" aria-label="{name}">'
        f'<img alt="{name}" src="data:image/svg+xml;base64,{data}"></div></figure>\n'
    )


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col" dir="auto">{escape(cell)}</th>' for cell in table.columns)
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{escape(row[0])}</th>'
        + "".join(f'<td dir="auto">{escape(cell)}</td>' for cell in row[1:])
        + "</tr>\n"
        for row in table.rows
    )
    name = escape(table.caption)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table>'
        f'<caption dir="auto">{name}</caption><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>\n"
    )


def _sentence(example: Example) -> str:
    translations = "".join(
        f'<div><dt><span dir="auto">{escape(system)}</span> · BLEU {bleu:.1f}</dt>'
        f'<dd dir="auto">{escape(text) or "(nothing)"}</dd></div>\n'
        for system, text, bleu in example.hypotheses
    )
    return (
        f'<article class="sentence" data-bucket="{example.bucket}">'
        f"<h3>{example.words} words, line {example.line:,}"
        f' <small dir="auto">{escape(example.reason)}</small></h3>\n'
        f'<dl><dt>Source</dt><dd dir="auto">{escape(example.source)}</dd>'
        f'<dt>Reference</dt><dd dir="auto">{escape(example.reference)}</dd></dl>\n'
        f'<dl class="facts">{translations}</dl></article>\n'
    )
