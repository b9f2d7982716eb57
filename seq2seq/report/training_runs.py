"""Trainings behind a comparison: validations, speed, command, hardware and commit of each."""

import contextlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from seq2seq.config import Stored, check
from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.folder import DAMAGE, Evaluation
from seq2seq.files import read_jsonl
from seq2seq.record import WHEREABOUTS, Record, TrainingRecord, read_record
from seq2seq.report.tables import Table, or_dash

READING = ("corpus.", "tokenization.")
"""Prefixes of the settings that decide which text is read, and how it is cut into pieces."""
ABSOLUTE_PATH = re.compile(r"(?<=[=,\[:'\"\s])/(?!/)[^,\]}'\"]*/(?=[^,\]}'\"/]+/[^,\]}'\"/]+)")
"""Pattern of all but the last two parts of an absolute path, in a value or a list."""


@dataclass
class Validation(Stored):
    """A validation in metrics.jsonl."""

    update: int
    loss: float
    """In nats per piece."""
    bleu: float | None = None
    """BLEU of greedy search; None where it was not measured."""


@dataclass(frozen=True)
class TrainingRun:
    """A training: its record, and what metrics.jsonl says of it if its folder still exists."""

    record: TrainingRecord
    config: dict[str, Any] = field(default_factory=dict)
    validations: list[Validation] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)
    """Target tokens per second of each log entry."""


def training_runs(comparison: Comparison) -> list[TrainingRun]:
    """Trainings behind a comparison; where experiments differ, they are a part of the names."""
    runs: dict[str, TrainingRun] = {}
    experiments = {one.experiment for e in comparison.evaluations for one in e.record.trainings}
    for evaluation in comparison.evaluations:
        for training in evaluation.record.trainings:
            # In the evaluation, a label may have replaced the name of the system.
            name = training.system if evaluation.record.members else evaluation.record.system
            if len(experiments) > 1 and training.experiment:
                name = f"{training.experiment}/{name}"
            record, config = replace(training, system=name), evaluation.record.config or {}
            logged = _logged(evaluation, training)
            runs.setdefault(repr(training), TrainingRun(record, config, *logged))
    return list(runs.values())


def _logged(
    evaluation: Evaluation, training: TrainingRecord
) -> tuple[list[Validation], list[float]]:
    """Validations and speeds up to the evaluation; [] if the run folder is gone, or another's."""
    for place in (Path(str(evaluation.record.checkpoint)), evaluation.directory):
        run, keys = place.parent.parent, ("experiment", "system", "seed", "data_sha256")
        with contextlib.suppress(*DAMAGE, UserError):
            found = read_record(run, "restore it")
            if found and all(getattr(found, key) == getattr(training, key) for key in keys):
                log = read_jsonl(run / "metrics.jsonl")
                entries = [one for one in log if one["update"] <= training.progress.update]
                validations = [one for one in entries if one.get("kind") == "validation"]
                speeds = [o.get("tokens_per_second") for o in entries if o.get("kind") == "train"]
                return check("", validations, list[Validation]), check("", speeds, list[float])
    return [], []


def training_table(runs: Sequence[TrainingRun]) -> Table:
    rows = []
    for run in runs:
        record, progress = run.record, run.record.progress
        losses = [one.loss for one in run.validations]
        bleus = [one.bleu for one in run.validations if one.bleu is not None]
        row = {
            "run": record.name,
            "parameters": or_dash(record.parameters.get("total"), 0),
            "precision": record.precision or "–",
            "pairs": or_dash(record.training_pairs, 0),
            "updates": or_dash(progress.update, 0),
            "epochs": or_dash(progress.epoch, 0),
            "best after": or_dash(progress.best_update, 0),
            "best dev loss": or_dash(min(losses, default=None), 4),
            "best dev BLEU": or_dash(max(bleus, default=None), 1),
            "target tokens/s": or_dash(median(run.speeds) if run.speeds else None, 0),
            "minutes": or_dash(progress.seconds / 60, 1),
            "ended by": record.reason or record.status or "–",
        }
        rows.append(row)
    return Table("Training", list(rows[0]) if rows else [], [list(row.values()) for row in rows])


def training_notes(comparison: Comparison, runs: Sequence[TrainingRun]) -> list[str]:
    """Notes, in Markdown: whether losses compare; commands, hardware and commits of the results."""
    texts = [one.data_sha256 for e in comparison.evaluations for one in e.record.trainings]
    lines = []
    if any(key.startswith(READING) for key in comparison.config_differences) or any(
        text != texts[0] for text in texts
    ):
        lines.append("The systems read different texts or pieces: their losses do not compare.")
    trained = [run.record for run in runs if run.record.command]
    machines = {describe_machine(record) for record in trained}
    known = [e.record for e in comparison.evaluations if e.record.command and not e.external]
    translated = [record for record in known if describe_machine(record) not in machines]
    lines += [f"Training. {line}" for line in describe_environments(trained)]
    lines += [f"Translation. {line}" for line in describe_environments(translated)]
    return lines


def describe_environments(records: Sequence[Record]) -> list[str]:
    """Describe how results were made: a line per combination of hardware, precision, commit."""
    commands: dict[str, list[str]] = {}
    for record in records:
        machine = describe_machine(record, record.precision)
        commands.setdefault(machine, []).append(f"`{command(record.command)}`")
    return [
        f"Command: {', '.join(dict.fromkeys(of_machine))}. {machine}"
        for machine, of_machine in commands.items()
    ]


def describe_machine(record: Record, precision: str | None = None) -> str:
    """Describe hardware, PyTorch version and commit in one line."""
    hardware = record.hardware
    several = "" if hardware.threads == "1" else "s"
    threads = f"{hardware.processor}, {hardware.threads} thread{several}"
    code = ""
    if commit := record.git_commit:
        code = f"; code `{commit[:10]}`{' (modified)' if record.git_modified else ''}"
        if before := record.earlier_commits:
            code += f", resumed from {', '.join(f'`{other[:10]}`' for other in before)}"
    return (
        f"Hardware: {hardware.gpu or threads}{f', {precision}' if precision else ''}; "
        f"PyTorch {hardware.torch}{code}."
    )


def command(arguments: Sequence[str]) -> str:
    """Format the command line of a record; leave out or shorten paths of the user's folders."""
    kept = []
    for argument in arguments:
        if not WHEREABOUTS.match(argument):
            kept.append(ABSOLUTE_PATH.sub(".../", argument))
        elif not re.match(r"\+*(data|output|peers_python|corpus\.mirror)=", argument):
            kept.append(f"{argument.partition('=')[0]}=...")  # shows that the user's text was used
    return shlex.join(["python", f"scripts/{kept[0]}", *kept[1:]]) if kept else "unknown"
