"""The training loop: updates, validations, checkpoints, and the rule by which it all ends."""

import logging
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from seq2seq.allocator import freed_memory_kept
from seq2seq.checkpoint import (
    capture_rng,
    load_checkpoint,
    load_optimizer,
    restore_rng,
    save_checkpoint,
)
from seq2seq.config import ExperimentConfig
from seq2seq.data.batching import BatchPlan, collate
from seq2seq.data.dataset import PreparedData
from seq2seq.device import choose_device, choose_precision
from seq2seq.errors import UserError
from seq2seq.model.kernels import choose_kernels
from seq2seq.model.translation import TranslationModel
from seq2seq.record import environment_record
from seq2seq.training.metrics import Metrics, Window
from seq2seq.training.optimization import LearningRate, build_optimizer
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.updater import Updater
from seq2seq.training.validation import Validator

log = logging.getLogger(__name__)


@dataclass
class Progress:
    """Where training stands; all of it is in every checkpoint."""

    update: int = 0
    """Updates made."""
    epoch: int = 0
    """Epochs completed."""
    position: int = 0
    """Updates made in the epoch under way."""
    best_measure: float = -math.inf
    """Best dev measure so far, higher is better."""
    best_update: int = 0
    """The update that reached it."""
    validated_update: int = 0
    """The update of the latest validation."""
    stale: int = 0
    """Validations since the best."""
    seconds: float = 0.0
    """Wall time spent training, validations included, over all sittings."""
    target_tokens: int = 0
    """Target tokens trained on, ends of sentence included."""


class Trainer:
    """Trains one system and leaves a run folder behind; continues one that was cut short."""

    def __init__(self, config: ExperimentConfig, data: PreparedData) -> None:
        self.config = config
        self.data = data
        self.folder = RunFolder(config)
        self.device = choose_device(config.training.device)
        self.precision = choose_precision(config.training.precision, self.device)
        torch.manual_seed(config.seed)
        self.model = TranslationModel(
            config.model, len(data.source.vocabulary), len(data.target.vocabulary)
        ).to(self.device)
        self.optimizer = build_optimizer(self.model, config.training.optimizer)
        self.updater = Updater(
            self.model, self.optimizer, config.training, self.device, self.precision
        )
        self.rate = LearningRate(self.optimizer, config.training.optimizer)
        self.plan = BatchPlan(
            data.train, config.training.batch_size, config.training.batch_unit, config.seed
        )
        self.validator = Validator(
            self.model, data, config.training, config.evaluation.edges, self.device, self.precision
        )
        self.progress = Progress()
        self._epoch_length = len(self._groups(0))

    def run(self) -> RunFolder:
        """Train until max_epochs, max_updates or patience; return the finished run folder.

        Raises:
            UserError: the folder holds a run of another config, the loss exploded, or a
                checkpoint cannot be read or written.
        """
        self.folder.claim()
        if self.folder.finished:
            log.info("%s is already trained; nothing to do.", self.folder.path)
            return self.folder
        self.metrics = Metrics(self.folder.path, self.config.training.tensorboard)
        self.environment = environment_record(self.device)  # of the code that runs, not of later
        self._continue()
        self._write_record("running")
        self._log_start()
        self._clock = time.monotonic() - self.progress.seconds
        with logging_redirect_tqdm(), self._bar() as bar, freed_memory_kept():
            while not (reason := self._end()):
                self._epoch(bar)
        if self.progress.validated_update < self.progress.update:  # cut off by max_updates
            self._validate()
        self._write_record("finished", reason)
        self.metrics.close()
        log.info(
            "Training ended after %d updates (%s); best checkpoint of update %d: %s",
            self.progress.update,
            reason,
            self.progress.best_update,
            self.folder.best,
        )
        return self.folder

    # -- one epoch, one update -------------------------------------------------------------------

    def _epoch(self, bar: tqdm) -> None:
        """Make the updates that remain of the epoch under way."""
        training, progress = self.config.training, self.progress
        groups = self._groups(progress.epoch)
        window = Window()
        while progress.position < len(groups) and not self._end():
            rate = self.rate.apply(progress.update + 1)
            clock = time.monotonic()
            batches = [collate(self.data.train, pairs) for pairs in groups[progress.position]]
            window.wait(time.monotonic() - clock)
            window.add(*self.updater.update(batches))
            progress.update += 1
            progress.position += 1
            progress.target_tokens += window.last_tokens
            bar.update()
            epoch_ends = progress.position == len(groups)
            if progress.update % training.log_every == 0 or epoch_ends:
                self._log_updates(window, rate, bar)
                window = Window()
            if epoch_ends:
                progress.epoch += 1
                progress.position = 0
            every = training.validate_every
            if (progress.update % every == 0) if every else epoch_ends:
                self._validate()
                window = Window()
            if epoch_ends:
                return

    def _groups(self, epoch: int) -> list[list[np.ndarray]]:
        """The epoch's batches, as many together as make one update."""
        batches = self.plan.epoch(epoch)
        size = self.config.training.accumulate
        return [batches[start : start + size] for start in range(0, len(batches), size)]

    # -- validation, checkpoints, the end ----------------------------------------------------------

    def _validate(self) -> None:
        """Measure the dev set, keep the best checkpoint, save the newest."""
        progress = self.progress
        validation = self.validator.run()
        self._require_finite("dev loss", validation.loss)
        progress.validated_update = progress.update
        measure = validation.measure(self.config.training.measure)
        improved = measure > progress.best_measure
        self.rate.after_validation(improved)
        if improved:
            progress.best_measure, progress.best_update = measure, progress.update
            progress.stale = 0
        else:
            progress.stale += 1
        progress.seconds = time.monotonic() - self._clock
        entry = {"kind": "validation", "update": progress.update, "epoch": self._epochs()}
        self.metrics.add({**entry, **validation.entry(), "seconds": progress.seconds})
        log.info(
            "update %d, epoch %.2f: dev loss %.4f, perplexity %.2f%s%s",
            progress.update,
            self._epochs(),
            validation.loss,
            validation.perplexity,
            validation.describe_bleu(),
            " (best)" if improved else "",
        )
        if improved:
            self._save(self.folder.best)
        self._save(self.folder.checkpoint(progress.update))
        self.folder.prune(self.config.training.keep)
        self._write_record("running")

    def _save(self, directory: Path) -> None:
        state = {
            "progress": asdict(self.progress),
            "learning_rate": self.rate.state(),
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

    def _continue(self) -> None:
        """Go on from the newest whole checkpoint of this run, when there is one.

        Raises:
            UserError: there are checkpoints, but none is whole; the sentence is of the newest.
        """
        refusals = []
        for folder in self.folder.newest():
            try:
                self._restore(folder)
            except UserError as error:
                log.warning("%s Trying the checkpoint before it.", error)
                refusals.append(error)
            else:
                log.info("Continuing %s from update %d.", self.folder.path, self.progress.update)
                return
        if refusals:
            raise refusals[0]
        self.metrics.rewind(0)

    def _restore(self, folder: Path) -> None:
        checkpoint = load_checkpoint(folder, self.device)
        load_optimizer(folder, self.optimizer)
        self.model.load_state_dict(checkpoint.model.state_dict())
        self.progress = Progress(**checkpoint.state["progress"])
        self.rate.restore(checkpoint.state["learning_rate"])
        restore_rng(checkpoint.rng)
        self.metrics.rewind(self.progress.update)

    def _end(self) -> str | None:
        """Why training is over; None while it is not."""
        training, progress = self.config.training, self.progress
        if progress.stale >= training.patience:
            return f"no better dev {training.measure} in {progress.stale} validations"
        if progress.epoch >= training.max_epochs:
            return f"max_epochs={training.max_epochs}"
        if training.max_updates is not None and progress.update >= training.max_updates:
            return f"max_updates={training.max_updates}"
        return None

    def _require_finite(self, what: str, value: float) -> None:
        """End a training that has exploded before its weights reach a checkpoint."""
        if not math.isfinite(value):
            raise UserError(
                f"The {what} became {value} by update {self.progress.update}; train again under "
                "another name= with a lower training.optimizer.learning_rate or more "
                "training.optimizer.warmup_updates."
            )

    # -- words and records -------------------------------------------------------------------------

    def _epochs(self) -> float:
        """Epochs completed, with the fraction of the one under way."""
        return round(self.progress.epoch + self.progress.position / self._epoch_length, 3)

    def _bar(self) -> tqdm:
        total = self.config.training.max_epochs * self._epoch_length
        if self.config.training.max_updates is not None:
            total = min(total, self.config.training.max_updates)
        return tqdm(
            total=total,
            initial=self.progress.update,
            unit="update",
            desc=f"{self.config.system} seed {self.config.seed}",
            disable=None,  # none when the output is not a terminal: the log has plain lines
            dynamic_ncols=True,
        )

    def _log_updates(self, window: Window, rate: float, bar: tqdm) -> None:
        entry = window.entry()
        self._require_finite("loss", entry["loss"])
        self._require_finite("gradient norm", entry["gradient_norm"])
        where = {"kind": "train", "update": self.progress.update, "epoch": self._epochs()}
        self.metrics.add({**where, **entry, "learning_rate": rate})
        bar.set_postfix(loss=f"{entry['loss']:.3f}", tokens_s=f"{entry['tokens_per_second']:.0f}")
        if bar.disable:
            log.info(
                "update %d of at most %d: loss %.4f, %.0f target tokens/s",
                self.progress.update,
                bar.total,
                entry["loss"],
                entry["tokens_per_second"],
            )

    def _log_start(self) -> None:
        counts = self.model.parameter_counts()
        log.info(
            "%s: %s parameters (%s)",
            self.config.system,
            f"{counts['total']:,}",
            ", ".join(f"{part} {n:,}" for part, n in counts.items() if part != "total"),
        )
        log.info(
            "%s training pairs, %d updates an epoch, %s on %s, into %s",
            f"{len(self.data.train):,}",
            self._epoch_length,
            str(self.precision).removeprefix("torch."),
            self.device,
            self.folder.path,
        )

    def _write_record(self, status: str, reason: str | None = None) -> None:
        record: dict[str, Any] = {
            "status": status,
            "reason": reason,
            "experiment": self.config.name,
            "system": self.config.system,
            "seed": self.config.seed,
            "parameters": self.model.parameter_counts(),
            "precision": str(self.precision).removeprefix("torch."),
            "kernels": choose_kernels(self.device, torch.float32, self.precision).name,
            "training_pairs": len(self.data.train),
            "skipped_pairs": self.data.skipped,
            "data_sha256": self.data.hashes,
            "progress": asdict(self.progress),
            **self.environment,
        }
        if record["progress"]["best_update"] == 0:
            record["progress"]["best_measure"] = None  # minus infinity is not JSON
        self.folder.write_record(record)
