"""Output for a terminal: plan and results of an experiment. In a pipe, results are Markdown."""

import math
import os
import shlex
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from seq2seq.config import TrainConfig
from seq2seq.evaluation.comparison import Comparison, System
from seq2seq.evaluation.lengths import FEW
from seq2seq.invocation import command_of
from seq2seq.report.findings import conclusion
from seq2seq.report.tables import DAGGER, markdown_table, or_dash, row_label, summary_rows, title
from seq2seq.training.run_folder import RunFolder

WIDTH, HEIGHT = 80, 23
"""Numbers of columns and lines of a screen, with one line left for the prompt."""
MOST_ARMS = 4
"""Maximum number of systems in columns; if there are more, all are rows, ordered by BLEU."""
HUES = (33, 36, 35, 32)
"""ANSI colours: yellow, cyan, magenta, green."""


def plan(runs: Sequence[TrainConfig], searches: list[str], tests: list[str]) -> str:
    """Describe what is trained and tested, what is finished, and how long the rest takes."""
    folders = {f"{run.system}, seed {run.seed}": RunFolder(run) for run in runs}
    done = {name: folder.record() for name, folder in folders.items() if folder.finished}
    seconds = [record.progress.seconds for record in done.values()]
    left = [name for name in folders if name not in done]
    limits = dict.fromkeys(
        f"max_updates={end.max_updates:,}" if end.max_updates else f"max_epochs={end.max_epochs:,}"
        for end in (run.training for run in runs)
    )
    time = "known once training starts: see its progress bar or log"
    if seconds:
        minutes = math.ceil(fmean(seconds) * len(left) / 60)
        time = f"about {minutes:,} min, if each takes as long as the finished ones"
    lines = [
        f"Plan of {runs[0].name}, {runs[0].corpus.source} to {runs[0].corpus.target}: "
        f"{len(runs)} training{'s' * (len(runs) > 1)}, "
        f"then {', '.join(searches)} of {', '.join(tests)}",
        f"  finished: {'; '.join(done) or 'none'}",
        f"  to train: {'; '.join(left) or 'none'}",
    ]
    if left:
        lines += [f"  until: {' or '.join(limits)}", f"  time: {time}"]
    return "\n".join(lines)


def show(compared: Mapping[str, Comparison]) -> None:
    """Print comparisons by folder; in colour on a terminal unless ``NO_COLOR`` is set."""
    if sys.stdout.isatty():
        print(screen(compared, colour=not os.environ.get("NO_COLOR")))
    else:
        print("\n\n".join(markdown(*one) for one in compared.items()))


def markdown(folder: str, comparison: Comparison) -> str:
    """Format scores, conclusion and the paths of the full report as Markdown."""
    header, *rows = summary_rows(comparison)
    where = f"Tables and figures: {folder}/table.md, page.html"
    table = markdown_table(header, rows)
    end = [conclusion(comparison), where, *_translate_command(comparison)]
    return "\n".join([title(comparison), "", table, *end])


def screen(compared: Mapping[str, Comparison], colour: bool) -> str:
    """Format one comparison as a table, and each other comparison as a line.

    The table shows the first test set with the last search in ``compared``.
    """
    search = list(compared.values())[-1].search
    folder, main = next(one for one in compared.items() if one[1].search == search)
    rest = {Path(path).name: one for path, one in compared.items() if one is not main}
    others = [
        textwrap.shorten(f"{name}: {conclusion(one)}", WIDTH, placeholder=" …")
        for name, one in rest.items()
    ]
    end = ["", *textwrap.wrap(conclusion(main), WIDTH), ""]
    end += [*_first(others, 5, "page.html of each"), ""] if others else []
    end += [f"Look closer: {folder}/page.html", *_translate_command(main)]
    head, *table = _table(main, colour)
    if any(DAGGER in line for line in (head, *table)):
        end.insert(0, f"{DAGGER} fewer than {FEW} sentences: too few to conclude from")
    # A long path takes several lines of a terminal.
    taken = 3 + sum(max(1, math.ceil(len(line) / WIDTH)) for line in end)
    table = _first(table, max(2, HEIGHT - taken), "table.md")
    return "\n".join([title(main)[:WIDTH], "", head, *table, *end])


def _first(lines: list[str], most: int, where: str) -> list[str]:
    """Keep at most ``most`` lines; if some are left out, the last line says how many."""
    more = f"and {len(lines) - most + 1} more: {where}"
    return lines if len(lines) <= most else [*lines[: most - 1], more]


def _translate_command(comparison: Comparison) -> list[str]:
    """Lines that show the command to translate with the best system; [] if no system can.

    Systems are tried in the order of BLEU, but a baseline comes last if a system compared with it
    is not significantly worse. The first system is used that is no ensemble and whose run folder
    still has a best checkpoint.
    """
    last = {gap.baseline for gap in comparison.gaps if (of := gap.rows[-1]) and of.gap.high >= 0}
    for system in sorted(_ranked(comparison.systems), key=lambda system: system.name in last):
        run = system.first.directory.parent.parent
        single = not (system.first.external or system.first.record.members)
        if single and (run / "checkpoints" / "best").is_dir():
            end = shlex.quote(f"checkpoint={run}")
            return [f"Translate ({system.name}):", f"{command_of('translate')} \\", f"  {end}"]
    return []


def _ranked(systems: Sequence[System]) -> list[System]:
    return sorted(systems, key=lambda system: -(system.overall.bleu or 0.0))


def _table(comparison: Comparison, colour: bool) -> list[str]:
    """Table of BLEU by source length, with two systems' gap; above four systems, a ranking."""
    count = len(comparison.systems)
    if count <= MOST_ARMS:
        gaps = len(comparison.gaps) if count == 2 else 0
        rows = [row[: 2 + count + gaps] for row in summary_rows(comparison)]
        return _with_bars(rows, range(2, 2 + count), colour)
    systems = _ranked(comparison.systems)
    best, unit = systems[0], comparison.settings.unit
    enough = [place for place, row in enumerate(best.buckets) if not row.few]
    ends = [enough[0], enough[-1]] if len(enough) > 1 else []
    header = ["system", row_label(best.overall), *(f"{best.rows[n].words} {unit}" for n in ends)]
    cells = [[s.name[:24], *(or_dash(s.rows[n].bleu, 1) for n in (-1, *ends))] for s in systems]
    return _with_bars([header, *cells], range(1, 2), colour)


def _with_bars(rows: list[list[str]], bars: range, colour: bool) -> list[str]:
    """Format rows, the header first, as lines; draw a bar after each score in columns ``bars``."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    plain = [column for place, column in enumerate(columns) if place not in bars]
    room = (WIDTH + 2 - sum(max(map(len, column)) + 2 for column in plain)) // len(bars) - 2
    for place, (head, *cells) in enumerate(columns):
        if place in bars:
            hue = f"\x1b[{HUES[place - bars.start]}m{{}}\x1b[0m" if colour else "{}"
            texts = [head[:room], *(_bar(cell, room - 6) for cell in cells)]
            columns[place] = [hue.format(text.ljust(room)) for text in texts]
        else:
            width = max(map(len, [head, *cells]))
            columns[place] = [f"{cell:{'>' if place else '<'}{width}}" for cell in (head, *cells)]
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def _bar(score: str, width: int) -> str:
    """Format BLEU as a number and a bar, which is full at 100."""
    full, eighths = divmod(round(8 * width * float(score) / 100), 8)
    return f"{score:>5} {'█' * full}{' ▏▎▍▌▋▊▉'[eighths]}".rstrip()
