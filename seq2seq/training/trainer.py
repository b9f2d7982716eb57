"""The training loop: updates, validations, checkpoints, and the rule by which it all ends."""

import contextlib
import logging
import math
import sys
import time
from dataclasses import asdict
from typing import Any, NoReturn

import numpy as np
import torch
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from seq2seq.allocator import freed_memory_kept
from seq2seq.config import ExperimentConfig, to_json
from seq2seq.data.batching import Batch, BatchPlan, blank_batch, collate
from seq2seq.data.dataset import PreparedData
from seq2seq.device import choose_device, choose_precision, deterministic
from seq2seq.model.fast.operations import choose_operations
from seq2seq.model.translation import TranslationModel
from seq2seq.record import earlier_commits, environment_record
from seq2seq.training.distributed import ALONE, Ranks
from seq2seq.training.interruption import Interrupted, Interruption
from seq2seq.training.metrics import Metrics
from seq2seq.training.optimization import LearningRate, build_optimizer
from seq2seq.training.progress import Progress
from seq2seq.training.run_folder import RunFolder, identity
from seq2seq.training.saves import Saves
from seq2seq.training.skipped import Skipped
from seq2seq.training.threads import Threads
from seq2seq.training.updater import Updater
from seq2seq.training.validation import Validator
from seq2seq.training.window import Window

log = logging.getLogger(__name__)


class Trainer:
    """Trains one system and leaves a run folder behind; continues one that was cut short.

    Several processes make the same updates together, and only the first of them writes.
    """

    def __init__(self, config: ExperimentConfig, data: PreparedData, ranks: Ranks = ALONE) -> None:
        ranks.require_alike({**identity(to_json(config)), **data.hashes})
        self.config = config
        self.data = data
        self.ranks = ranks
        self.folder = RunFolder(config)
        self.device = choose_device(config.training.device)
        self.precision = choose_precision(config.training.precision, self.device)
        torch.manual_seed(config.seed)
        self.model = TranslationModel(
            config.model, len(data.source.vocabulary), len(data.target.vocabulary)
        ).to(self.device)
        self.optimizer = build_optimizer(self.model, config.training.optimizer)
        self.updater = Updater(
            self.model, self.optimizer, config.training, self.device, self.precision, ranks
        )
        self.plan = BatchPlan(
            data.train, config.training.batch_size, config.training.batch_unit, config.seed
        )
        self._epoch_length = len(self._groups(0))
        limit = config.training.max_updates or sys.maxsize
        self._most_updates = min(config.training.max_epochs * self._epoch_length, limit)
        self.rate = LearningRate(self.optimizer, config.training.optimizer, self._most_updates)
        edges = config.evaluation.length_buckets
        self.validator = Validator(
            self.model, data, config.training, edges, self.device, self.precision, ranks
        )
        conditions = self._conditions()
        self.saves = Saves(
            self.folder, config, data, self.model, self.optimizer, self.rate, conditions, ranks
        )
        self.progress = Progress()
        self.window = Window()
        ranks.seed(config.seed)

    def run(self) -> RunFolder:
        """Train until max_epochs, max_updates or patience; return the finished run folder.

        Raises:
            UserError: the folder holds a run of another config, or another process trains it; the
                numbers are no longer finite, or a checkpoint cannot be read or written.
            Interrupted: a signal asked to stop; everything is saved.
        """
        if self.ranks.first:
            self.folder.claim()
            self.folder.require_text(self.data.hashes)
        (finished,) = self.ranks.highest(self.ranks.first and self.folder.finished)
        if finished:
            log.info("%s is already trained; nothing to do.", self.folder.path)
            return self.folder
        exact = deterministic(self.config.training.deterministic)
        locked = self.folder.locked() if self.ranks.first else contextlib.nullcontext()
        with locked, Interruption() as interruption, exact:
            self._train(interruption)
        return self.folder

    def _train(self, interruption: Interruption) -> None:
        writes = self.ranks.first
        self.metrics = Metrics(self.folder.path, self.config.training.tensorboard, writes)
        self.skipped = Skipped(self.folder.path / "skipped.jsonl", writes)
        self.environment = environment_record(self.device)  # of the code that runs, not of later
        self._continue()
        before = self.folder.record() if self.progress.update else {}
        self.environment["earlier_commits"] = earlier_commits(before, self.environment)
        self._write_record("running")
        self._log_start()
        training = self.config.training
        fixed = not training.adapt_threads or training.deterministic or self.ranks.size > 1
        self._threads = Threads(fixed)
        self._clock = time.monotonic() - self.progress.seconds
        self._saved = time.monotonic()
        with logging_redirect_tqdm(), self._bar() as bar, freed_memory_kept():
            while not (reason := self._end()):
                self._epoch(bar, interruption)
        if self.progress.validated_update < self.progress.update:  # the end is measured, too
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
        (number,) = self.ranks.highest(interruption.heard or 0)
        if number:  # it came too late to stop this training, but what follows should not begin
            raise Interrupted(number, f"Stopped; {self.folder.path} is trained to its end.")

    # -- one epoch, one update -------------------------------------------------------------------

    def _epoch(self, bar: tqdm, interruption: Interruption) -> None:
        """Make the updates that remain of the epoch under way."""
        training, progress = self.config.training, self.progress
        groups = self._groups(progress.epoch)
        while progress.position < len(groups) and not self._end():
            rate = self.rate.apply(progress.update + 1)
            self._update(groups[progress.position])
            bar.update()
            epoch_ends = progress.position == len(groups)
            every = training.validate_every
            validates = progress.update % every == 0 if every else epoch_ends
            logs = progress.update % training.log_every == 0
            if logs or validates or epoch_ends or self._end():
                self._log_updates(rate, bar)
            if epoch_ends:
                progress.epoch += 1
                progress.position = 0
            if validates:
                self._validate()
            number, due = self.ranks.highest(
                interruption.heard or 0,
                time.monotonic() - self._saved > 60 * training.save_minutes,
            )
            if number:
                self._stop(number)
            if due:
                self._save_interim()
            if epoch_ends:
                return

    def _update(self, group: list[np.ndarray]) -> None:
        """Make one update from these batches of pairs."""
        clock = time.monotonic()
        batches = [self._share(pairs) for pairs in group]
        together = np.concatenate(group)
        tokens = int((self.data.train.target_lengths[together] + 1).sum())
        self.window.wait(time.monotonic() - clock)
        update = self.updater.update(batches, tokens, len(together))
        self.progress.update += 1
        self.progress.position += 1
        self.progress.target_tokens += update.tokens
        self.window.add(self.progress.update, update, together)

    def _share(self, pairs: np.ndarray) -> Batch:
        """This process's part of a batch."""
        mine = pairs[self.ranks.share]
        return collate(self.data.train, mine) if len(mine) else blank_batch()

    def _groups(self, epoch: int) -> list[list[np.ndarray]]:
        """The epoch's batches, as many together as make one update."""
        batches = self.plan.epoch(epoch)
        size = self.config.training.gradient_accumulation
        return [batches[start : start + size] for start in range(0, len(batches), size)]

    # -- validation, checkpoints, the end ----------------------------------------------------------

    def _validate(self) -> None:
        """Measure the dev set, keep the best checkpoint, save the newest."""
        progress = self.progress
        validation = self.validator.run()
        validation.require_finite(progress.update)
        progress.validated_update = progress.update
        measure = validation.measure(self.config.training.early_stopping_metric)
        improved = progress.best_measure is None or measure > progress.best_measure
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
            validation.perplexity or math.inf,
            validation.describe_bleu(),
            " (best)" if improved else "",
        )
        if improved:
            self.saves.save_best(progress)
        self.saves.save_validated(progress)
        self._saved = time.monotonic()
        self._write_record("running")
        self.window = Window()  # validating is no part of the time that the next updates take

    def _save_interim(self) -> None:
        self._settle()
        self.progress.seconds = time.monotonic() - self._clock
        self.saves.save_interim(self.progress, self.window)
        self._saved = time.monotonic()

    def _stop(self, number: int) -> NoReturn:
        """End this sitting as a signal asked for."""
        if self.progress.validated_update < self.progress.update:
            self._save_interim()
        self._write_record("interrupted")
        self.metrics.close()
        self.ranks.highest(0)  # none ends before the first has written: torchrun would end that too
        raise Interrupted(
            number,
            f"Stopped after update {self.progress.update}, which is saved in {self.folder.path}.",
        )

    def _continue(self) -> None:
        """Go on from the newest checkpoint of this run, when there is one."""
        if (restored := self.saves.restore(self.device)) is not None:
            self.progress, self.window = restored
            log.info("Continuing %s from update %d.", self.folder.path, self.progress.update)
        self.ranks.require_alike({"the newest checkpoint's update": self.progress.update})
        self.metrics.rewind(self.progress.update, self.progress.validated_update)
        self.skipped.rewind(self.progress.update)

    def _end(self) -> str | None:
        """Why training is over; None while it is not."""
        training, progress = self.config.training, self.progress
        if progress.stale >= training.patience:
            return f"no better dev {training.early_stopping_metric} in {progress.stale} validations"
        if progress.epoch >= training.max_epochs:
            return f"max_epochs={training.max_epochs}"
        if training.max_updates is not None and progress.update >= training.max_updates:
            return f"max_updates={training.max_updates}"
        return None

    def _settle(self) -> None:
        """Count the updates that were skipped, and name their lines; end where there are many."""
        if failures := self.window.settle():
            self.progress.skipped += len(failures)
            self.skipped.list(failures, self.data.train.line_numbers)
            self.skipped.require_few(
                self.progress.skipped, self.config.training.max_nonfinite_updates
            )

    # -- words and records -------------------------------------------------------------------------

    def _epochs(self) -> float:
        """Epochs completed, with the fraction of the one under way."""
        return round(self.progress.epoch + self.progress.position / self._epoch_length, 3)

    def _bar(self) -> tqdm:
        return tqdm(
            total=self._most_updates,
            initial=self.progress.update,
            unit="update",
            desc=f"{self.config.system} seed {self.config.seed}",
            # None: no bar when the output is not a terminal; the log has plain lines then.
            disable=None if self.ranks.first else True,
            dynamic_ncols=True,
        )

    def _log_updates(self, rate: float, bar: tqdm) -> None:
        self._threads.adapt()
        self._settle()
        entry = self.window.entry()
        self.window = Window()
        where = {"kind": "train", "update": self.progress.update, "epoch": self._epochs()}
        self.metrics.add({**where, **entry, "learning_rate": rate})
        loss = "none" if entry["loss"] is None else f"{entry['loss']:.4f}"
        speed = f"{entry['tokens_per_second']:,.0f}"
        bar.set_postfix(loss=loss, tokens_s=speed)
        if bar.disable:
            log.info(
                "update %d of at most %d: loss %s, %s target tokens/s",
                self.progress.update,
                bar.total,
                loss,
                speed,
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

    def _conditions(self) -> dict[str, str]:
        """What the numbers depend on, besides the config and the data."""
        return {
            "device": self.device.type,
            "precision": str(self.precision).removeprefix("torch."),
            "kernels": choose_operations(self.device, torch.float32, self.precision).name,
            "threads": str(torch.get_num_threads()),
            "processes": str(self.ranks.size),
            "torch": torch.__version__,
        }

    def _write_record(self, status: str, reason: str | None = None) -> None:
        if not self.ranks.first:
            return
        record: dict[str, Any] = {
            "status": status,
            "reason": reason,
            "experiment": self.config.name,
            "system": self.config.system,
            "seed": self.config.seed,
            "parameters": self.model.parameter_counts(),
            "precision": self.saves.conditions["precision"],
            "kernels": self.saves.conditions["kernels"],
            "processes": self.ranks.size,
            "training_pairs": len(self.data.train),
            "skipped_pairs": self.data.skipped,
            "data_sha256": self.data.hashes,
            "progress": asdict(self.progress),
            **self.environment,
        }
        self.folder.write_record(record)
