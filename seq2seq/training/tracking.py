"""Trackers, which show a running training: TensorBoard, Weights & Biases."""

import os
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
        return _tensorboard(folder, update) if logger == "tensorboard" else _wandb(folder, config)
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


def _wandb(folder: Path, config: dict[str, Any]) -> Tracker:
    import wandb

    file, project = folder / "wandb.id", os.environ.get("WANDB_PROJECT", "seq2seq")
    name, known = "/".join(folder.parts[-3:]), file.read_text() if file.exists() else None
    run = wandb.init(project=project, name=name, config=config, id=known, resume="allow")
    write_whole(file, run.id.encode())
    return run.log, run.finish
