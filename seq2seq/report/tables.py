"""The numbers of a comparison as Markdown, to read, and as CSV, to compute with."""

import csv
import io
from collections.abc import Iterable, Sequence

from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.lengths import FEW, LengthScore, Scores
from seq2seq.evaluation.significance import LONG_WORDS, SHORT_WORDS
from seq2seq.evaluation.systems import Comparison, Gap, SystemRow
from seq2seq.report.numbers import DAGGER, gap_cells, growth_cells, or_dash, percent

BREVITY_NOTE = "Brevity: tokens said per token of the reference."
CAP_NOTE = "Hit the cap: hypotheses cut at the search's length limit."
PENALTY_NOTE = (
    "Unpenalised: BLEU but for its brevity penalty, which lowers it where translations are shorter "
    "than the references."
)
DETAIL_NOTES = (BREVITY_NOTE, PENALTY_NOTE, CAP_NOTE)
"""How to read :func:`detail_table`."""

MOST_GAPS = 2
"""As many stand beside the scores by length; more have a table of their own."""

COLUMNS = (
    *("system", "seeds", "words", "sentences", "few"),
    *("bleu", "bleu_low", "bleu_high", "bleu_seed_low", "bleu_seed_high"),
    *("chrf", "ter", "brevity_ratio", "bleu_unpenalised", "capped"),
    *("baseline", "gap", "gap_low", "gap_high", "p_bootstrap", "p_randomization"),
)
"""Of the CSV."""


def heading(comparison: Comparison) -> str:
    """What was compared on what: ``grammar · test · beam5``, as far as the records say."""
    parts = (comparison.corpus, comparison.test_set, comparison.search)
    return " · ".join(part for part in parts if part) or "test set"


def scores_markdown(scores: Scores) -> str:
    """One evaluation by source length, with the sacreBLEU signatures below.

    TER, cap hits, the loss and the sentences without an unknown word are shown where known.
    """
    shown = [*scores.buckets, scores.overall, *([scores.known] if scores.known else [])]
    columns = {
        "source words": [row_label(row) for row in shown],
        "n": [f"{row.sentences:,}" for row in shown],
        "BLEU": [interval_text(row) for row in shown],
        "chrF": [or_dash(row.chrf, 1) for row in shown],
    }
    if scores.overall.ter is not None:
        columns["TER"] = [or_dash(row.ter, 1) for row in shown]
    columns["brevity"] = [or_dash(row.brevity_ratio, 2) for row in shown]
    if scores.overall.capped is not None:
        columns["hit the cap"] = [or_dash(row.capped, 0) for row in shown]
    if any(row.loss is not None for row in shown):
        columns["loss"] = [or_dash(row.loss, 3) for row in shown]
        columns["perplexity"] = [or_dash(row.perplexity, 2) for row in shown]
    notes = _interval_notes(scores.settings.confidence, scores.settings.bootstrap)
    notes.append(BREVITY_NOTE)
    if "hit the cap" in columns:
        notes.append(CAP_NOTE)
    if "loss" in columns:
        notes.append(
            "Loss: negative log-likelihood of the references in nats per piece, the end of the "
            "sentence included; comparable between models of one vocabulary. Perplexity: its exp."
        )
    if any(row.few for row in shown):
        notes.append(_few_note())
    signed = scores.signatures
    notes.append(signature_note(signed.bleu, signed.chrf, signed.ter))
    rows = zip(*columns.values(), strict=True)
    return markdown_table(list(columns), rows) + "\n" + "".join(f"- {note}\n" for note in notes)


def unknown_words_markdown(pairs: Sequence[tuple[Evaluation, Evaluation]]) -> str:
    """BLEU as in Bahdanau, Cho & Bengio 2014, Table 1: all sentences, and those of known words.

    Args:
        pairs: a search of a test set, and the same search with ``<unk>`` forbidden. The second is
            shown on the sentences of which neither side holds a word unknown to the model.
    """
    rows = []
    for search, without_unknown in pairs:
        scores = without_unknown.scores
        known = scores.known or scores.overall  # where each word is known, these are all sentences
        rows.append(
            [
                escaped(f"{search.record['test_set']}, {search.record['search']}"),
                f"{search.scores.overall.sentences:,}",
                interval_text(search.scores.overall),
                f"{known.sentences:,}",
                interval_text(known),
            ]
        )
    notes = [
        "All: BLEU of every sentence. No UNK: BLEU of the sentences of which neither source nor "
        "reference holds an unknown word, by a search that may not write one.",
    ]
    table = markdown_table(["test set, search", "n", "All", "n known", "No UNK"], rows)
    return table + "\n" + "".join(f"- {note}\n" for note in notes)


def comparison_markdown(comparison: Comparison, findings: Sequence[str]) -> str:
    """The report of a comparison: findings, BLEU and gaps, the other scores, and how to read it."""
    lines = [f"# BLEU by source length: {heading(comparison)}", ""]
    lines += [f"- {finding}" for finding in findings]
    gaps = gap_table(comparison)
    lines += ["", bleu_table(comparison), *([gaps] if gaps else [])]
    lines.append(detail_table(comparison))
    lines += [f"- {note}" for note in (*notes(comparison), *DETAIL_NOTES)]
    return "\n".join(lines) + "\n"


def comparison_csv(comparison: Comparison) -> str:
    """One line per system and row of the table, at full precision; empty where there is none."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    gaps = {gap.system: gap for gap in comparison.gaps}
    for system in comparison.systems:
        gap = gaps.get(system.name)
        for index, row in enumerate(system.rows):
            paired = gap.rows[index].paired if gap else None
            against = (
                [
                    paired.gap,
                    paired.gap_low,
                    paired.gap_high,
                    paired.p_bootstrap,
                    paired.p_randomization,
                ]
                if paired
                else [None] * 5
            )
            writer.writerow(
                [
                    system.name,
                    len(system.seeds),
                    row.words,
                    row.sentences,
                    row.few,
                    row.bleu,
                    row.bleu_low,
                    row.bleu_high,
                    min(row.by_seed, default=None),
                    max(row.by_seed, default=None),
                    row.chrf,
                    row.ter,
                    row.brevity_ratio,
                    row.unpenalised,
                    row.capped,
                    gap.baseline if gap else None,
                    *against,
                ]
            )
    return stream.getvalue()


def bleu_table(comparison: Comparison) -> str:
    """BLEU of each system with its interval, and each gap to its baseline, by source length.

    More gaps than two have a table of their own, see :func:`gap_table`.
    """
    gaps = comparison.gaps if len(comparison.gaps) <= MOST_GAPS else []
    header = ["source words", "n"]
    header += [f"BLEU {escaped(system.name)}" for system in comparison.systems]
    for gap in gaps:
        header += [f"gap {escaped(gap.system)}", "p bootstrap", "p randomisation"]
    rows = []
    for index, row in enumerate(comparison.systems[0].rows):
        cells = [row_label(row), f"{row.sentences:,}"]
        cells += [interval_text(system.rows[index]) for system in comparison.systems]
        for gap in gaps:
            paired = gap.rows[index].paired
            if paired is None:
                cells += ["–", "–", "–"]
            else:
                cells += gap_cells(paired, comparison.settings.bootstrap)
        rows.append(cells)
    return markdown_table(header, rows)


def gap_table(comparison: Comparison) -> str:
    """A row for each gap: over all sentences, and how it grows with length; empty for two or less.

    Where there are too many gaps to stand beside :func:`bleu_table`. Those of each length are in
    the CSV alone.
    """
    if len(comparison.gaps) <= MOST_GAPS:
        return ""
    header = ["gap", "minus", "all", "p bootstrap", "p randomisation"]
    header += [f"up to {SHORT_WORDS} words", f"above {LONG_WORDS}", "difference in differences"]
    rows = []
    for gap in comparison.gaps:
        paired, growth = gap.overall.paired, gap.difference_in_differences
        assert paired is not None  # a test set has sentences
        cells = [
            escaped(gap.system),
            escaped(gap.baseline),
            *gap_cells(paired, comparison.settings.bootstrap),
        ]
        if growth is None:
            cells += ["–"] * 3
        else:
            cells += growth_cells(growth)
        rows.append(cells)
    return markdown_table(header, rows)


def _few_pools(gap: Gap) -> bool:
    growth = gap.difference_in_differences
    return growth is not None and min(growth.short_sentences, growth.long_sentences) < FEW


def detail_table(comparison: Comparison) -> str:
    """chrF, TER where it was asked for, brevity and what it costs, cap hits, for each length."""
    several = any(len(system.seeds) > 1 for system in comparison.systems)
    header = ["source words"]
    with_ter = any(system.overall.ter is not None for system in comparison.systems)
    quantities = ("brevity", "unpenalised BLEU", "hit the cap")
    for quantity in ("chrF", *(["TER"] if with_ter else []), *quantities):
        header += [f"{quantity} {escaped(system.name)}" for system in comparison.systems]
    rows = []
    for index, row in enumerate(comparison.systems[0].rows):
        of_systems = [system.rows[index] for system in comparison.systems]
        cells = [row_label(row)]
        cells += [or_dash(other.chrf, 1) for other in of_systems]
        if with_ter:
            cells += [or_dash(other.ter, 1) for other in of_systems]
        cells += [or_dash(other.brevity_ratio, 2) for other in of_systems]
        cells += [or_dash(other.unpenalised, 1) for other in of_systems]
        cells += [or_dash(other.capped, 1 if several else 0) for other in of_systems]
        rows.append(cells)
    return markdown_table(header, rows)


def notes(comparison: Comparison) -> list[str]:
    """How to read BLEU and the gaps: every sentence that applies here, in Markdown."""
    settings = comparison.settings
    said = _interval_notes(settings.confidence, settings.bootstrap)
    if any(len(system.seeds) > 1 for system in comparison.systems):
        said.append(
            "Scores are means over seeds; parentheses give the lowest and the highest seed, which "
            "speak of the luck of training as the intervals do not."
        )
    if once := [s.name for s in comparison.systems if len(s.seeds) == 1 and s.seeds != [None]]:
        which = "all systems" if len(once) == len(comparison.systems) else ", ".join(once)
        said.append(
            f"Trained with one seed: {which}. Another would move the score, and by how much is in "
            "no interval here."
        )
    if comparison.gaps:
        said.append(
            f"Gap: BLEU minus that of {_measures(comparison)}, with the interval of the "
            "paired bootstrap. p: paired bootstrap (one-sided in effect, and too small where "
            "sentences are few) and two-sided paired approximate randomisation, the one to read; "
            f"{settings.bootstrap:,} trials each, which set the least p; not corrected for the "
            "number of rows. Difference in differences, fixed in advance: gap above "
            f"{LONG_WORDS} source words minus gap up to {SHORT_WORDS}."
        )
    few = any(row.few for system in comparison.systems for row in system.rows)
    if few or any(_few_pools(gap) for gap in comparison.gaps):
        said.append(_few_note())
    if comparison.empty_sources:
        said.append(
            f"The first row includes {comparison.empty_sources} empty source line"
            f"{'s' if comparison.empty_sources > 1 else ''}."
        )
    if comparison.config_differences:
        listed = "; ".join(
            f"`{key}` ("
            + ", ".join(
                f"{name}: {' or '.join(str(value) for value in found)}"
                for name, found in values.items()
            )
            + ")"
            for key, values in comparison.config_differences.items()
        )
        said.append(f"The configurations differ in {listed}.")
    signed = comparison.signatures
    return [*said, signature_note(signed.bleu, signed.chrf, signed.ter)]


def _measures(comparison: Comparison) -> str:
    """What the gaps are measured against: one system, or each gap's own."""
    measures = {gap.baseline for gap in comparison.gaps}
    if len(measures) == 1:
        return f'"{measures.pop()}"'
    return ", ".join(f'"{gap.baseline}" ({gap.system})' for gap in comparison.gaps)


def _interval_notes(confidence: float, resamples: int) -> list[str]:
    return [
        "Rows: length of the source in words between spaces.",
        f"Brackets: {percent(confidence)} bootstrap interval over the sentences of the row "
        f"({resamples:,} resamples), the trained models held fixed.",
    ]


def _few_note() -> str:
    return f"{DAGGER} fewer than {FEW} sentences: too few to conclude from."


def signature_note(bleu: str, chrf: str, ter: str | None = None) -> str:
    """How the scores were computed, in sacreBLEU's words."""
    note = f"BLEU: sacreBLEU `{bleu}`. chrF: sacreBLEU `{chrf}`."
    return note if ter is None else f"{note} TER (lower is better): sacreBLEU `{ter}`."


def row_label(row: LengthScore | SystemRow) -> str:
    """The words of a row; marked where its sentences are few."""
    return f"{row.words} {DAGGER}" if row.few else row.words


def interval_text(row: LengthScore | SystemRow) -> str:
    """BLEU with its interval, and with the range over seeds where there are several."""
    if row.bleu is None:
        return "–"
    text = f"{row.bleu:.1f} [{row.bleu_low:.1f}, {row.bleu_high:.1f}]"
    if isinstance(row, SystemRow) and len(row.by_seed) > 1:
        text += f" ({min(row.by_seed):.1f} to {max(row.by_seed):.1f})"
    return text


def escaped(text: str) -> str:
    """Text that cannot end its cell early."""
    return text.replace("|", "\\|").replace("\n", " ")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that is aligned as plain text too: it is printed to terminals."""
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]

    def line(row: Sequence[str]) -> str:
        padded = [row[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        return "| " + " | ".join(padded) + " |\n"

    return "".join(line(row) for row in (cells[0], rule, *cells[1:]))
