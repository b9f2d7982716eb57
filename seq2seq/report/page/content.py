"""The content of a page: all that is shown of a comparison, as plain data without a look."""

from collections.abc import Sequence
from dataclasses import dataclass

from seq2seq.evaluation.lengths import FEW
from seq2seq.report.figures import bleu_top
from seq2seq.report.numbers import percent
from seq2seq.report.page.attention import FocusChart, Maps, focus_charts, maps
from seq2seq.report.page.charts import Chart, Point, Series, Style, Tick, draw, style
from seq2seq.report.page.sentences import Bucket, Sample, buckets, samples
from seq2seq.report.page.tables import (
    Table,
    detail_tables,
    gap_table,
    growth_table,
    score_table,
)
from seq2seq.report.page.training import Curves, Records, curves, records
from seq2seq.report.positions import Positions, positions
from seq2seq.report.side_by_side import SideBySide
from seq2seq.report.tables import DETAIL_NOTES, heading, interval_text, notes


@dataclass(frozen=True)
class PageContent:
    """Everything on a page."""

    title: str
    sentences: int
    findings: list[str]
    systems: list[tuple[str, Style]]
    chart: Chart
    chart_notes: list[str]
    buckets: list[Bucket]
    """What the points of the chart stand for."""
    scores: Table
    details: list[Table]
    """chrF, TER, brevity and cap hits, one table for each."""
    gaps: list[Table]
    growth: Table | None
    """Differences in differences; None without a gap."""
    notes: list[str]
    """How to read the tables, as Markdown sentences."""
    maps: Maps
    focus: list[FocusChart]
    positions: Positions | None
    samples: list[Sample]
    sample_buckets: list[str]
    first_seeds: str
    """Which seed's sentences are shown, in a sentence; empty where there is one only."""
    losses_apart: str
    """That the losses of these systems do not compare; empty where they do."""
    curves: Curves
    records: Records


def page_content(sides: SideBySide, findings: Sequence[str]) -> PageContent:
    """Gather what a page shows of a comparison, whose ``findings`` in words are given."""
    comparison = sides.comparison
    evaluations = [evaluation for arm in sides.arms for evaluation in arm.evaluations]
    shown = [bucket for arm in sides.arms for bucket in buckets(sides, arm)]
    chosen = samples(sides)
    experiments = {str(e.record["experiment"]) for e in evaluations if e.record.get("experiment")}
    named = experiments.pop() if len(experiments) == 1 else ""
    return PageContent(
        title=" · ".join(part for part in (named, heading(comparison)) if part),
        sentences=comparison.sentences,
        findings=list(findings),
        systems=[(arm.name, style(arm.number)) for arm in sides.arms],
        chart=_length_chart(sides, shown),
        chart_notes=_chart_notes(sides),
        buckets=shown,
        scores=score_table(comparison),
        details=detail_tables(comparison),
        gaps=[gap_table(gap, comparison.settings.bootstrap) for gap in comparison.gaps],
        growth=growth_table(comparison) if comparison.gaps else None,
        notes=[*notes(comparison), *DETAIL_NOTES],
        maps=maps(sides),
        focus=focus_charts(sides),
        positions=positions(sides),
        samples=chosen,
        sample_buckets=list(dict.fromkeys(sample.bucket for sample in chosen)),
        first_seeds=_first_seeds(sides),
        losses_apart=sides.losses_apart,
        curves=curves(sides),
        records=records(sides),
    )


def _length_chart(sides: SideBySide, shown: Sequence[Bucket]) -> Chart:
    """BLEU by source length, the figure of Bahdanau, Cho & Bengio 2014."""
    by_key = {bucket.key: bucket for bucket in shown}
    series = []
    for arm in sides.arms:
        points = []
        for place, row in enumerate(arm.system.buckets[: len(sides.rows)]):
            if row.bleu is None:
                continue
            key = f"s{arm.number}-b{place}"
            points.append(
                Point(
                    place,
                    row.bleu,
                    bucket_in_words(by_key[key]),
                    row.bleu_low,
                    row.bleu_high,
                    (min(row.by_seed), max(row.by_seed)) if len(row.by_seed) > 1 else None,
                    row.few,
                    key,
                )
            )
        series.append(Series(arm.name, arm.number, points))
    return draw(
        "bleu",
        "BLEU by source length",
        ("Source length (words)", "BLEU (0 to 100)"),
        series,
        [
            Tick(place, row.words.replace("-", "–"), f"n = {row.sentences:,}", row.few)
            for place, row in enumerate(sides.rows)
        ],
        (-0.35, len(sides.rows) - 0.65),
        (0.0, bleu_top([arm.system for arm in sides.arms])),
    )


def bucket_in_words(bucket: Bucket) -> str:
    """All numbers of a point: what its name is to somebody who does not see it."""
    row = bucket.row
    said = [f"{bucket.system}, {row.words} words: {interval_text(row)} BLEU"]
    said.append(f"n = {row.sentences:,}{', few sentences' if row.few else ''}")
    if bucket.loss is not None:
        said.append(f"loss {bucket.loss:.3f}")
    if bucket.perplexity is not None:
        said.append(f"perplexity {bucket.perplexity:.2f}")
    return ", ".join(said)


def _chart_notes(sides: SideBySide) -> list[str]:
    confidence = sides.comparison.settings.confidence
    said = [f"Bands: {percent(confidence)} bootstrap intervals over sentences."]
    if sides.several_seeds:
        said.append("With whiskers: means, from the lowest to the highest seed.")
    if any(row.few for row in sides.rows):
        said.append(f"Hollow points: fewer than {FEW} sentences, too few to conclude from.")
    return said


def _first_seeds(sides: SideBySide) -> str:
    if not sides.several_seeds:
        return ""
    seeds = {arm.system.seeds[0] for arm in sides.arms}
    which = f", seed {seeds.pop()}" if len(seeds) == 1 else ""
    return f"Sentences and maps are those of each system's first seed{which}."
