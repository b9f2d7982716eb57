"""Where the systems looked: maps to browse; entropy and distance from the diagonal by length."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seq2seq.evaluation.lengths import source_words
from seq2seq.evaluation.scores import AttentionMap, ReferenceScores
from seq2seq.report.page.charts import Chart, Point, Series, Style, Tick, draw, style
from seq2seq.report.page.sentences import bucket_of, shortened
from seq2seq.report.page.systems import Arm, SideBySide

MOST_WEIGHTS = 300_000
"""Weights of all maps on a page together, about a megabyte of it."""
SIZE = (430.0, 290.0)
"""Of a chart that has another one beside it."""


@dataclass(frozen=True)
class MapLine:
    """A sentence whose maps can be chosen."""

    line: int
    """Of the test set, from 1."""
    bucket: str
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
class Focus:
    """A measure of attention by source length."""

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
        lines=[
            MapLine(line + 1, bucket_of(sides, line), int(words[line]), texts.sources[line][:60])
            for line in chosen
        ],
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
            "hypothesis": shortened(arm.first.texts.hypotheses[line]),
            "bleu": round(float(arm.bleus[line]), 1),
        }
        if line in found:
            one = found[line]
            entry["sourceWords"], entry["words"] = one.source, one.hypothesis
            entry["weights"] = [[round(1000 * weight) for weight in row] for row in one.weights]
        else:
            entry["reason"] = arm.without_maps or "There is no map of this sentence."
        systems.append(entry)
    return {
        "line": line + 1,
        "source": shortened(sides.texts.sources[line]),
        "reference": shortened(sides.texts.references[line]),
        "systems": systems,
    }


def focus(sides: SideBySide) -> list[Focus]:
    """Entropy and distance from the diagonal; empty where no system says."""
    found = [
        _focus(
            sides,
            "entropy",
            "Entropy of attention",
            "Entropy (nats)",
            lambda said: said.entropy,
            "0 nats: every word of the translation looks at one source piece; the logarithm of "
            "the source's length: it looks everywhere alike.",
        ),
        _focus(
            sides,
            "diagonal",
            "Distance of attention from the diagonal",
            "Distance",
            lambda said: said.off_diagonal,
            "0: attention walks through the source in order; 1/3: it looks everywhere alike.",
        ),
    ]
    return [one for one in found if one is not None]


def _focus(
    sides: SideBySide,
    name: str,
    title: str,
    label: str,
    of: Callable[[ReferenceScores], list[float | None] | None],
    explanation: str,
) -> Focus | None:
    means = {arm.number: by_bucket(sides, arm, of) for arm in sides.arms}
    means = {
        number: values for number, values in means.items() if any(v is not None for v in values)
    }
    if not means:
        return None
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
        for number, values in means.items()
    ]
    top = max(value for values in means.values() for value in values if value is not None)
    return Focus(
        chart=draw(
            name,
            title,
            ("Source length (words)", label),
            series,
            [
                Tick(place, row.words.replace("-", "–"), faint=row.few)
                for place, row in enumerate(sides.rows)
            ],
            (-0.35, len(sides.rows) - 0.65),
            (0.0, 1.08 * top or 1.0),
            SIZE,
        ),
        rows=[
            (row.words, [values[place] for values in means.values()])
            for place, row in enumerate(sides.rows)
        ],
        systems=[(names[number], style(number)) for number in means],
        explanation=explanation,
    )


def by_bucket(
    sides: SideBySide, arm: Arm, of: Callable[[ReferenceScores], list[float | None] | None]
) -> list[float | None]:
    """The mean over the sentences of each bucket that have the measure, then over seeds."""
    of_seeds = [values for said in arm.reference_scores if (values := of(said)) is not None]
    means: list[float | None] = []
    for chosen in sides.members:
        measured = [
            [value for i in np.flatnonzero(chosen) if (value := values[i]) is not None]
            for values in of_seeds
        ]
        of_bucket = [float(np.mean(values)) for values in measured if values]
        means.append(float(np.mean(of_bucket)) if of_bucket else None)
    return means
