"""A comparison as one HTML file that needs neither a network nor other files."""

import base64
import json
import zlib
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined

import seq2seq
from seq2seq.drawing import DARK, render, styles
from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.scores import sentence_bleu, source_lengths
from seq2seq.evaluation.translations import lines_by_length
from seq2seq.report.figures import length_figure
from seq2seq.report.tables import Table, conclusion, heading, score_text, with_interval

TEMPLATE = Path(__file__).with_name("page.html")
EACH = 3
"""Maximum number of sentences of a bucket that are shown for the same reason."""


def render_page(
    comparison: Comparison,
    figures: Mapping[str, bytes],
    tables: Sequence[Table],
    notes: Sequence[str],
    live: bool = False,
) -> bytes:
    """Render the page; equal content makes equal bytes. With ``live``, it links to live.html.

    ``figures`` are title -> SVG, besides BLEU by length, which the page draws itself.
    """
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    languages = ChainMap(*(evaluation.record.languages for evaluation in comparison.evaluations))
    svg = render(partial(length_figure, comparison, bare=True), "chart-")["svg"].decode()
    buckets, sentences = comparison.systems[0].buckets, examples(comparison)
    opening = next((row for row in reversed(buckets) if not row.few), buckets[-1])
    names = [system.name for system in comparison.systems]
    pair = [names.index(n) for gap in comparison.gaps[:1] for n in (gap.baseline, gap.system)]
    html = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        chart=svg[svg.index("<svg") :],
        colours=[(style.color, DARK[style.color]) for style in styles(comparison.configs)],
        comparison=comparison,
        conclusion=conclusion(comparison),
        figures={title: _base64(svg) for title, svg in figures.items()},
        heading=heading(comparison),
        languages=languages,
        live=live,
        maps=_packed_maps(comparison, [sentence.line - 1 for sentence in sentences]),
        gaps={gap.system: gap for gap in comparison.gaps},
        notes=notes,
        opening=opening,
        pair=pair or [0],
        runs_of_words=runs_of_words,
        score_text=score_text,
        sentences=sentences,
        tables=tables,
        target_unit="characters" if comparison.unspaced else "words",
        unit=comparison.settings.unit,
        version=seq2seq.__version__,
        with_interval=with_interval,
    )
    # A lone surrogate in a damaged text must not stop the page.
    return html.encode("utf-8", "replace")


@dataclass(frozen=True)
class Example:
    """A sentence with its translations by the first seed of each system."""

    line: int
    """Line of the test set, from 1."""
    bucket: str
    length: int
    reason: str
    median: bool
    """Whether this is the median of its bucket."""
    source: str
    references: list[str]
    hypotheses: list[tuple[str, str, float]]
    """(system, translation, BLEU of this sentence alone) of each system."""


def examples(comparison: Comparison) -> list[Example]:
    """Choose sentences of every bucket, short ones first.

    A few are chosen by the sources alone, the others by sentence BLEU: where the first gap is
    largest, smallest, and its (lower) median; without a gap, by the first system's own scores.
    """
    texts, settings = comparison.systems[0].first.texts, comparison.settings
    said = {system.name: system.first.texts.hypotheses for system in comparison.systems}
    scores = {
        name: sentence_bleu(of_system, *texts.all_references, tokenize=settings.tokenize)
        for name, of_system in said.items()
    }
    most, least, measure = "one of the best", "one of the worst", "sentence BLEU"
    value = scores[comparison.systems[0].name]
    if comparison.gaps:
        gap = comparison.gaps[0]
        value = scores[gap.system] - scores[gap.baseline]
        most, least = f"one where {gap.system} gains most", f"one where {gap.system} loses most"
        measure = f"sentence BLEU, {gap.system} minus {gap.baseline}"
    blind = lines_by_length(texts.sources, settings, EACH)
    lengths = source_lengths(texts.sources, settings.unit)
    chosen = []
    for row, members in zip(comparison.systems[0].buckets, comparison.members, strict=True):
        if not row.sentences:
            continue
        order = sorted(np.flatnonzero(members).tolist(), key=lambda line: (value[line], line))
        median, half = order[(len(order) - 1) // 2], len(order) // 2
        worst, best = order[: min(EACH, half)], order[max(half, len(order) - EACH) :]
        if comparison.gaps:
            worst = [line for line in worst if value[line] < 0]
            best = [line for line in best if value[line] > 0]
        rules = {
            "a sample by its source alone": [line for line in blind if members[line]],
            most: best,
            least: worst,
            f"the median of {measure}": [median],
        }
        shown = {line for lines in rules.values() for line in lines}
        for line in sorted(shown, key=lambda line: (lengths[line], line)):
            reasons = " and ".join(rule for rule, lines in rules.items() if line in lines)
            chosen.append(
                Example(
                    line=line + 1,
                    bucket=row.words,
                    length=int(lengths[line]),
                    reason=f"{reasons}, among {row.sentences:,} sentences of {row.words}"
                    + f" {settings.unit}" * (settings.buckets is None),
                    median=line == median,
                    source=texts.sources[line],
                    references=[reference[line] for reference in texts.all_references],
                    hypotheses=[(s, said[s][line], float(scores[s][line])) for s in said],
                )
            )
    return chosen


def runs_of_words(
    references: Sequence[str], hypothesis: str, unit: str = "words"
) -> list[tuple[list[str], list[str]]]:
    """Split the hypothesis into runs of words, each paired with a run of the closest reference.

    Both are equal where the hypothesis is right; one is empty where words are missing or added.
    """
    texts = [text.split() for text in (hypothesis, *references)]
    written, *meanings = texts if unit == "words" else [[*"".join(words)] for words in texts]
    match = partial(SequenceMatcher, None, written, autojunk=False)
    meant = max(meanings, key=lambda one: match(one).ratio())
    return [(written[i:j], meant[k:m]) for _, i, j, k, m in match(meant).get_opcodes()]


def _packed_maps(comparison: Comparison, lines: Sequence[int]) -> str:
    """Pack maps as deflated JSON in base64: line (from 1) -> system -> words, words, hundredths."""
    by_line: dict[int, dict[int, list[Any]]] = {}
    for place, system in enumerate(comparison.systems):
        for drawn in system.first.texts.maps:
            if drawn.line in lines and drawn.source and drawn.hypothesis:
                rows = [[round(100 * weight) for weight in row] for row in drawn.weights]
                maps = by_line.setdefault(drawn.line + 1, {})
                maps[place] = [drawn.source, drawn.hypothesis, rows]
    text = json.dumps(by_line, separators=(",", ":"))
    return _base64(zlib.compress(text.encode(), 9)) if by_line else ""


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
