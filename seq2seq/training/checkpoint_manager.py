"""Write and restore the checkpoints of a training; load the one that fine-tuning starts from."""

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
    """Saves and restores the full training state; rank 0 writes the random state of every rank."""

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

        Newer ones, which are damaged, are renamed to ``<name>.damaged``.
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
        if update := self.folder.record().progress.update:
            raise UserError(
                f"{self.folder.path} was trained to update {update}, but has no folder update-<n> "
                f"to resume from; copy one back, or {REMEDY}."
            )
        return None

    def load_weights(self, checkpoint: Checkpoint) -> None:
        """Copy the weights of a checkpoint; refuse one that has other vocabularies."""
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
    """Load the checkpoint ``training.init_from``; refuse settings that contradict it."""
    where = str(config.training.init_from)
    try:
        parent = load_checkpoint(Path(where), CPU)
    except UserError as error:
        raise UserError(f"training.init_from={where}: {error}") from None
    mine, its = (flatten(asdict(of)) for of in (config, parent.config))
    differ = {k: its.get(k) for k, v in mine.items() if INHERITED.match(k) and v != its.get(k)}
    if differ:
        # A system sets its kind of attention, which is also the name of a system.
        names = {"model.attention.kind": "system"}
        remedy = " ".join(f"{names.get(key, key)}={shown(value)}" for key, value in differ.items())
        raise UserError(
            f"{', '.join(differ)} contradict training.init_from={where}; set {remedy}, or name the "
            "run of each system: 'training.init_from=outputs/NAME/${system}/seed-${seed}'."
        )
    return parent


def codec_folder(config: TrainConfig) -> Path | None:
    """Return the checkpoint that has the tokenizers of a run; None if it makes its own.

    A run that has saved a checkpoint no longer needs its parent.
    """
    if config.training.init_from is None:
        return None
    for own in RunFolder(config).newest():
        with contextlib.suppress(UserError, OSError):
            return load_checkpoint(own, CPU).directory
    return load_parent(config).directory
