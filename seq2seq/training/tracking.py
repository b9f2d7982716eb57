"""Trackers, which show a running training: TensorBoard, Weights & Biases, MLflow."""

import os
from functools import partial
from pathlib import Path
from typing import Any

from seq2seq.errors import UserError
from seq2seq.files import write_whole
from seq2seq.training.metrics import Tracker


def start_tracker(logger: str, folder: Path, config: dict[str, Any], update: int) -> Tracker:
    """Start to track the run in ``folder`` from ``update`` on; ``config`` has dotted keys.

    If the run was tracked before, its record is continued. UserError if the tracker does not start.
    """
    try:
        if logger == "tensorboard":
            return _tensorboard(folder, update)
        file, name = folder / f"{logger}.id", "/".join(folder.parts[-3:])
        known = file.read_text() if file.exists() else None
        tracker, run_id = {"wandb": _wandb, "mlflow": _mlflow}[logger](name, known, config)
        write_whole(file, run_id.encode())
        return tracker
    except ImportError:
        raise UserError(
            f"training.logger={logger} needs a package; run pip install {logger}."
        ) from None
    except Exception as error:  # errors of the tracker: no account, no server, a deleted run
        raise UserError(
            f"training.logger={logger} does not start ({error}); correct this, or set "
            "training.logger=none."
        ) from error


def _tensorboard(folder: Path, update: int) -> Tracker:
    from torch.utils.tensorboard import SummaryWriter

    # ``purge_step`` hides the old values of updates that are made again.
    writer = SummaryWriter(str(folder / "tensorboard"), purge_step=update + 1)

    def log(values: dict[str, float], update: int) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, update)

    return log, writer.close


def _wandb(name: str, known: str | None, config: dict[str, Any]) -> tuple[Tracker, str]:
    import wandb

    project = os.environ.get("WANDB_PROJECT", "seq2seq")
    run = wandb.init(project=project, name=name, config=config, id=known, resume="allow")
    return (run.log, run.finish), run.id


def _mlflow(name: str, known: str | None, config: dict[str, Any]) -> tuple[Tracker, str]:
    import mlflow

    mlflow.set_experiment(os.environ.get("MLFLOW_EXPERIMENT_NAME", "seq2seq"))
    run = mlflow.start_run(run_id=known, run_name=name)
    if not known:
        mlflow.log_params(config)
    # Training does not wait for the server. If the server fails, an error is logged.
    return (partial(mlflow.log_metrics, synchronous=False), mlflow.end_run), run.info.run_id
