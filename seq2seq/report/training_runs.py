"""Trainings behind a comparison: validations, speed, command, hardware and commit of each."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from seq2seq.config import check
from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.folder import DAMAGE, Evaluation
from seq2seq.record import WHEREABOUTS, Record, TrainingRecord, read_record
from seq2seq.report.tables import Table, or_dash
from seq2seq.training.metrics import JsonlLog

READING = ("corpus.", "tokenization.")
"""Prefixes of the settings that decide which text is read, and how it is cut into pieces."""
ABSOLUTE_PATH = re.compile(r"(?<=[=,\[:'\"\s])/(?!/)[^,\]}'\"]*/(?=[^,\]}'\"/]+/[^,\]}'\"/]+)")
"""Pattern of all but the last two parts of an absolute path, in a value or a list."""


@dataclass(frozen=True)
class TrainingRun:
    """A training: its record, and what metrics.jsonl says of it if its folder still exists."""

    record: TrainingRecord
    updates: list[int]
    """Number of updates from the start of the training to each validation."""
    losses: list[float]
    """Dev loss of each validation, in nats per piece."""
    bleus: list[float | None]
    """Greedy dev BLEU of each validation; None where it was not measured."""
    bleus_by_length: list[dict[str, float]]
    """Greedy dev BLEU of each validation by source length; empty where it was not measured."""
    speeds: list[float]
    """Target tokens per second of each log entry."""
    config: dict[str, Any] = field(default_factory=dict)
    """Config in the record of the evaluation."""

    @property
    def system(self) -> str:
        return self.record.system


def read_training_run(folder: Path) -> TrainingRun:
    """Read the run folder of a training, finished or not; UserError if it cannot be read."""
    try:
        if record := read_record(folder, "restore it"):
            return _training_run(record, folder)
        raise FileNotFoundError("run.json")
    except (*DAMAGE, UserError, OverflowError) as error:
        raise UserError(
            f"{folder} holds no readable training run ({type(error).__name__}: {error}); use a "
            "folder that train or reproduce wrote."
        ) from None


def _training_run(record: TrainingRecord, folder: Path | None) -> TrainingRun:
    logged = JsonlLog(folder / "metrics.jsonl").read() if folder else []
    entries = [entry for entry in logged if entry["update"] <= record.progress.update]
    validations = [entry for entry in entries if entry["kind"] == "validation"]
    return TrainingRun(
        record=record,
        updates=[int(entry["update"]) for entry in validations],
        losses=[float(entry["loss"]) for entry in validations],
        bleus=[check("bleu", entry.get("bleu"), float | None) for entry in validations],
        bleus_by_length=[
            check("bleu_by_length", entry.get("bleu_by_length") or {}, dict[str, float])
            for entry in validations
        ],
        speeds=[float(e["tokens_per_second"]) for e in entries if e["kind"] == "train"],
    )


def training_runs(comparison: Comparison) -> list[TrainingRun]:
    """Trainings behind a comparison, with their validations if the run folder still exists.

    If experiments differ, they become a part of the system's name.
    """
    runs: dict[str, TrainingRun] = {}
    experiments = {one.experiment for e in comparison.evaluations for one in e.record.trainings}
    for evaluation in comparison.evaluations:
        for training in evaluation.record.trainings:
            run = _live_run(evaluation, training) or _training_run(training, None)
            # In the evaluation, a label may have replaced the name of the system.
            name = training.system if evaluation.record.members else evaluation.record.system
            if len(experiments) > 1 and training.experiment:
                name = f"{training.experiment}/{name}"
            record = replace(run.record, system=name)
            run = replace(run, record=record, config=evaluation.record.config or {})
            runs.setdefault(repr(training), run)
    return list(runs.values())


def _live_run(evaluation: Evaluation, training: TrainingRecord) -> TrainingRun | None:
    """Training run from its folder, up to the evaluated checkpoint; None if it is another's."""
    for folder in (Path(str(evaluation.record.checkpoint)), evaluation.directory):
        try:
            run = read_training_run(folder.parent.parent)
        except UserError:
            continue
        keys = ("experiment", "system", "seed", "data_sha256")
        if all(getattr(run.record, key) == getattr(training, key) for key in keys):
            same = run.record.progress.best_update == training.progress.best_update
            return run if same else _training_run(training, folder.parent.parent)
    return None


def training_table(runs: Sequence[TrainingRun]) -> Table:
    header = ["run", "parameters", "precision", "pairs", "updates", "epochs", "best after"]
    header += ["best dev loss", "best dev BLEU", "target tokens/s", "minutes", "ended by"]
    rows = []
    for run in runs:
        record, progress = run.record, run.record.progress
        bleus = [bleu for bleu in run.bleus if bleu is not None]
        rows.append(
            [
                record.name,
                or_dash(record.parameters.get("total"), 0),
                record.precision or "–",
                or_dash(record.training_pairs, 0),
                or_dash(progress.update, 0),
                or_dash(progress.epoch, 0),
                or_dash(progress.best_update, 0),
                or_dash(min(run.losses, default=None), 4),
                or_dash(max(bleus, default=None), 1),
                or_dash(median(run.speeds) if run.speeds else None, 0),
                or_dash(progress.seconds / 60, 1),
                record.reason or record.status or "–",
            ]
        )
    return Table("Training", header, rows)


def training_notes(comparison: Comparison, runs: Sequence[TrainingRun]) -> list[str]:
    """Notes, in Markdown: whether losses compare; commands, hardware and commits of the results."""
    texts = [one.data_sha256 for e in comparison.evaluations for one in e.record.trainings]
    lines = []
    if any(k.startswith(READING) for k in comparison.config_differences) or any(
        text != texts[0] for text in texts
    ):
        lines.append("The systems read different texts or pieces: their losses do not compare.")
    trained = [run.record for run in runs if run.record.command]
    machines = {describe_machine(record) for record in trained}
    known = [e.record for e in comparison.evaluations if e.record.command]
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
