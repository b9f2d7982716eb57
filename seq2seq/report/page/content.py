"""The content of a page: all that is shown of a comparison, as plain data without a look."""

from collections.abc import Sequence
from dataclasses import dataclass

from seq2seq.evaluation.lengths import FEW
from seq2seq.evaluation.significance import LONG_WORDS, SHORT_WORDS
from seq2seq.evaluation.systems import Comparison, Gap, SystemRow
from seq2seq.report.page.attention import FocusChart, Maps, focus_charts, maps
from seq2seq.report.page.charts import Chart, Point, Series, Style, Tick, draw, style
from seq2seq.report.page.sentences import Bucket, Sample, buckets, samples
from seq2seq.report.page.training import Curves, Records, curves, records
from seq2seq.report.positions import Positions, positions
from seq2seq.report.side_by_side import SideBySide
from seq2seq.report.tables import DAGGER, heading, interval_text, notes


@dataclass(frozen=True)
class Table:
    """A table of texts; each row begins with its own heading."""

    caption: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class PageContent:
    """Everything on a page."""

    title: str
    heading: str
    """What was compared on what."""
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
        heading=heading(comparison),
        sentences=comparison.sentences,
        findings=list(findings),
        systems=[(arm.name, style(arm.number)) for arm in sides.arms],
        chart=_length_chart(sides, shown),
        chart_notes=_chart_notes(sides),
        buckets=shown,
        scores=_score_table(comparison),
        details=_detail_tables(comparison),
        gaps=[_gap_table(gap) for gap in comparison.gaps],
        growth=_growth_table(comparison) if comparison.gaps else None,
        notes=notes(comparison),
        maps=maps(sides),
        focus=focus_charts(sides),
        positions=positions(sides),
        samples=chosen,
        sample_buckets=list(dict.fromkeys(sample.bucket for sample in chosen)),
        first_seeds=_first_seeds(sides),
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
    drawn = [
        value
        for one in series
        for point in one.points
        for value in (point.y, point.high or 0.0, *(point.spread or ()))
    ]
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
        (0.0, 102.0 if max(drawn) > 88 else 1.08 * max(1.0, *drawn)),
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
    said = [f"Bands: {confidence:.0%} bootstrap intervals over sentences."]
    if sides.several_seeds:
        said.append("Points: means over seeds; whiskers: lowest to highest seed.")
    if any(row.few for row in sides.rows):
        said.append(f"Hollow points: fewer than {FEW} sentences, too few to conclude from.")
    return said


def _first_seeds(sides: SideBySide) -> str:
    if not sides.several_seeds:
        return ""
    seeds = {arm.system.seeds[0] for arm in sides.arms}
    which = f", seed {seeds.pop()}" if len(seeds) == 1 else ""
    return f"Sentences and maps are those of each system's first seed{which}."


def _score_table(comparison: Comparison) -> Table:
    return Table(
        "BLEU with its interval, by source length in words",
        ["source words", "n", *(system.name for system in comparison.systems)],
        [
            [
                _label(row),
                f"{row.sentences:,}",
                *(interval_text(system.rows[index]) for system in comparison.systems),
            ]
            for index, row in enumerate(comparison.systems[0].rows)
        ],
    )


def _detail_tables(comparison: Comparison) -> list[Table]:
    captions = {
        "chrf": ("chrF, by source length in words", 1),
        "ter": ("TER (lower is better), by source length in words", 1),
        "brevity_ratio": ("Brevity, by source length in words", 2),
        "capped": ("Hypotheses that hit the cap, by source length in words", 1),
    }
    tables = []
    for quantity, (caption, digits) in captions.items():
        values = [[getattr(row, quantity) for row in s.rows] for s in comparison.systems]
        if all(value is None for of_system in values for value in of_system):
            continue
        rows = [
            [_label(row), *(_number(of_system[index], digits) for of_system in values)]
            for index, row in enumerate(comparison.systems[0].rows)
        ]
        names = [system.name for system in comparison.systems]
        tables.append(Table(caption, ["source words", *names], rows))
    return tables


def _gap_table(gap: Gap) -> Table:
    rows = []
    for row in gap.rows:
        cells = [row.words + (f" {DAGGER}" if row.sentences < FEW else ""), f"{row.sentences:,}"]
        if (paired := row.paired) is None:
            cells += ["–"] * 3
        else:
            cells += [
                f"{paired.gap:+.1f} [{paired.gap_low:+.1f}, {paired.gap_high:+.1f}]",
                f"{paired.p_bootstrap:.3f}",
                f"{paired.p_randomization:.3f}",
            ]
        rows.append(cells)
    return Table(
        f"{gap.system} minus {gap.baseline}, in BLEU",
        ["source words", "n", "gap", "p bootstrap", "p randomisation"],
        rows,
    )


def _growth_table(comparison: Comparison) -> Table:
    rows = []
    for gap in comparison.gaps:
        cells = [gap.system, gap.baseline]
        if (found := gap.difference_in_differences) is None:
            cells += ["–"] * 4
        else:
            seeds = list(found.by_seed.values())
            cells += [
                f"{found.short_gap:+.1f} (n = {found.short_sentences:,})",
                f"{found.long_gap:+.1f} (n = {found.long_sentences:,})",
                f"{found.value:+.1f} [{found.low:+.1f}, {found.high:+.1f}]",
                f"{min(seeds):+.1f} to {max(seeds):+.1f}" if len(seeds) > 1 else "–",
            ]
        rows.append(cells)
    return Table(
        "Does the gap grow with length? Difference in differences, in BLEU",
        [
            *("system", "minus", f"gap up to {SHORT_WORDS} words", f"gap above {LONG_WORDS}"),
            *("difference in differences", "over seeds"),
        ],
        rows,
    )


def _label(row: SystemRow) -> str:
    return f"{row.words} {DAGGER}" if row.few else row.words


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
