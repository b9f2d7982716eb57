"""Fine-tuning: a training that starts from the checkpoint of another one, its parent."""

import contextlib
import re
from dataclasses import asdict, replace
from pathlib import Path

import torch

from seq2seq.checkpoint import Checkpoint, load_checkpoint
from seq2seq.config import TrainConfig, flatten
from seq2seq.config.meanings import shown
from seq2seq.errors import UserError
from seq2seq.training.run_folder import RunFolder

CPU = torch.device("cpu")
INHERITED = re.compile(r"model\.|corpus\.(source|target)$|tokenization\.(?!max_pieces|workers)")
"""Pattern of the settings that the parent decides."""


def load_parent(config: TrainConfig) -> Checkpoint:
    """Load the checkpoint ``training.init_from``; UserError if it is missing or damaged, or if a
    setting contradicts it."""
    where = str(config.training.init_from)
    try:
        parent = load_checkpoint(Path(where), CPU)
    except UserError as error:
        raise UserError(f"training.init_from={where}: {error}") from None
    mine, its = (flatten(asdict(replace(c, model=c.model.shape))) for c in (config, parent.config))
    if differ := [key for key in mine if INHERITED.match(key) and mine[key] != its.get(key)]:
        key, remedy = differ[0], " ".join(f"{key}={shown(its.get(key))}" for key in differ)
        ours, theirs = shown(mine[key]), shown(its.get(key))
        raise UserError(
            f"{key}={ours} contradicts training.init_from={where}, which has {theirs}; set "
            f"{remedy}, or another checkpoint, for example that of each system: "
            "'training.init_from=outputs/NAME/${system}/seed-${seed}'."
        )
    return parent


def codec_folder(config: TrainConfig) -> Path | None:
    """Return the checkpoint with the tokenizers and vocabularies of a run; None if they are new.

    A run that has saved a checkpoint no longer needs its parent. Errors as in :func:`load_parent`.
    """
    if config.training.init_from is None:
        return None
    for own in RunFolder(config).newest():
        with contextlib.suppress(UserError, OSError):
            return load_checkpoint(own, CPU).directory
    return load_parent(config).directory
