"""The tables of a page as plain data: scores, gaps, and whether these grow with length."""

from dataclasses import dataclass

from seq2seq.evaluation.lengths import FEW
from seq2seq.evaluation.significance import LONG_WORDS, SHORT_WORDS
from seq2seq.evaluation.systems import Comparison, Gap
from seq2seq.report.numbers import DAGGER, between, gap_cells, growth_cells, or_dash
from seq2seq.report.tables import interval_text, row_label


@dataclass(frozen=True)
class Table:
    """A table of texts; each row begins with its own heading."""

    caption: str
    columns: list[str]
    rows: list[list[str]]


def score_table(comparison: Comparison) -> Table:
    """BLEU of each system at each length."""
    return Table(
        "BLEU with its interval, by source length in words",
        ["source words", "n", *(system.name for system in comparison.systems)],
        [
            [
                row_label(row),
                f"{row.sentences:,}",
                *(interval_text(system.rows[index]) for system in comparison.systems),
            ]
            for index, row in enumerate(comparison.systems[0].rows)
        ],
    )


def detail_tables(comparison: Comparison) -> list[Table]:
    """chrF, TER, brevity and cap hits: a table for each that is known."""
    captions = {
        "chrf": ("chrF, by source length in words", 1),
        "ter": ("TER (lower is better), by source length in words", 1),
        "brevity_ratio": ("Brevity, by source length in words", 2),
        "unpenalised": ("BLEU but for its brevity penalty, by source length in words", 1),
        "capped": ("Hypotheses that hit the cap, by source length in words", 1),
    }
    tables = []
    for quantity, (caption, digits) in captions.items():
        values = [[getattr(row, quantity) for row in s.rows] for s in comparison.systems]
        if all(value is None for of_system in values for value in of_system):
            continue
        rows = [
            [row_label(row), *(or_dash(of_system[index], digits) for of_system in values)]
            for index, row in enumerate(comparison.systems[0].rows)
        ]
        names = [system.name for system in comparison.systems]
        tables.append(Table(caption, ["source words", *names], rows))
    return tables


def gap_table(gap: Gap, trials: int) -> Table:
    """What a system has over its baseline at each length, and how surely, by so many trials."""
    rows = []
    for row in gap.rows:
        cells = [row.words + (f" {DAGGER}" if row.sentences < FEW else ""), f"{row.sentences:,}"]
        if (paired := row.paired) is None:
            cells += ["–"] * 3
        else:
            cells += gap_cells(paired, trials)
        rows.append(cells)
    return Table(
        f"{gap.system} minus {gap.baseline}, in BLEU",
        ["source words", "n", "gap", "p bootstrap", "p randomisation"],
        rows,
    )


def growth_table(comparison: Comparison) -> Table:
    """The difference in differences of each gap."""
    rows = []
    for gap in comparison.gaps:
        cells = [gap.system, gap.baseline]
        if (found := gap.difference_in_differences) is None:
            cells += ["–"] * 4
        else:
            seeds = list(found.by_seed.values())
            short, long, value = growth_cells(found)
            cells += [
                f"{short} (n = {found.short_sentences:,})",
                f"{long} (n = {found.long_sentences:,})",
                value,
                between(min(seeds), max(seeds)) if len(seeds) > 1 else "–",
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
