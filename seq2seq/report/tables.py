"""A comparison in tables and in one sentence, and the format of numbers in reports."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seq2seq.evaluation.comparison import Comparison, Gap, compare_systems
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.scores import METRICS
from seq2seq.evaluation.significance import TIE, Interval, PairedComparison
from seq2seq.evaluation.translations import FEW, ScoreRow, mean_samples

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
    | {DAGGER: r"\dag{}", "≤": r"$\le$", "–": "--"}
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
        """Format the table as a LaTeX ``tabular`` with the rules of the package booktabs."""
        header, *rows = (
            " & ".join(cell.translate(LATEX) for cell in row) + r" \\"
            for row in (self.columns, *self.rows)
        )
        begin = rf"\begin{{tabular}}{{l{'r' * (len(self.columns) - 1)}}}"
        body = [r"\toprule", header, r"\midrule", *rows, r"\bottomrule"]
        return "\n".join([begin, *body, r"\end{tabular}", ""])


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a Markdown table, padded so that columns line up in plain text, too."""
    cells = [
        [cell.replace("\\|", "|").replace("|", "\\|").replace("\n", " ") for cell in row]
        for row in (header, *rows)
    ]
    widths = [max(2, *map(len, column)) for column in zip(*cells, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = ""
    for first, *others in (cells[0], rule, *cells[1:]):
        padded = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines += "| " + " | ".join([first.ljust(widths[0]), *padded]) + " |\n"
    return lines


def by_length(
    caption: str, grouping: str, rows: Sequence[ScoreRow], columns: Iterable[Sequence[str]]
) -> Table:
    """Table with a line for each of ``rows`` that has sentences; a column begins with its name."""
    labels = [grouping, *(row.words + f" {DAGGER}" * row.few for row in rows)]
    header, *lines = zip(labels, *columns, strict=True)
    shown = [list(line) for line, row in zip(lines, rows, strict=True) if row.sentences]
    return Table(caption, list(header), shown)


def counts(rows: Sequence[ScoreRow]) -> list[str]:
    """Column of the numbers of sentences."""
    return ["n", *(f"{row.sentences:,}" for row in rows)]


def heading(comparison: Comparison) -> str:
    """Corpus, test set and search of a comparison, such as ``grammar · test · beam5``.

    Parts that differ are left out; the user's own text is named by experiment and languages.
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
    sentences = f"{comparison.sentences:,} sentences"
    return f"{comparison.settings.caption}: {heading(comparison)}, {sentences}"


def evaluation_table(evaluation: Evaluation) -> Table:
    """Table of one evaluation by source length; columns without values are left out."""
    alone = compare_systems([evaluation], None, evaluation.settings).systems[0]
    rows = [row for row in alone.rows if row.sentences]
    columns = [counts(rows), ["BLEU", *map(score_text, rows)]]
    shown = {
        **{key: (metric.name, metric.digits) for key, metric in METRICS.items() if key != "bleu"},
        "brevity_ratio": ("brevity", 2),
        "capped": ("hit the cap", 0),
        "loss": ("loss", 3),
        "perplexity": ("perplexity", 2),
    }
    for key, (name, digits) in shown.items():
        values = [row.scores.get(key) for row in rows]
        if any(value is not None for value in values):
            columns.append([name, *(or_dash(value, digits) for value in values)])
    caption = f"{evaluation.directory}, {evaluation.settings.confidence:.0%} bootstrap intervals"
    return by_length(caption, evaluation.settings.grouping, rows, columns)


def bleu_table(comparison: Comparison, digits: int = 1) -> Table:
    """Table of BLEU by source length, with the gaps to the baselines if there are at most two."""
    systems, settings = comparison.systems, comparison.settings
    columns = [counts(systems[0].rows)]
    columns += [[one.name, *(score_text(row, digits) for row in one.rows)] for one in systems]
    if len(comparison.gaps) <= MOST_GAPS:
        for gap in comparison.gaps:
            columns += _gap_columns(gap, f"gap {gap.system}", settings.bootstrap, digits)
    return by_length(settings.caption, settings.grouping, systems[0].rows, columns)


def gap_tables(comparison: Comparison) -> list[Table]:
    """Tables of the gaps that :func:`bleu_table` leaves out, one table per gap."""
    rows, settings = comparison.systems[0].rows, comparison.settings
    tables = []
    for gap in comparison.gaps if len(comparison.gaps) > MOST_GAPS else ():
        caption = f"BLEU of {gap.system} minus that of {gap.baseline}"
        columns = _gap_columns(gap, "gap", settings.bootstrap)
        tables.append(by_length(caption, settings.grouping, rows, columns))
    return tables


def _gap_columns(gap: Gap, name: str, trials: int, digits: int = 1) -> list[list[str]]:
    cells = [gap_cells(paired, trials, digits) for paired in gap.rows]
    return [list(c) for c in zip([name, "p bootstrap", "p randomisation"], *cells, strict=True)]


def detail_tables(comparison: Comparison) -> list[Table]:
    """Return a table by source length for each score in DETAILS with a value other than 0."""
    systems, tables = comparison.systems, []
    for key, (caption, digits) in DETAILS.items():
        if any(row.scores.get(key) for system in systems for row in system.rows):
            columns = [
                [system.name, *(or_dash(row.scores.get(key), digits) for row in system.rows)]
                for system in systems
            ]
            grouping, rows = comparison.settings.grouping, systems[0].rows
            tables.append(by_length(caption, grouping, rows, columns))
    return tables


def segment_tables(comparison: Comparison) -> list[Table]:
    """Tables of the scores that came with all translations: their means, and the gaps."""
    systems, rows, tables = comparison.systems, comparison.systems[0].rows, []
    for key in systems[0].first.texts.scores:
        if all(key in one.texts.scores for one in comparison.evaluations):
            means = {}
            for one in systems:
                values = np.array([seed.texts.scores[key] for seed in one.evaluations])
                means[one.name] = mean_samples(values, comparison.pools)
            shown = [(name, of, interval_text) for name, of in means.items()]
            for gap in comparison.gaps:
                of, before = means[gap.system], means[gap.baseline]
                gaps = {label: of[label] - before[label] for label in of}
                shown.append((f"gap {gap.system}", gaps, with_interval))
            columns = [
                [name, *(write(Interval.of(of[r.words]), 3) if r.sentences else "–" for r in rows)]
                for name, of, write in shown
            ]
            tables.append(
                by_length(key, comparison.settings.grouping, rows, [counts(rows), *columns])
            )
    return tables


def growth_table(comparison: Comparison) -> Table:
    """Table of each gap: over all sentences, on short and on long sources, and long minus short."""
    (short, long), unit = comparison.settings.ends, comparison.settings.unit
    header = ["gap", "all", "p bootstrap", "p randomisation", f"up to {short} {unit}"]
    header += [f"above {long}", "difference in differences", "over seeds"]
    rows = []
    for gap in () if comparison.settings.buckets else comparison.gaps:
        name = f"{gap.system} - {gap.baseline}"
        cells = [name, *gap_cells(gap.rows[-1], comparison.settings.bootstrap), *["–"] * 4]
        if growth := gap.difference_in_differences:
            few = growth.short_sentences < FEW, growth.long_sentences < FEW
            found = growth.short, growth.long, growth.difference
            marked = zip(found, (*few, any(few)), strict=True)
            cells[4:7] = [with_interval(of) + f" {DAGGER}" * mark for of, mark in marked]
            if len(seeds := growth.by_seed.values()) > 1:
                cells[7] = f"{signed(min(seeds))} to {signed(max(seeds))}"
        rows.append(cells)
    return Table("Does the gap grow with source length?", header, rows)


def gap_cells(paired: PairedComparison | None, trials: int, digits: int = 1) -> list[str]:
    """Format a gap with its interval, and the p-values of both tests."""
    if paired is None:
        return ["–"] * 3
    tests = paired.p_bootstrap, paired.p_randomization
    return [with_interval(paired.gap, digits), *(p_text(p, trials) for p in tests)]


def score_text(row: ScoreRow, digits: int = 1) -> str:
    """Format BLEU with its interval, and with the range over several seeds."""
    if row.bleu is None or row.bleu_low is None or row.bleu_high is None:
        return or_dash(row.bleu, digits)
    text = interval_text(Interval(row.bleu, row.bleu_low, row.bleu_high), digits)
    if len(row.by_seed) > 1:
        text += f" ({min(row.by_seed):.{digits}f} to {max(row.by_seed):.{digits}f})"
    return text


def notes(comparison: Comparison) -> list[str]:
    """Notes, in Markdown: how to read the tables, how the systems differ, how they are scored."""
    settings, systems = comparison.settings, comparison.systems
    remarks = [
        f"Brackets: {settings.confidence:.0%} bootstrap intervals over sentences, and over "
        f"seeds where there are several ({settings.bootstrap:,} resamples). Parentheses: lowest "
        "and highest seed. Of the two p-values read that of randomisation, which holds for few "
        "sentences, too; neither is corrected for the number of rows. "
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


def conclusion(comparison: Comparison) -> str:
    """Result as one sentence: of one gap, its growth with source length; else the best system.

    If short or long sentences are too few, the gap over all sentences takes the place of growth.
    """
    systems = comparison.systems
    if len(comparison.gaps) != 1:
        best = max(systems, key=lambda system: system.overall.bleu or 0.0)
        rank = f", best of {len(systems)} systems" if len(systems) > 1 else ""
        few = f" ({comparison.sentences} sentences are too few)" * best.overall.few
        return f"{best.name}: {best.overall.bleu:.1f} BLEU{rank}{few}."
    (gap,) = comparison.gaps
    growth = gap.difference_in_differences
    if growth is None or growth.few:
        return _overall(comparison, gap)
    (short, long), found = comparison.settings.ends, growth.difference
    change = "no significant change with length"
    if not found.low <= 0 <= found.high:
        side = "more" if found.value > 0 else "less"
        change = f"{signed(abs(found.value))[1:]} {side} on long sentences"
    return (
        f"{gap.system} minus {gap.baseline} is {signed(growth.long.value)} BLEU above {long} "
        f"{comparison.settings.unit} and {signed(growth.short.value)} up to {short}: {change}"
        f"{_within(comparison, found)}."
    )


def _overall(comparison: Comparison, gap: Gap) -> str:
    """Sentence on the gap over all sentences; it also needs the randomisation test to agree."""
    paired = gap.rows[-1]
    if paired is None or comparison.sentences < FEW:
        return f"{gap.system} and {gap.baseline}: fewer than {FEW} sentences, too few to conclude."
    interval, highest_p = _within(comparison, paired.gap), 1 - comparison.settings.confidence
    if paired.gap.low <= 0 <= paired.gap.high or paired.p_randomization > highest_p:
        return f"{gap.system} and {gap.baseline}: no significant difference{interval}."
    side = "higher" if paired.gap.low > 0 else "lower"
    size = signed(abs(paired.gap.value))[1:]
    return f"{gap.system} scores {size} BLEU {side} than {gap.baseline}{interval}."


def _within(comparison: Comparison, interval: Interval) -> str:
    share = comparison.settings.confidence
    return f" ({share:.0%} interval {signed(interval.low)} to {signed(interval.high)})"


# -- format of numbers: rounding never changes what a number says ---------------------------------


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
    """Format a score: ``27.1 [26.2, 28.0]``."""
    return f"{interval.value:.{digits}f} [{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def p_text(p: float, trials: int) -> str:
    """Format a p-value; the smallest one that the trials allow is rounded up, with ``≤``."""
    digits = 3 if p >= 0.0005 else -math.floor(math.log10(p))  # three would read as 0
    smallest = p < 1.5 / (trials + 1)
    if smallest:
        p = math.ceil(round(p * 10**digits, 6)) / 10**digits
    return "≤ " * smallest + (f"{p:.3f}" if digits == 3 else f"{p:.1g}")


def or_dash(value: float | None, digits: int) -> str:
    """Format a number with ``digits`` after the point; a dash for None."""
    return "–" if value is None else f"{value:,.{digits}f}"
