"""Results of an experiment for a terminal."""

import shlex
import textwrap
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.translations import FEW
from seq2seq.invocation import command_of
from seq2seq.report.tables import (
    DAGGER,
    by_length,
    conclusion,
    counts,
    gap_cells,
    markdown_table,
    or_dash,
    title,
)

WIDTH = 80
BAR = 6
"""Number of characters of a bar for 100 BLEU."""
MOST_COLUMNS = 3
"""Maximum number of systems in columns; if there are more, each has a line without a bar."""


def summary(compared: Mapping[str, Comparison]) -> str:
    """Format one of the comparisons (by folder) as a table, and each other one as a line.

    The table shows the first test set with the last search in ``compared``.
    """
    search = list(compared.values())[-1].search
    folder, main = next(one for one in compared.items() if one[1].search == search)
    table = _table(main)
    lines = [title(main), "", table]
    if DAGGER in table:
        lines.append(f"{DAGGER} fewer than {FEW} sentences: too few to conclude from\n")
    lines += [*textwrap.wrap(conclusion(main), WIDTH), ""]
    lines += [
        f"{Path(path).name}: {conclusion(other)}"
        for path, other in compared.items()
        if other is not main
    ]
    return "\n".join([*lines, f"Look closer: {folder}/page.html", *_translate_command(main)])


def _table(comparison: Comparison) -> str:
    """Markdown table of BLEU by source length, with the gap of two systems."""
    systems, settings = comparison.systems, comparison.settings
    columns = [counts(systems[0].rows)]
    write = _with_bar if len(systems) <= MOST_COLUMNS else partial(or_dash, digits=1)
    columns += [[system.name, *(write(row.bleu) for row in system.rows)] for system in systems]
    for gap in comparison.gaps if len(systems) == 2 else ():
        columns.append(["gap", *(gap_cells(of, settings.bootstrap)[0] for of in gap.rows)])
    table = by_length("", settings.grouping, systems[0].rows, columns)
    lines = [table.columns, *table.rows]
    if len(systems) > MOST_COLUMNS:
        lines = [list(column) for column in zip(*lines, strict=True)]
    return markdown_table(lines[0], lines[1:])


def _with_bar(bleu: float | None) -> str:
    """Format BLEU as a number and a bar."""
    full, eighths = divmod(round(8 * BAR * (bleu or 0.0) / 100), 8)
    bar = "█" * full + " ▏▎▍▌▋▊▉"[eighths]
    return f"{or_dash(bleu, 1)} {bar:<{BAR}.{BAR}}"


def _translate_command(comparison: Comparison) -> list[str]:
    """Command to translate with the best single model that has a checkpoint; [] if none has."""
    for system in sorted(comparison.systems, key=lambda system: -(system.overall.bleu or 0.0)):
        run = system.first.directory.parent.parent
        single = not (system.first.external or system.first.record.members)
        if single and (run / "checkpoints" / "best").is_dir():
            end = shlex.quote(f"checkpoint={run}")
            return [f"Translate ({system.name}):", f"{command_of('translate')} \\", f"  {end}"]
    return []
