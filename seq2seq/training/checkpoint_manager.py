"""Write, prune and restore the checkpoints of a training."""

import logging
from dataclasses import dataclass
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
from seq2seq.data.dataset import PreparedData
from seq2seq.distributed import ProcessGroup
from seq2seq.errors import UserError
from seq2seq.model.translation import TranslationModel
from seq2seq.training.run_folder import REMEDY, RunFolder

log = logging.getLogger(__name__)


@dataclass
class CheckpointManager:
    """Saves and restores the full training state.

    In distributed training, rank 0 writes the checkpoint, with the random state of every rank.
    """

    folder: RunFolder
    data: PreparedData
    model: TranslationModel
    optimizer: torch.optim.Optimizer
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
            save_checkpoint(directory, checkpoint, self.optimizer)
            self.folder.prune(config.training.keep_last)

    def restore(self) -> TrainingState | None:
        """Restore the newest intact checkpoint and return its state; None without checkpoints.

        Newer damaged checkpoints are renamed to ``<name>.damaged``. UserError about the newest one
        if none is intact.
        """
        errors: dict[Path, UserError | OSError] = {}
        for folder in self.folder.newest():
            try:
                checkpoint = load_checkpoint(folder, torch.device("cpu"))
                self.load_weights(checkpoint)
                load_optimizer(folder, self.optimizer)
            except (UserError, OSError) as error:
                log.warning("%s Trying the previous checkpoint.", error)
                errors[folder] = error
                continue
            own = {_generator(self.group.rank, name): name for name in capture_rng()}
            restore_rng({own[key]: value for key, value in checkpoint.rng.items() if key in own})
            self.group.maximum(0)  # wait until all have read what is renamed now
            for damaged in errors if self.group.is_first else ():
                aside = damaged.with_name(f"{damaged.name}.damaged")
                remove_checkpoint(aside)
                damaged.rename(aside)
            return checkpoint.state
        for refusal in errors.values():
            raise refusal
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
