"""Training runs side by side: how the dev loss fell, and how fast."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from seq2seq.errors import UserError
from seq2seq.files import parse_object
from seq2seq.record import WHEREABOUTS, describe_environments
from seq2seq.report.numbers import counted
from seq2seq.report.tables import escaped, markdown_table
from seq2seq.training.metrics import Metrics
from seq2seq.training.run_folder import identity

MANY = 5
"""With more validations than this, a table shows the first, the best and the last."""
PRECISIONS = {"float32": "fp32", "bfloat16": "bf16"}


@dataclass(frozen=True)
class TrainingRun:
    """What a run folder says of its training."""

    settings: dict[str, Any]
    """See :func:`seq2seq.training.run_folder.identity`."""
    record: dict[str, Any]
    updates: list[int]
    """Number of the update before each validation."""
    epochs: list[float]
    """Epochs made before each validation."""
    losses: list[float]
    """Dev loss of each validation, in nats per piece."""
    bleus: list[float | None]
    """Greedy dev BLEU of each validation; None where it was not measured."""
    speeds: list[float]
    """Target tokens per second of each log entry."""
    waits: list[float]
    """Shares of time without a batch to work on, like ``speeds``; empty in old runs."""

    @property
    def name(self) -> str:
        """Experiment and system, and whether there is more to come."""
        named = f"{self.record.get('experiment')}/{self.record.get('system')}"
        return named + unfinished(self.record)

    @property
    def text_read(self) -> dict[str, Any]:
        """See :func:`text_read`."""
        return text_read(self.settings, self.record)


def text_read(settings: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """What decides what a training reads, and in which pieces: of others, losses do not compare.

    Args:
        settings: see :func:`seq2seq.training.run_folder.identity`.
        record: its run.json.
    """
    shaping = {
        key: value
        for key, value in settings.items()
        if key.startswith(("corpus.", "tokenization.")) and not WHEREABOUTS.match(f"{key}=")
    }
    return {**shaping, "data_sha256": record.get("data_sha256")}


def unfinished(record: dict[str, Any]) -> str:
    """What to add to a training, by its run.json, that could go on: nothing where it is over."""
    return "" if record.get("status", "finished") == "finished" else ", unfinished"


def trainings_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The trainings behind an evaluation, by its record: one, or those of several models as one."""
    if training := record.get("training"):
        return [training]
    return [training for one in record.get("members") or [] if (training := one.get("training"))]


def read_training_run(folder: Path) -> TrainingRun:
    """Read a run folder, finished or still at it.

    Raises:
        UserError: it holds no training run, or a damaged one.
    """
    record = _read(folder, "run.json")
    whole = all(isinstance(record.get(part, {}), dict) for part in ("progress", "parameters"))
    if not whole or record.get("status") not in ("finished", "running", "interrupted"):
        raise UserError(
            f"run.json in {folder} is not the record of a training run; was it altered?"
        )

    def found(entry: dict[str, Any], key: str) -> float | None:
        return None if entry.get(key) is None else float(entry[key])

    entries = Metrics(folder, tensorboard=False).read()
    train = [entry for entry in entries if entry["kind"] == "train"]
    validations = [entry for entry in entries if entry["kind"] == "validation"]
    epochs = [found(entry, "epoch") for entry in validations]
    return TrainingRun(
        settings=identity(_read(folder, "config.json")),
        record=record,
        updates=[entry["update"] for entry in validations],
        epochs=[math.nan if epoch is None else epoch for epoch in epochs],
        losses=[float(entry["loss"]) for entry in validations],
        bleus=[found(entry, "bleu") for entry in validations],
        speeds=[float(entry["tokens_per_second"]) for entry in train],
        waits=[one for entry in train if (one := found(entry, "waiting_for_data")) is not None],
    )


def _read(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    if not path.is_file():
        raise UserError(
            f"{folder} holds no training run: it has no {name}; name a folder that train or "
            "reproduce wrote, such as outputs/quickstart/attention/seed-1."
        )
    try:
        return parse_object(path.read_bytes())
    except ValueError:
        raise UserError(f"{path} is damaged; train this run again, or leave it out.") from None


def training_runs_markdown(runs: Sequence[TrainingRun]) -> str:
    """The table, one row a run in the given order; how to read it; how the runs came about."""
    shown, columns = _losses(runs)
    header = ["run", "parameters", "precision", "kernels"]
    header += [*(f"dev loss {column}" for column in columns), "against row 1", "in the last epoch"]
    header += ["target tokens/s", "waiting for data", "minutes"]
    rows = []
    for run, losses, settings in zip(runs, shown, _different_settings(runs), strict=True):
        precision = str(run.record.get("precision", "–"))
        seconds = run.record.get("progress", {}).get("seconds", 0.0)
        rows.append(
            [
                escaped(", ".join([run.name, *settings])),
                f"{total:,}" if (total := run.record.get("parameters", {}).get("total")) else "–",
                PRECISIONS.get(precision, precision),
                str(run.record.get("kernels", "–")),
                *(losses + ["–"] * (len(columns) - len(losses))),
                "" if run is runs[0] else _change(runs[0], run),
                _last_epoch(run),
                f"{median(run.speeds):,.0f}" if run.speeds else "–",
                f"{median(run.waits):.1%}" if run.waits else "–",
                f"{seconds / 60:,.1f}",
            ]
        )
    lines = [
        "Dev loss: nats per piece, by validation. Against row 1: the last dev loss relative "
        "to that of the first row; below zero is better. In the last epoch: what the best dev loss "
        "still changed in about the last epoch, for trainings that the most epochs ended. Target "
        "tokens/s: median over the log's entries, validations not counted; waiting for data: the "
        "share of that time without a batch, likewise. Minutes: of the whole training, validations "
        "included.",
        *_courses(runs),
        *describe_environments([run.record for run in runs]),
    ]
    return markdown_table(header, rows) + "\n" + "\n".join(f"- {line}" for line in lines)


def _losses(runs: Sequence[TrainingRun]) -> tuple[list[list[str]], list[str]]:
    """The dev losses to show of each run, and what their columns are called."""
    most = max(len(run.losses) for run in runs)
    if most <= MANY:
        chosen, columns = [run.losses for run in runs], [str(i + 1) for i in range(most)]
    else:
        chosen = [
            [run.losses[0], min(run.losses), run.losses[-1]] if run.losses else [] for run in runs
        ]
        columns = ["first", "best", "last"]
    return [[f"{loss:.4f}" for loss in losses] for losses in chosen], columns


def _change(first: TrainingRun, run: TrainingRun) -> str:
    """How much higher the last dev loss of ``run`` is than that of ``first``.

    Losses of other text, or of text in other pieces, do not compare.
    """
    if not first.losses or not run.losses or first.text_read != run.text_read:
        return "–"
    return f"{run.losses[-1] / first.losses[-1] - 1:+.2%}"


def _last_epoch(run: TrainingRun) -> str:
    """Whether a training that its epochs ended had stopped learning."""
    if not str(run.record.get("reason")).startswith("max_epochs"):
        return "–"
    young = [place for place, epoch in enumerate(run.epochs) if epoch <= run.epochs[-1] - 1]
    if not young:
        return "–"
    return f"{min(run.losses) / min(run.losses[: young[-1] + 1]) - 1:+.2%}"


def _courses(runs: Sequence[TrainingRun]) -> list[str]:
    """How long each was trained, and what ended it; a line for all of which the same holds."""
    alike: dict[str, list[str]] = {}
    for run in runs:
        progress, reason = run.record.get("progress", {}), run.record.get("reason")
        updates, epochs = progress.get("update", 0), progress.get("epoch", 0)
        made = f"{counted(updates, 'update')} ({counted(epochs, 'epoch')})"
        said = f"{made}, ended by {reason}." if reason else f"{made}."
        seed = run.record.get("seed", "–")
        alike.setdefault(said, []).append(f"{escaped(run.name)}, seed {seed}")
    return [f"{'; '.join(dict.fromkeys(names))}: {said}" for said, names in alike.items()]


def _different_settings(runs: Sequence[TrainingRun]) -> list[list[str]]:
    """For each run ``key=value``, of the config keys in which the runs are not all alike.

    Nothing where each run has a name of its own, which says as much.
    """
    if len({run.name for run in runs}) == len(runs):
        return [[] for _ in runs]
    keys = sorted({key for run in runs for key in run.settings} - {"name", "system"})
    different = [
        key
        for key in keys
        if not WHEREABOUTS.match(f"{key}=")
        and any(run.settings.get(key) != runs[0].settings.get(key) for run in runs)
    ]
    return [
        [f"{key}={_value(run.settings[key])}" for key in different if key in run.settings]
        for run in runs
    ]


def _value(value: Any) -> str:
    """As on the command line."""
    return value if isinstance(value, str) else json.dumps(value)
