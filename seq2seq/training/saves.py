"""The checkpoints of one training: written, kept in number, and gone on from."""

import logging
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seq2seq.checkpoint import (
    Checkpoint,
    capture_rng,
    load_checkpoint,
    load_optimizer,
    restore_rng,
    save_checkpoint,
)
from seq2seq.config import ExperimentConfig, from_json
from seq2seq.data.dataset import PreparedData
from seq2seq.data.parallel_text import SIDES
from seq2seq.errors import UserError
from seq2seq.model.translation import TranslationModel
from seq2seq.sealed_folder import is_sealed, remove
from seq2seq.training.distributed import ALONE, Ranks
from seq2seq.training.optimization import LearningRate
from seq2seq.training.progress import Progress
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.window import Window

log = logging.getLogger(__name__)


class OtherPiecesError(UserError):
    """A checkpoint's vocabularies are not those of the text: nor are those of the one before it."""


class Saves:
    """Writes all that a training consists of, and brings it back as it was.

    Of several processes, which hold the same but for their random generators, the first writes.
    """

    def __init__(
        self,
        folder: RunFolder,
        config: ExperimentConfig,
        data: PreparedData,
        model: TranslationModel,
        optimizer: torch.optim.Optimizer,
        rate: LearningRate,
        conditions: dict[str, str],
        ranks: Ranks = ALONE,
    ) -> None:
        """Save this model, optimizer and schedule; ``conditions`` say what computes them."""
        self.folder = folder
        self.config = config
        self.data = data
        self.model = model
        self.optimizer = optimizer
        self.rate = rate
        self.conditions = conditions
        self.ranks = ranks

    def save_best(self, progress: Progress) -> None:
        """Keep the model as the best one."""
        self._write(self.folder.best, progress, Window())

    def save_validated(self, progress: Progress) -> None:
        """Keep the state after a validation, and as many earlier ones as the config says."""
        self._write(self.folder.checkpoint(progress.update), progress, Window())
        self._prune()

    def save_interim(self, progress: Progress, window: Window) -> None:
        """Keep the state between two validations, in the place of the last such state."""
        self._write(self.folder.interim(progress.update), progress, window)
        self._prune()

    def _prune(self) -> None:
        if self.ranks.first:
            self.folder.prune(self.config.training.keep_last)

    def _write(self, directory: Path, progress: Progress, window: Window) -> None:
        generators = {
            _of_rank(rank, name): state
            for rank, states in enumerate(self.ranks.gather(capture_rng()))
            for name, state in states.items()
        }
        if not self.ranks.first:
            return
        state = {
            "progress": asdict(progress),
            "learning_rate": self.rate.state(),
            "window": window.state(),
            "conditions": self.conditions,
        }
        if not is_sealed(directory):  # lost its manifest; anywhere else it would not be replaced
            remove(directory)
        save_checkpoint(
            directory,
            self.model,
            self.config,
            self.data.source,
            self.data.target,
            self.optimizer.state_dict(),
            state,
            generators,
        )
        self.folder.refused.discard(directory)  # another one stands there now

    def restore(self, device: torch.device) -> tuple[Progress, Window] | None:
        """Go on from the newest whole checkpoint of the run; None where there are none.

        Raises:
            UserError: there are checkpoints, but none is whole (the sentence is of the newest), or
                they are of another vocabulary.
        """
        refusals = []
        for folder in self.folder.newest():
            try:
                return self._restore(folder, device)
            except OtherPiecesError:
                raise
            except UserError as error:
                log.warning("%s Trying the checkpoint before it.", error)
                self.folder.refused.add(folder)
                refusals.append(error)
        if refusals:
            raise refusals[0]
        return None

    def _restore(self, folder: Path, device: torch.device) -> tuple[Progress, Window]:
        checkpoint = load_checkpoint(folder, device)
        self._require_codecs(checkpoint)
        state = checkpoint.state
        try:
            where = str(folder / "state.json")
            progress, window = from_json(Progress, state["progress"], where), Window()
            window.restore(state["window"])
            self.rate.restore(state["learning_rate"])
            conditions = dict(state["conditions"])
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise UserError(
                f"state.json in {folder} is not that of a training ({error}); it was altered, or "
                "saved by another version of seq2seq."
            ) from None
        load_optimizer(folder, self.optimizer)
        self.model.load_state_dict(checkpoint.model.state_dict())
        restore_rng(_own(checkpoint.rng, self.ranks.rank))
        self._compare(conditions)
        return progress, window

    def _require_codecs(self, checkpoint: Checkpoint) -> None:
        """Refuse weights that were trained on other ids than those that the text has now.

        Equal text may be cut otherwise when it is prepared anew, by other versions.
        """
        for side in SIDES:
            if not getattr(checkpoint, side).encodes_like(getattr(self.data, side)):
                raise OtherPiecesError(
                    f"{checkpoint.directory} was trained on {side} text cut into other pieces "
                    f"than those in {self.data.directory}; delete that folder and prepare the text "
                    f"with the code and packages named in {self.folder.path / 'run.json'}, or "
                    "choose another name=, seed= or output=."
                )

    def _compare(self, earlier: dict[str, Any]) -> None:
        """Say what is no longer as it was: the run goes on, but not bit by bit as it would have."""
        earlier = {"processes": "1", **earlier}  # which a checkpoint did not always say
        changed = [
            f"{name} was {earlier.get(name)} and is now {now}"
            for name, now in self.conditions.items()
            if earlier.get(name) != now
        ]
        if changed:
            log.warning("This run goes on under other conditions: %s.", "; ".join(changed))


def _of_rank(rank: int, name: str) -> str:
    """What a checkpoint calls a generator of a process; the first one's keep their names."""
    return f"rank-{rank}.{name}" if rank else name


def _own(states: Mapping[str, Tensor], rank: int) -> dict[str, Tensor]:
    """The generators of one process, under their own names; none where it is a new one."""
    if rank == 0:
        return {name: state for name, state in states.items() if not name.startswith("rank-")}
    start = _of_rank(rank, "")
    return {name.removeprefix(start): s for name, s in states.items() if name.startswith(start)}
