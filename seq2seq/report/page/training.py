"""How the systems came about: learning curves where the run is still there, and the records."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seq2seq.errors import UserError
from seq2seq.evaluation.folder import Evaluation
from seq2seq.record import describe_environment
from seq2seq.report.curves import loss_range
from seq2seq.report.page.attention import SIZE
from seq2seq.report.page.charts import Chart, Point, Series, Tick, draw, ticks
from seq2seq.report.page.tables import Table
from seq2seq.report.side_by_side import Arm, SideBySide
from seq2seq.report.training_runs import TrainingRun, read_training_run, trainings_of
from seq2seq.training.run_folder import identity


@dataclass(frozen=True)
class Curves:
    """What the validations of the runs measured."""

    charts: list[Chart]
    tables: list[Table]
    """The numbers of each of ``charts``."""
    missing: list[str]
    """Systems and seeds of which no run folder with validations is to be found."""


@dataclass(frozen=True)
class Record:
    """A row of the table of runs; a dash where the evaluation does not say."""

    name: str
    cells: list[str]


@dataclass(frozen=True)
class Records:
    """Where the results come from."""

    columns: list[str]
    rows: list[Record]
    environments: list[str]
    """Commands, hardware and code, as Markdown sentences."""
    versions: list[str]


def curves(sides: SideBySide) -> Curves:
    """Dev loss and dev BLEU by update."""
    runs: list[tuple[Arm, str, TrainingRun]] = []
    missing = []
    for arm in sides.arms:
        for evaluation in arm.evaluations:
            if evaluation.given:
                continue
            name = _name(arm, evaluation)
            run = find_run(evaluation)
            if run is None or not run.updates:
                missing.append(name)
            else:
                runs.append((arm, name, run))
    if not runs:
        return Curves([], [], missing)
    losses = [_series(arm, name, run.updates, run.losses, "loss") for arm, name, run in runs]
    bleus = [_series(arm, name, run.updates, run.bleus, "BLEU") for arm, name, run in runs]
    low, high = loss_range([run for _, _, run in runs])
    last = max(run.updates[-1] for _, _, run in runs)
    places = [Tick(place, text) for place, text in ticks(0, last)]
    measured = [point.y for one in bleus for point in one.points]
    charts = [
        draw(
            "dev-loss",
            "Loss of the development set",
            ("Updates", "Dev loss (nats per piece)"),
            losses,
            places,
            (0.0, 1.03 * last),
            (low, high),
            SIZE,
        )
    ]
    if measured:
        charts.append(
            draw(
                "dev-bleu",
                "BLEU of the development set",
                ("Updates", "Dev BLEU (greedy)"),
                bleus,
                places,
                (0.0, 1.03 * last),
                (0.0, 1.08 * max(measured) or 1.0),
                SIZE,
            )
        )
    named = [(name, run) for _, name, run in runs]
    tables = [_numbers(charts[0].title, named, [run.losses for _, run in named])]
    if measured:
        tables.append(_numbers(charts[1].title, named, [run.bleus for _, run in named]))
    return Curves(charts, tables, missing)


def _numbers(
    title: str,
    runs: Sequence[tuple[str, TrainingRun]],
    values: Sequence[Sequence[float | None]],
) -> Table:
    """A row for each number of updates after which a run was validated."""
    measured = [
        dict(zip(run.updates, of_run, strict=True))
        for (_, run), of_run in zip(runs, values, strict=True)
    ]
    rows = [
        [
            f"{update:,}",
            *("–" if (v := of_run.get(update)) is None else f"{v:.4g}" for of_run in measured),
        ]
        for update in sorted({update for of_run in measured for update in of_run})
    ]
    return Table(f"{title}, by updates", ["updates", *(name for name, _ in runs)], rows)


def find_run(evaluation: Evaluation) -> TrainingRun | None:
    """The training behind an evaluation, where its folder is still there and is still that run."""
    record = evaluation.record
    folders = [evaluation.directory.parent.parent]
    if isinstance(checkpoint := record.get("checkpoint"), str):
        folders.insert(0, Path(checkpoint).parent.parent)
    for folder in folders:
        try:
            run = read_training_run(folder)
        except (UserError, KeyError, OSError):  # a page does without what it cannot read
            continue
        said = ("experiment", "system", "seed", "data_sha256")
        trained = record.get("training") or {}
        if all(run.record.get(key) == trained.get(key) for key in said) and _alike(
            run.settings, identity(record.get("config") or {})
        ):
            return run
    return None


def _alike(settings: dict[str, Any], others: dict[str, Any]) -> bool:
    """Whether two runs agree in what both say: an older version knew fewer settings."""
    return all(settings[key] == others[key] for key in settings.keys() & others.keys())


def _series(
    arm: Arm, name: str, updates: Sequence[int], values: Sequence[float | None], what: str
) -> Series:
    points = [
        Point(update, value, f"{name}: {what} {value:.4g} after {update:,} updates")
        for update, value in zip(updates, values, strict=True)
        if value is not None
    ]
    return Series(name, arm.number, points, marked=False)


def records(sides: SideBySide) -> Records:
    """One row for each evaluation; what made it, said once where it holds for several."""
    columns = ["parameters", "updates", "epochs", "best after", "training pairs", "minutes"]
    columns += ["precision", "sentences/s at this search"]
    rows, environments, versions = [], [], []
    for arm in sides.arms:
        for evaluation in arm.evaluations:
            record = evaluation.record
            name = _name(arm, evaluation)
            if evaluation.given:
                rows.append(Record(f"{name} (translations that were given)", ["–"] * len(columns)))
                continue
            training: dict[str, Any] = record.get("training") or {}
            progress: dict[str, Any] = training.get("progress") or {}
            seconds = progress.get("seconds")
            cells = [
                _number((record.get("parameters") or {}).get("total")),
                _number(progress.get("update")),
                _number(progress.get("epoch")),
                _number(progress.get("best_update")),
                _number(training.get("training_pairs")),
                "–" if seconds is None else f"{seconds / 60:,.1f}",
                str(training.get("precision") or "–"),
                _number(record.get("sentences_per_second")),
            ]
            rows.append(Record(name, cells))
            for one in trainings_of(record):
                if "command" in one:
                    said = describe_environment(one, one.get("precision"))
                    environments.append(f"Training. {said}")
            if "command" in record:
                environments.append(f"Evaluation. {describe_environment(record)}")
            if found := record.get("versions"):
                python = {"python": record.get("python"), **found}
                versions.append(", ".join(f"{name} {version}" for name, version in python.items()))
    return Records(columns, rows, list(dict.fromkeys(environments)), list(dict.fromkeys(versions)))


def _name(arm: Arm, evaluation: Evaluation) -> str:
    seed = evaluation.record.get("seed")
    return arm.name if seed is None else f"{arm.name}, seed {seed}"


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else "–"
