"""Trackers, which show a running training: TensorBoard, Weights & Biases."""

import os
from dataclasses import asdict
from pathlib import Path

from seq2seq.errors import UserError
from seq2seq.files import write_whole
from seq2seq.training.metrics import Tracker
from seq2seq.training.run_folder import RunFolder, identity


def start_tracker(run: RunFolder, update: int) -> Tracker:
    """Start or continue to track a run with ``training.logger``, from ``update`` on."""
    logger = run.config.training.logger
    try:
        return _tensorboard(run.path, update) if logger == "tensorboard" else _wandb(run)
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


def _wandb(run: RunFolder) -> Tracker:
    import wandb

    file, name = run.path / "wandb.id", "/".join(run.path.parts[-3:])
    known = file.read_text() if file.exists() else None
    project = os.environ.get("WANDB_PROJECT", "seq2seq")
    settings = identity(asdict(run.config))
    tracked = wandb.init(project=project, name=name, config=settings, id=known, resume="allow")
    write_whole(file, tracked.id.encode())
    return tracked.log, tracked.finish
