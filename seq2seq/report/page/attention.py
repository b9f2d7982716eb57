"""Where the systems looked: maps to browse; entropy and distance from the diagonal by length."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seq2seq.evaluation.lengths import source_words
from seq2seq.evaluation.scores import AttentionMap
from seq2seq.report.focus import Focus, focus
from seq2seq.report.page.charts import Chart, Point, Series, Style, Tick, draw, style
from seq2seq.report.page.sentences import bucket_of, shortened
from seq2seq.report.side_by_side import SideBySide

MOST_WEIGHTS = 300_000
"""Weights of all maps on a page together, about a megabyte of it."""
SIZE = (430.0, 290.0)
"""Of a chart that has another one beside it."""


@dataclass(frozen=True)
class MapLine:
    """A sentence whose maps can be chosen."""

    line: int
    """Of the test set, from 1."""
    words: int
    start: str
    """The first words of the source."""


@dataclass(frozen=True)
class Maps:
    """The attention maps of a comparison."""

    lines: list[MapLine]
    data: list[dict[str, Any]]
    """For the page's script, one for each of ``lines``: plain JSON."""
    left_out: int
    """Sentences with maps that would have made the page too large."""
    reasons: dict[str, str]
    """System -> why it has no maps."""


@dataclass(frozen=True)
class FocusChart:
    """A measure of attention by source length, drawn."""

    chart: Chart
    rows: list[tuple[str, list[float | None]]]
    """Words of the bucket, then the mean of each of ``systems``."""
    systems: list[tuple[str, Style]]
    """Those that say, with their looks."""
    explanation: str


def maps(sides: SideBySide) -> Maps:
    """The maps of each system's first seed, sentence by sentence, the shortest first."""
    texts = sides.texts
    of_arms = [{one.line: one for one in arm.first.texts.maps} for arm in sides.arms]
    words = source_words(texts.sources)
    lines = {line for found in of_arms for line in found if line < len(texts)}
    lines_by_words = sorted(lines, key=lambda line: (int(words[line]), line))
    chosen = _affordable(sides, lines_by_words, of_arms)
    return Maps(
        lines=[MapLine(line + 1, int(words[line]), texts.sources[line][:60]) for line in chosen],
        data=[_map_data(sides, line, of_arms) for line in chosen],
        left_out=len(lines) - len(chosen),
        reasons={arm.name: arm.without_maps for arm in sides.arms if arm.without_maps},
    )


def _affordable(
    sides: SideBySide, lines: Sequence[int], of_arms: Sequence[dict[int, AttentionMap]]
) -> list[int]:
    """As many of the lines as a page may hold: first one of each bucket, then a second one."""
    seen: dict[str, int] = {}
    rounds = []
    for line in lines:
        bucket = bucket_of(sides, line)
        rounds.append((seen.setdefault(bucket, 0), line))
        seen[bucket] += 1
    kept, room = set(), MOST_WEIGHTS
    for _, line in sorted(rounds, key=lambda one: one[0]):
        size = sum(
            len(found[line].source) * len(found[line].hypothesis)
            for found in of_arms
            if line in found
        )
        if size <= room:
            kept.add(line)
            room -= size
    return [line for line in lines if line in kept]


def _map_data(
    sides: SideBySide, line: int, of_arms: Sequence[dict[int, AttentionMap]]
) -> dict[str, Any]:
    """A sentence for the script; weights in thousandths, which are shorter to write."""
    systems = []
    for arm, found in zip(sides.arms, of_arms, strict=True):
        entry: dict[str, Any] = {
            "name": arm.name,
            "bleu": round(float(arm.bleus[line]), 1),
        }
        if line in found:
            one = found[line]
            entry["sourceWords"], entry["words"] = one.source, one.hypothesis
            entry["weights"] = [[round(1000 * weight) for weight in row] for row in one.weights]
        else:
            entry["hypothesis"] = shortened(arm.first.texts.hypotheses[line])
            entry["reason"] = arm.without_maps or "There is no map of this sentence."
        systems.append(entry)
    return {
        "line": line + 1,
        "source": shortened(sides.texts.sources[line]),
        "reference": shortened(sides.texts.references[line]),
        "systems": systems,
    }


def focus_charts(sides: SideBySide) -> list[FocusChart]:
    """A chart of each measure of :mod:`seq2seq.report.focus`."""
    return [_focus_chart(sides, one) for one in focus(sides)]


def _focus_chart(sides: SideBySide, found: Focus) -> FocusChart:
    names = [arm.name for arm in sides.arms]
    series = [
        Series(
            names[number],
            number,
            [
                Point(
                    place,
                    value,
                    f"{names[number]}, {row.words} words: {value:.3f}",
                    hollow=row.few,
                )
                for place, (row, value) in enumerate(zip(sides.rows, values, strict=True))
                if value is not None
            ],
        )
        for number, values in found.means.items()
    ]
    return FocusChart(
        chart=draw(
            found.name,
            found.title,
            ("Source length (words)", found.label),
            series,
            [
                Tick(place, row.words.replace("-", "–"), faint=row.few)
                for place, row in enumerate(sides.rows)
            ],
            (-0.35, len(sides.rows) - 0.65),
            (0.0, 1.08 * found.highest or 1.0),
            SIZE,
        ),
        rows=[
            (row.words, [values[place] for values in found.means.values()])
            for place, row in enumerate(sides.rows)
        ],
        systems=[(names[number], style(number)) for number in found.means],
        explanation=found.explanation,
    )
