"""Tables of scores and gaps, and the format of numbers in reports."""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seq2seq.evaluation.comparison import Comparison, compare_systems
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.lengths import FEW, ScoreRow
from seq2seq.evaluation.scores import METRICS
from seq2seq.evaluation.significance import TIE, Interval, PairedComparison

DAGGER = "†"
"""Mark of a result on fewer than 100 sentences."""
MOST_GAPS = 2
"""Maximum number of gaps in the table of BLEU; if there are more, each has its own table."""
DETAILS = {
    **{key: (metric.name, metric.digits) for key, metric in METRICS.items() if key != "bleu"},
    "brevity_ratio": ("Brevity: hypothesis tokens per reference token", 2),
    "unpenalised": ("BLEU without its brevity penalty", 1),
    "capped": ("Hypotheses cut at the length limit of the search", 1),
    "loss": ("Loss of the references, nats per piece", 3),
}
"""Key of ``ScoreRow.scores`` -> caption of its table, and number of decimals."""
LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "\n": " "}
    | {DAGGER: r"\dag{}", "≤": r"$\le$", "∞": r"$\infty$", "–": "--"}
)
"""Character -> its form in LaTeX, for characters that LaTeX would not print unchanged."""


@dataclass(frozen=True)
class Table:
    """A table whose cells are text; the first cell of each row is the heading of the row."""

    caption: str
    columns: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """Format the table as Markdown, below its caption."""
        return f"**{self.caption}**\n\n{markdown_table(self.columns, self.rows)}"

    def latex(self) -> str:
        """Format the table as a LaTeX ``tabular`` that needs no package."""
        lines = [
            " & ".join(cell.translate(LATEX) for cell in row) + r" \\"
            for row in (self.columns, *self.rows)
        ]
        lines[:1] = [r"\hline", lines[0], r"\hline"]
        begin = rf"\begin{{tabular}}{{l{'r' * (len(self.columns) - 1)}}}"
        return "\n".join([begin, *lines, r"\hline", r"\end{tabular}", ""])


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a Markdown table, padded so that columns line up in plain text, too."""
    cells = [[escaped(cell) for cell in row] for row in (header, *rows)]
    widths = [max(2, *(len(row[column]) for row in cells)) for column in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]

    def line(row: Sequence[str]) -> str:
        padded = [row[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        return "| " + " | ".join(padded) + " |\n"

    return "".join(line(row) for row in (cells[0], rule, *cells[1:]))


def escaped(text: str) -> str:
    """Escape text so that it cannot end its cell early."""
    return text.replace("\\|", "|").replace("|", "\\|").replace("\n", " ")


def heading(comparison: Comparison) -> str:
    """Corpus, test set and search of a comparison, such as ``grammar · test · beam5``.

    A part that differs between evaluations is left out. If the corpus is the user's own files, the
    experiment's name and the languages replace it: ``my_text · en to de · test · beam5``. If all
    checkpoints are of one epoch of ``training.keep_epochs``, its name follows: ``epoch-2``.
    """
    parts = [comparison.corpus, comparison.test_set, comparison.search]
    if comparison.corpus == "files":
        records = [one.record for one in comparison.evaluations if not one.external]
        languages = {" to ".join(record.languages.values()) for record in records}
        found = {record.experiment for record in records}, languages
        parts[:1] = [values.pop() for values in found if len(values) == 1]
    states = {Path(str(one.record.checkpoint)).name for one in comparison.evaluations}
    parts += [state for state in states if state.startswith("epoch-") and len(states) == 1]
    return " · ".join(part for part in parts if part) or "test set"


def title(comparison: Comparison) -> str:
    return f"BLEU by source length: {heading(comparison)}, {comparison.sentences:,} sentences"


def evaluation_table(evaluation: Evaluation) -> Table:
    """Table of one evaluation by source length; columns without values are left out."""
    alone = compare_systems([evaluation], None, evaluation.settings).systems[0]
    rows = [row for row in alone.rows if row.sentences]
    columns = {
        f"source {evaluation.settings.unit}": [row_label(row) for row in rows],
        "n": [f"{row.sentences:,}" for row in rows],
        "BLEU": [score_text(row) for row in rows],
    }
    shown = {key: (metric.name, metric.digits) for key, metric in METRICS.items() if key != "bleu"}
    shown |= {"brevity_ratio": ("brevity", 2), "capped": ("hit the cap", 0), "loss": ("loss", 3)}
    for key, (name, digits) in {**shown, "perplexity": ("perplexity", 2)}.items():
        values = [row.scores[key] for row in rows]
        if any(value is not None for value in values):
            columns[name] = [or_dash(value, digits) for value in values]
    share = percent(evaluation.settings.confidence)
    caption = f"{evaluation.directory}, {share} bootstrap intervals"
    return Table(caption, list(columns), [list(row) for row in zip(*columns.values(), strict=True)])


def bleu_table(comparison: Comparison) -> Table:
    """Table of BLEU by source length, with the gaps to the baselines if there are at most two."""
    gaps = comparison.gaps if len(comparison.gaps) <= MOST_GAPS else []
    header = [f"source {comparison.settings.unit}", "n"]
    header += [system.name for system in comparison.systems]
    for gap in gaps:
        header += [f"gap {gap.system}", "p bootstrap", "p randomisation"]
    rows = []
    for index, row in _rows(comparison):
        cells = [row_label(row), f"{row.sentences:,}"]
        cells += [score_text(system.rows[index]) for system in comparison.systems]
        for gap in gaps:
            cells += gap_cells(gap.rows[index], comparison.settings.bootstrap)
        rows.append(cells)
    return Table("BLEU by source length", header, rows)


def score_csv(comparison: Comparison) -> str:
    """BLEU of each system by source length, with its interval, as CSV of unrounded numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["system", f"source {comparison.settings.unit}", "n", "BLEU", "low", "high"])
    for system in comparison.systems:
        for row in (row for row in system.rows if row.sentences):
            scores = row.bleu, row.bleu_low, row.bleu_high
            # A spreadsheet would compute a name that begins like a formula.
            name = "'" * system.name.startswith(tuple("=+-@\t\r")) + system.name
            writer.writerow([name, row.words, row.sentences, *scores])
    return text.getvalue()


def summary_rows(comparison: Comparison) -> list[list[str]]:
    """BLEU of each system and the first two gaps to baselines, as rows of text.

    A header comes first, then a row for each bucket that has sentences, then one for all sentences.
    """
    gaps = comparison.gaps[:MOST_GAPS]
    header = [comparison.settings.unit, "n", *(system.name for system in comparison.systems)]
    header += [f"{gap.system} - {gap.baseline}" if len(gaps) > 1 else "gap" for gap in gaps]
    rows = [
        [row_label(row), f"{row.sentences:,}"]
        + [or_dash(system.rows[index].bleu, 1) for system in comparison.systems]
        + [gap_cells(gap.rows[index], comparison.settings.bootstrap)[0] for gap in gaps]
        for index, row in _rows(comparison)
    ]
    return [header, *rows]


def _rows(comparison: Comparison) -> list[tuple[int, ScoreRow]]:
    """Index and row of each row that has sentences."""
    return [(i, row) for i, row in enumerate(comparison.systems[0].rows) if row.sentences]


def gap_tables(comparison: Comparison) -> list[Table]:
    """Tables of the gaps that :func:`bleu_table` leaves out, one table per gap."""
    trials = comparison.settings.bootstrap
    return [
        Table(
            f"BLEU of {gap.system} minus that of {gap.baseline}",
            [f"source {comparison.settings.unit}", "gap", "p bootstrap", "p randomisation"],
            [[row_label(row), *gap_cells(gap.rows[i], trials)] for i, row in _rows(comparison)],
        )
        for gap in comparison.gaps
        if len(comparison.gaps) > MOST_GAPS
    ]


def growth_table(comparison: Comparison) -> Table:
    """Table of each gap: over all sentences, on short and on long sources, and long minus short."""
    (short, long), unit = comparison.settings.ends, comparison.settings.unit
    header = ["gap", "all", "p bootstrap", "p randomisation", f"up to {short} {unit}"]
    header += [f"above {long}", "difference in differences", "over seeds"]
    rows = []
    for gap in comparison.gaps:
        name = f"{gap.system} - {gap.baseline}"
        cells = [name, *gap_cells(gap.rows[-1], comparison.settings.bootstrap), *["–"] * 4]
        if growth := gap.difference_in_differences:
            few = growth.short_sentences < FEW, growth.long_sentences < FEW
            found = growth.short, growth.long, growth.difference
            cells[4:7] = [
                with_interval(of) + f" {DAGGER}" * mark
                for of, mark in zip(found, (*few, any(few)), strict=True)
            ]
            if len(seeds := growth.by_seed.values()) > 1:
                cells[7] = f"{signed(min(seeds))} to {signed(max(seeds))}"
        rows.append(cells)
    return Table("Does the gap grow with source length?", header, rows)


def detail_tables(comparison: Comparison) -> list[Table]:
    """Return a table by source length for each score in DETAILS with a value other than 0."""
    tables = []
    for field, (caption, digits) in DETAILS.items():
        values = [[row.scores.get(field) for row in s.rows] for s in comparison.systems]
        if any(value for of_system in values for value in of_system):
            rows = [
                [row_label(row), *(or_dash(of_system[index], digits) for of_system in values)]
                for index, row in _rows(comparison)
            ]
            header = [system.name for system in comparison.systems]
            tables.append(Table(caption, [f"source {comparison.settings.unit}", *header], rows))
    return tables


def half_length_table(comparison: Comparison) -> list[Table]:
    """Table of the half-length of each system; [] if there are none."""
    header = ["system", f"half-length in {comparison.settings.unit}, BLEU"]
    rows = [[s.name, interval_text(s.half_length)] for s in comparison.systems if s.half_length]
    return [Table("How far does it reach?", header, rows)] if rows else []


def gap_cells(paired: PairedComparison | None, trials: int) -> list[str]:
    """Format a gap with its interval, and the p-values of both tests."""
    if paired is None:
        return ["–"] * 3
    tests = paired.p_bootstrap, paired.p_randomization
    return [with_interval(paired.gap), *(p_text(p, trials) for p in tests)]


def row_label(row: ScoreRow) -> str:
    """Label of a row, with a mark if its sentences are few."""
    return f"{row.words} {DAGGER}" if row.few else row.words


def score_text(row: ScoreRow) -> str:
    """Format BLEU with its interval, and with the range over several seeds."""
    if row.bleu is None or row.bleu_low is None or row.bleu_high is None:
        return or_dash(row.bleu, 1)
    text = interval_text(Interval(row.bleu, row.bleu_low, row.bleu_high))
    if len(row.by_seed) > 1:
        text += f" ({min(row.by_seed):.1f} to {max(row.by_seed):.1f})"
    return text


def notes(comparison: Comparison) -> list[str]:
    """Notes, in Markdown: how to read the tables, how the systems differ, how they are scored."""
    settings, systems = comparison.settings, comparison.systems
    remarks = [
        f"Brackets: {percent(settings.confidence)} bootstrap intervals over sentences, and over "
        f"seeds where there are several ({settings.bootstrap:,} resamples). Parentheses: lowest "
        "and highest seed. Of the two p-values read that of randomisation, which holds for few "
        "sentences, too; neither is corrected for the number of rows. Half-length: source length "
        "at which BLEU is half that on the shortest sources; ∞: above the longest. "
        f"{DAGGER}: fewer than {FEW} sentences, too few to conclude from."
    ]
    if once := [s.name for s in systems if len(s.seeds) == 1 and s.seeds != [None]]:
        remarks.append(f"One seed: {', '.join(once)}. The intervals do not cover seed variance.")
    for system in systems:
        if cut := max(evaluation.record.cut_sources for evaluation in system.evaluations):
            remarks.append(
                f"{system.name}: {cut:,} of {comparison.sentences:,} sources have more pieces than "
                "tokenization.max_pieces allows; only their beginning was translated."
            )
    listed = []
    for key, values in comparison.config_differences.items():
        texts = [f"{name}: {' or '.join(map(str, each))}" for name, each in values.items()]
        listed.append(f"`{key}` ({', '.join(texts)})")
    if listed:
        remarks.append(f"The configurations differ in {'; '.join(listed)}.")
    scores = [f"{name}: sacreBLEU `{text}`" for name, text in comparison.signatures.items()]
    return [*remarks, "; ".join(scores) + "."]


# -- format of numbers: rounding never changes what a number says ---------------------------------


def percent(share: float) -> str:
    """Format a share with all its digits: ``95%``, ``99.9%``."""
    return f"{100 * share:g}%"


def signed(value: float, digits: int = 1) -> str:
    """Format a difference: ``+1.2``.

    If rounding would turn a small difference into 0, it shows one significant digit: ``+0.03``.
    """
    if abs(value) < TIE:
        return f"+{0:.{digits}f}"
    return f"{value:+.{digits}f}" if abs(value) >= 0.5 * 10**-digits else f"{value:+.1g}"


def with_interval(interval: Interval, digits: int = 1) -> str:
    """Format a difference: ``+0.4 [-0.3, +1.2]``."""
    value, low, high = (signed(v, digits) for v in (interval.value, interval.low, interval.high))
    return f"{value} [{low}, {high}]"


def interval_text(interval: Interval, digits: int = 1) -> str:
    """Format a score: ``27.1 [26.2, 28.0]``; ∞ is a length beyond the longest bucket."""
    numbers = (interval.value, interval.low, interval.high)
    value, low, high = ("∞" if math.isinf(v) else f"{v:.{digits}f}" for v in numbers)
    return f"{value} [{low}, {high}]"


def p_text(p: float, trials: int) -> str:
    """Format a p-value; the smallest one that the trials allow is rounded up, with ``≤``.

    Below 0.0005, three decimals would read as 0, so one significant digit is shown.
    """
    if p >= 1.5 / (trials + 1):
        return f"{p:.3f}" if p >= 0.0005 else f"{p:.1g}"
    digits = 3 if p >= 0.0005 else -math.floor(math.log10(p))
    least = math.ceil(round(p * 10**digits, 6)) / 10**digits
    return f"≤ {least:.3f}" if p >= 0.0005 else f"≤ {least:.1g}"


def or_dash(value: float | None, digits: int) -> str:
    """Format a number with ``digits`` after the point; a dash for None."""
    return "–" if value is None else f"{value:,.{digits}f}"
