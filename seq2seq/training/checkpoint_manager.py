"""The checkpoints of one training: written, pruned, and resumed from."""

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
from seq2seq.errors import UserError
from seq2seq.model.translation import TranslationModel
from seq2seq.training.distributed import ProcessGroup
from seq2seq.training.run_folder import REMEDY, RunFolder

log = logging.getLogger(__name__)


@dataclass
class CheckpointManager:
    """Writes the whole state of a training, and restores it.

    Of several processes, which differ in their random generators only, the first writes.
    """

    folder: RunFolder
    data: PreparedData
    model: TranslationModel
    optimizer: torch.optim.Optimizer
    group: ProcessGroup

    def save(self, directory: Path, state: TrainingState) -> None:
        """Write a checkpoint, and delete those no longer needed."""
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
        """Resume from the newest intact checkpoint of the run; None where there are none.

        Newer ones that are damaged are renamed to ``<name>.damaged``.

        Raises:
            UserError: there are checkpoints, but none is intact; the message is of the newest.
        """
        errors: dict[Path, UserError | OSError] = {}
        for folder in self.folder.newest():
            try:
                state = self._load(folder)
            except (UserError, OSError) as error:
                log.warning("%s Trying the checkpoint before it.", error)
                errors[folder] = error
                continue
            self.group.maximum(0)  # all have read what is renamed now
            for damaged in errors if self.group.is_first else ():
                aside = damaged.with_name(f"{damaged.name}.damaged")
                remove_checkpoint(aside)
                damaged.rename(aside)
            return state
        for refusal in errors.values():
            raise refusal
        return None

    def _load(self, folder: Path) -> TrainingState:
        checkpoint = load_checkpoint(folder, torch.device("cpu"))
        # Other versions of a tokenizer may cut equal text into other pieces.
        codecs = (checkpoint.source, self.data.source), (checkpoint.target, self.data.target)
        if not all(saved.encodes_like(prepared) for saved, prepared in codecs):
            raise UserError(
                f"{folder} has other vocabularies than the prepared text {self.data.directory}; "
                f"{REMEDY}."
            )
        load_optimizer(folder, self.optimizer)
        self.model.load_state_dict(checkpoint.model.state_dict())
        own = {_generator(self.group.rank, name): name for name in capture_rng()}
        restore_rng({own[key]: value for key, value in checkpoint.rng.items() if key in own})
        return checkpoint.state


def _generator(rank: int, name: str) -> str:
    """The name in a checkpoint of a process's random generator, such as cpu or rank-1/cpu."""
    return f"rank-{rank}/{name}" if rank else name
