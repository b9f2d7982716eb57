"""What a command prints: the plan of an experiment, and its results as Markdown."""

import math
import shlex
from collections.abc import Mapping, Sequence
from statistics import fmean

from seq2seq.command import command_of
from seq2seq.config import TrainConfig
from seq2seq.evaluation.comparison import Comparison
from seq2seq.report.findings import conclusion
from seq2seq.report.tables import heading, markdown_table, summary_rows
from seq2seq.training.run_folder import RunFolder


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
    """Print comparisons by folder."""
    print("\n\n".join(markdown(*one) for one in compared.items()))


def markdown(folder: str, comparison: Comparison) -> str:
    """Format scores, conclusion and the paths of the full report as Markdown."""
    title = f"BLEU by source length: {heading(comparison)}, {comparison.sentences:,} sentences"
    header, *rows = summary_rows(comparison)
    where = f"Tables and figures: {folder}/table.md, page.html"
    table = markdown_table(header, rows)
    end = [conclusion(comparison), where, *_translate_command(comparison)]
    return "\n".join([title, "", table, *end])


def _translate_command(comparison: Comparison) -> list[str]:
    """Command to translate with the best system whose checkpoint exists; [] if none exists.

    A baseline comes last, unless each system compared with it is significantly worse.
    """
    last = {gap.baseline for gap in comparison.gaps if (of := gap.rows[-1]) and of.gap.high >= 0}
    ranked = sorted(comparison.systems, key=lambda system: -(system.overall.bleu or 0.0))
    for system in sorted(ranked, key=lambda system: system.name in last):
        run = system.first.directory.parent.parent
        if (run / "checkpoints" / "best").is_dir() and not system.first.record.members:
            end = shlex.quote(f"checkpoint={run}")
            return [f"Translate ({system.name}):", f"{command_of('translate')} \\", f"  {end}"]
    return []
