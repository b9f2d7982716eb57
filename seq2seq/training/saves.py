"""The checkpoints of one training: written, kept in number, and gone on from."""

import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from seq2seq.checkpoint import (
    capture_rng,
    load_checkpoint,
    load_optimizer,
    restore_rng,
    save_checkpoint,
)
from seq2seq.config import ExperimentConfig
from seq2seq.data.dataset import PreparedData
from seq2seq.errors import UserError
from seq2seq.model.translation import TranslationModel
from seq2seq.training.optimization import LearningRate
from seq2seq.training.progress import Progress
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.window import Window

log = logging.getLogger(__name__)


class Saves:
    """Writes all that a training consists of, and brings it back as it was."""

    def __init__(
        self,
        folder: RunFolder,
        config: ExperimentConfig,
        data: PreparedData,
        model: TranslationModel,
        optimizer: torch.optim.Optimizer,
        rate: LearningRate,
        conditions: dict[str, str],
    ) -> None:
        """Save this model, optimizer and schedule; ``conditions`` say what computes them."""
        self.folder = folder
        self.config = config
        self.data = data
        self.model = model
        self.optimizer = optimizer
        self.rate = rate
        self.conditions = conditions

    def save_best(self, progress: Progress) -> None:
        """Keep the model as the best one."""
        self._write(self.folder.best, progress, Window())

    def save_validated(self, progress: Progress) -> None:
        """Keep the state after a validation, and as many earlier ones as the config says."""
        self._write(self.folder.checkpoint(progress.update), progress, Window())
        self.folder.prune(self.config.training.keep)

    def save_interim(self, progress: Progress, window: Window) -> None:
        """Keep the state between two validations, in the place of the last such state."""
        self._write(self.folder.interim(progress.update), progress, window)
        self.folder.prune(self.config.training.keep)

    def _write(self, directory: Path, progress: Progress, window: Window) -> None:
        state = {
            "progress": asdict(progress),
            "learning_rate": self.rate.state(),
            "window": window.state(),
            "conditions": self.conditions,
        }
        save_checkpoint(
            directory,
            self.model,
            self.config,
            self.data.source,
            self.data.target,
            self.optimizer.state_dict(),
            state,
            capture_rng(),
        )

    def restore(self, device: torch.device) -> tuple[Progress, Window] | None:
        """Go on from the newest whole checkpoint of the run; None where there are none.

        Raises:
            UserError: there are checkpoints, but none is whole; the sentence is of the newest.
        """
        refusals = []
        for folder in self.folder.newest():
            try:
                return self._restore(folder, device)
            except UserError as error:
                log.warning("%s Trying the checkpoint before it.", error)
                refusals.append(error)
        if refusals:
            raise refusals[0]
        return None

    def _restore(self, folder: Path, device: torch.device) -> tuple[Progress, Window]:
        checkpoint = load_checkpoint(folder, device)
        state = checkpoint.state
        try:
            progress, window = Progress(**state["progress"]), Window()
            window.restore(state["window"])
            rate, conditions = dict(state["learning_rate"]), dict(state["conditions"])
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"state.json in {folder} is not that of a training ({error}); it was altered, or "
                "saved by another version of seq2seq."
            ) from None
        load_optimizer(folder, self.optimizer)
        self.model.load_state_dict(checkpoint.model.state_dict())
        self.rate.restore(rate)
        restore_rng(checkpoint.rng)
        self._compare(conditions)
        return progress, window

    def _compare(self, earlier: dict[str, Any]) -> None:
        """Say what is no longer as it was: the run goes on, but not bit by bit as it would have."""
        changed = [
            f"{name} was {earlier.get(name)} and is now {now}"
            for name, now in self.conditions.items()
            if earlier.get(name) != now
        ]
        if changed:
            log.warning("This run goes on under other conditions: %s.", "; ".join(changed))
