"""Write, prune and restore the checkpoints of a training; load the checkpoint of its parent.

The parent is another training. Fine-tuning starts from its checkpoint, ``training.init_from``.
"""

import contextlib
import logging
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from seq2seq.checkpoint import (
    Checkpoint,
    TrainingState,
    capture_rng,
    load_checkpoint,
    load_optimizer,
    remove_checkpoint,
    restore_rng,
    save_checkpoint,
)
from seq2seq.config import INHERITED, TrainConfig, flatten, shown
from seq2seq.data.preparation import PreparedData
from seq2seq.distributed import ProcessGroup
from seq2seq.errors import UserError
from seq2seq.model.translation import TranslationModel
from seq2seq.training.optimization import WeightAverage
from seq2seq.training.run_folder import REMEDY, RunFolder

log = logging.getLogger(__name__)

CPU = torch.device("cpu")


@dataclass
class CheckpointManager:
    """Saves and restores the full training state.

    In distributed training, rank 0 writes the checkpoint, with the random state of every rank.
    """

    folder: RunFolder
    data: PreparedData
    model: TranslationModel
    optimizer: torch.optim.Optimizer
    average: WeightAverage
    group: ProcessGroup

    def save(self, directory: Path, state: TrainingState) -> None:
        """Write a checkpoint; delete checkpoints that are no longer needed."""
        generators = {
            _generator(rank, name): generator
            for rank, states in enumerate(self.group.gather(capture_rng()))
            for name, generator in states.items()
        }
        if self.group.is_first:
            config, codecs = self.folder.config, (self.data.source, self.data.target)
            checkpoint = Checkpoint(config, self.model, *codecs, state, generators)
            with self.average.in_model():
                save_checkpoint(directory, checkpoint, self.optimizer, self.average.others)
            self.folder.prune()

    def restore(self) -> TrainingState | None:
        """Restore the newest intact checkpoint and return its state; None without checkpoints.

        Newer damaged checkpoints are renamed to ``<name>.damaged``. If no checkpoint is intact, the
        error of the newest one is raised. UserError if only the best checkpoint is left, unless the
        first validation was cut off.
        """
        errors: dict[Path, UserError | OSError] = {}
        for folder in self.folder.newest():
            try:
                checkpoint = load_checkpoint(folder, CPU)
                with self.average.in_model():
                    self.load_weights(checkpoint)
                    load_optimizer(folder, self.optimizer, self.average.others)
            except (UserError, OSError) as error:
                log.warning("%s; trying an earlier checkpoint, if any.", str(error).rstrip("."))
                errors[folder] = error
                continue
            own = {_generator(self.group.rank, name): name for name in capture_rng()}
            restore_rng({own[key]: value for key, value in checkpoint.rng.items() if key in own})
            self.group.maximum(0)  # wait until all ranks have read what is renamed next
            for damaged in errors if self.group.is_first else ():
                aside = damaged.with_name(f"{damaged.name}.damaged")
                remove_checkpoint(aside)
                damaged.rename(aside)
            return checkpoint.state
        for refusal in errors.values():
            raise refusal
        record = self.folder.record()
        # The first validation may have been cut off when it had saved only the best checkpoint.
        cut_off = record.status == "running" and not record.progress.update
        if self.folder.best.exists() and not cut_off:
            raise UserError(
                f"{self.folder.path} has no folder update-<n> to resume from, and a new training "
                f"would replace {self.folder.best}; copy such a folder back, or {REMEDY}."
            )
        return None

    def load_weights(self, checkpoint: Checkpoint) -> None:
        """Copy the weights of a checkpoint; UserError if it has other vocabularies."""
        # Another version of a tokenizer may cut the same text into other pieces.
        codecs = (checkpoint.source, self.data.source), (checkpoint.target, self.data.target)
        if not all(saved.encodes_like(prepared) for saved, prepared in codecs):
            raise UserError(
                f"{checkpoint.directory} has other vocabularies than the prepared text "
                f"{self.data.directory}; {REMEDY}."
            )
        self.model.load_state_dict(checkpoint.model.state_dict())


def _generator(rank: int, name: str) -> str:
    """Return the name of a random generator in checkpoints, such as cpu or rank-1/cpu."""
    return f"rank-{rank}/{name}" if rank else name


def load_parent(config: TrainConfig) -> Checkpoint:
    """Load the checkpoint ``training.init_from``.

    UserError if it is missing or damaged, or if a setting contradicts it.
    """
    where = str(config.training.init_from)
    try:
        parent = load_checkpoint(Path(where), CPU)
    except UserError as error:
        raise UserError(f"training.init_from={where}: {error}") from None
    mine, its = (flatten(asdict(c)) for c in (config, parent.config))
    if differ := [key for key in mine if INHERITED.match(key) and mine[key] != its.get(key)]:
        # A system sets its kind of attention, which is also the name of a system.
        names = {key: "system" if key == "model.attention.kind" else key for key in differ}
        key, remedy = differ[0], " ".join(f"{names[key]}={shown(its.get(key))}" for key in differ)
        ours, theirs = shown(mine[key]), shown(its.get(key))
        raise UserError(
            f"{key}={ours} contradicts training.init_from={where}, which has {theirs}; set "
            f"{remedy}, or name another checkpoint, for example that of each system: "
            "'training.init_from=outputs/NAME/${system}/seed-${seed}'."
        )
    return parent


def codec_folder(config: TrainConfig) -> Path | None:
    """Return the checkpoint from which a run takes its tokenizers and vocabularies.

    None without ``training.init_from``: the run then makes its own. A run that has saved a
    checkpoint no longer needs its parent. Errors as in :func:`load_parent`.
    """
    if config.training.init_from is None:
        return None
    for own in RunFolder(config).newest():
        with contextlib.suppress(UserError, OSError):
            return load_checkpoint(own, CPU).directory
    return load_parent(config).directory
