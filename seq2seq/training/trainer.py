"""The training loop: updates, validations, checkpoints, early stopping."""

import contextlib
import logging
import math
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

import numpy as np
import torch
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from seq2seq.checkpoint import TrainingState
from seq2seq.config import TrainConfig
from seq2seq.data.batching import BatchPlan, collate
from seq2seq.data.preparation import PreparedData, advise, left_out, prepare
from seq2seq.data.splits import LEARNED, save_learned
from seq2seq.device import (
    choose_device,
    choose_precision,
    deterministic,
    keep_freed_memory,
    return_free_memory,
)
from seq2seq.distributed import SINGLE, ProcessGroup, process_group
from seq2seq.errors import UserError
from seq2seq.interruption import Interrupted, Interruption
from seq2seq.model.fast import describe
from seq2seq.model.fast.operations import choose_operations
from seq2seq.model.translation import TranslationModel
from seq2seq.record import Progress, TrainingRecord, earlier_commits, environment_record
from seq2seq.training.checkpoint_manager import CheckpointManager, codec_folder, load_parent
from seq2seq.training.graphs import Gradients
from seq2seq.training.metrics import IntervalMetrics, JsonlLog, Update
from seq2seq.training.optimization import LearningRate, WeightAverage, build_optimizer, clipped_step
from seq2seq.training.run_folder import RunFolder, identity, reason_to_end
from seq2seq.training.tracking import start_tracker
from seq2seq.training.validation import Validator

log = logging.getLogger(__name__)

MOST_NONFINITE = 10
"""Maximum number of updates that are skipped because their loss or gradient is not finite."""
RETURN_SECONDS = 60
"""Seconds from one return of free memory to the next; fresh memory costs time, under 1 % of it."""
ADVICE = "train again under another name= with a lower training.optimizer.learning_rate."


def train_run(config: TrainConfig) -> RunFolder:
    """Train one system into its run folder; an interrupted training continues where it stopped."""
    choose_device(config.training.device)  # refuse a missing device before any work
    with process_group(config.training.device) as group:
        data = prepare(config.corpus, config.tokenization, Path(config.data), codec_folder(config))
        return Trainer(config, data, group).run()


class Trainer:
    """Trains one system into a run folder; resumes an interrupted training.

    Several processes make each update together; only the first process writes files.
    """

    def __init__(
        self, config: TrainConfig, data: PreparedData, group: ProcessGroup = SINGLE
    ) -> None:
        group.require_equal({**identity(asdict(config)), **data.hashes})
        training = config.training
        self.config, self.data, self.group = config, data, group
        self.folder = RunFolder(config)
        self.device = choose_device(training.device)
        self.precision = choose_precision(training.precision, self.device)
        torch.manual_seed(config.seed)
        self.model = TranslationModel(
            config.model, len(data.source.vocabulary), len(data.target.vocabulary)
        ).to(self.device)
        self.gradients = Gradients(
            self.model, self.device, self.precision, training.label_smoothing
        )
        self.optimizer = build_optimizer(self.model, training.optimizer)
        self.plan = BatchPlan(data.train, training.batch_size, config.seed)
        self._epoch_length = len(self._updates(0))
        self._most_updates = min(
            training.max_epochs * self._epoch_length, training.max_updates or sys.maxsize
        )
        self.learning_rate = LearningRate(self.optimizer, training.optimizer, self._most_updates)
        self.validator = Validator(
            self.model, data, training, config.evaluation, self.device, self.precision, group
        )
        self.average = WeightAverage(self.model, training.optimizer.schedule == "average")
        self.checkpoints = CheckpointManager(
            self.folder, data, self.model, self.optimizer, self.average, group
        )
        self.progress = Progress()
        self.interval = IntervalMetrics()
        self.metrics = JsonlLog(self.folder.path / "metrics.jsonl", group.is_first)
        self.nonfinite = JsonlLog(self.folder.path / "nonfinite.jsonl", group.is_first)
        self.interruption = Interruption()
        self.conditions = {
            "device": self.device.type,
            "precision": str(self.precision).removeprefix("torch."),
            "kernels": choose_operations(self.device, self.precision).name,
            "threads": str(torch.get_num_threads()),
            "processes": str(group.size),
            "torch": torch.__version__,
        }
        self.record = TrainingRecord(
            experiment=config.name,
            system=config.system,
            seed=config.seed,
            parameters=self.model.parameter_counts(),
            precision=self.conditions["precision"],
            kernels=self.conditions["kernels"],
            processes=group.size,
            training_pairs=len(data.train),
            skipped_pairs=data.skipped,
            data_sha256=data.hashes,
            progress=self.progress,
            **environment_record(self.device),
        )
        group.seed(config.seed)

    def run(self) -> RunFolder:
        """Train until max_epochs, max_updates or patience; return the finished run folder.

        A signal raises Interrupted when everything is saved.
        """
        if self.group.is_first:
            self.folder.claim()
            self.folder.require_text(self.data.hashes)
        (finished,) = self.group.maximum(self.group.is_first and self.folder.finished)
        if finished:
            why = reason_to_end(self.config.training, self.folder.record().progress)
            log.info("%s is already trained (%s).", self.folder.path, why)
            return self.folder
        lock = self.folder.lock() if self.group.is_first else contextlib.nullcontext()
        exact = deterministic(self.config.training.deterministic)
        with lock, self.interruption, exact, contextlib.closing(self.metrics):
            self._train()
        return self.folder

    def _train(self) -> None:
        keep_freed_memory()
        self._resume()
        self._write_record("running")
        if self.group.is_first:
            self.folder.write_config()
            self.folder.restore_best()
            if not (learned := self.folder.path / LEARNED).exists():
                save_learned(learned, self.data.learned)
        log.info(
            f"{self.config.system}: {self.record.parameters['total']:,} parameters, "
            f"{len(self.data.train):,} training pairs (left out: {left_out(self.data, 'train')}), "
            f"{len(self.data.valid):,} validation pairs (left out: "
            f"{left_out(self.data, 'valid')}), {self._epoch_length} updates an epoch, "
            f"{self.record.precision} on {self.device}, into {self.folder.path}"
        )
        log.info(describe(self.model.decoder, self.device, self.precision))
        advise(self.config, self.data)
        self._saved = self._returned = time.monotonic()
        self._started = self._saved - self.progress.seconds  # with the time before a resume
        bar = tqdm(
            total=self._most_updates,
            initial=self.progress.update,
            desc=f"training {self.config.system}, seed {self.config.seed}",
            bar_format="{desc} {percentage:.0f}% {bar} {elapsed}<{remaining}{postfix}",
            # None: no bar if the output is not a terminal; then the log has plain lines.
            disable=None if self.group.is_first else True,
            dynamic_ncols=True,
        )
        with logging_redirect_tqdm(), bar:
            while not (reason := reason_to_end(self.config.training, self.progress)):
                self._train_epoch(bar)
            if self.progress.validated_update < self.progress.update:
                self._save_interim()  # a longer training continues from here
                if self.interval.state.updates:
                    self._log_updates(bar)
                self._validate(last=True)
        if reason.startswith("max_") and self.progress.best_update >= 0.9 * self.progress.update:
            reason += ", best near the end"  # a larger limit would help
        self._write_record("finished", reason)
        log.info(
            f"Training ended after {self.progress.update} updates ({reason}); best checkpoint "
            f"(update {self.progress.best_update}): {self.folder.best}"
        )
        (number,) = self.group.maximum(self.interruption.received or 0)
        if number:  # too late to stop this training, but the next stage must not begin
            raise Interrupted(number, f"The training into {self.folder.path} had just finished.")

    def _resume(self) -> None:
        """Restore the newest checkpoint of this run; without one, start from training.init_from."""
        if (state := self.checkpoints.restore()) is not None:
            self.progress = self.record.progress = state.progress
            self.interval.state = state.metrics
            before = self.folder.record()
            self.record.earlier_commits = earlier_commits(before, self.record.git_commit)
            self.record.parent = before.parent
            log.info("Resuming %s from update %d.", self.folder.path, self.progress.update)
            was, now = state.conditions, self.conditions
            if changed := [f"{k} {now[k]} (was {was.get(k)})" for k in now if was.get(k) != now[k]]:
                what = ", ".join(changed)
                log.warning("Resuming with %s: results may not be bit-identical.", what)
        elif self.config.training.init_from is not None:
            parent = load_parent(self.config)
            self.checkpoints.load_weights(parent)
            self.record.parent = {"path": str(parent.directory), "sha256": parent.sha256}
            log.info("Starting from the weights of %s.", parent.directory)
        progress, unlogged = self.progress, self.interval.state.updates
        self.group.require_equal(
            {"the newest checkpoint's update": progress.update, "init_from": self.record.parent}
        )
        self.metrics.rewind(progress.update - unlogged, progress.validated_update)
        self.nonfinite.rewind(progress.update, progress.validated_update)
        if self.group.is_first and self.config.training.logger != "none":
            self.metrics.tracker = start_tracker(self.folder, progress.update)

    # -- one epoch, one update -------------------------------------------------------------------

    def _train_epoch(self, bar: tqdm) -> None:
        """Make the epoch's remaining updates; log, validate and save when due; stop at a limit."""
        training, progress = self.config.training, self.progress
        updates = self._updates(progress.epoch)
        for batches in updates[progress.position :]:
            self.learning_rate.apply(progress.update + 1)
            self._update(batches)
            bar.update()
            epoch_ends = progress.position == len(updates)
            every = training.validate_every
            validates = progress.update % every == 0 if every else epoch_ends
            if progress.update % training.log_every == 0 or validates or epoch_ends:
                self._log_updates(bar)
            if epoch_ends:
                progress.epoch, progress.position = progress.epoch + 1, 0
                if progress.epoch in training.keep_epochs:
                    self._save(self.folder.epoch(progress.epoch))
            if validates:
                self._validate()
            number, due = self.group.maximum(
                self.interruption.received or 0,
                time.monotonic() - self._saved > 60 * training.save_minutes,
            )
            if number:
                self._stop(number)
            if due:
                self._save_interim()
            if reason_to_end(training, progress):
                return

    def _update(self, batches: list[np.ndarray]) -> None:
        """Make one update from these batches of pairs; this process computes its share."""
        training, pairs, clock = self.config.training, np.concatenate(batches), time.monotonic()
        shares = [batch[self.group.share] for batch in batches]
        mine = [collate(self.data.train, share) for share in shares if len(share)]
        tokens = int((self.data.train.target_lengths[pairs] + 1).sum())
        self.interval.waited += time.monotonic() - clock
        # The loss is a mean over the batches of all processes, however the pairs are divided.
        scale = 1 / (tokens if training.loss_normalization == "token" else len(pairs))
        likelihood = torch.zeros((), device=self.device)
        self.model.train()
        for batch in mine:
            likelihood += self.gradients.add(batch, scale)
        self.group.sum(likelihood)
        self.group.sum_gradients(self.model.parameters())
        norm, taken = clipped_step(self.optimizer, training.clip_norm, likelihood)
        # On a GPU, recorded graphs add to these gradient tensors, so the tensors must stay.
        self.optimizer.zero_grad(set_to_none=self.device.type == "cpu")
        self.progress.update += 1
        self.progress.position += 1
        self.progress.target_tokens += tokens
        self.average.add(self.progress.update)
        made = Update(self.progress.update, pairs, likelihood, norm, taken, tokens)
        self.interval.pending.append(made)

    def _updates(self, epoch: int) -> list[list[np.ndarray]]:
        """Return the batches of an epoch, grouped into updates."""
        batches = self.plan.epoch(epoch)
        size = self.config.training.gradient_accumulation
        return [batches[start : start + size] for start in range(0, len(batches), size)]

    # -- validation, checkpoints -----------------------------------------------------------------

    def _validate(self, last: bool = False) -> None:
        """Validate and save a checkpoint; if the metric improved, also save it as the best one.

        The ``last`` validation may lie between two others. A longer training does not make it, and
        so continues from the state before it, with the best checkpoint before it.
        """
        progress, metric = self.progress, self.config.training.early_stopping_metric
        with self.average.in_model():
            validation = self.validator.run()
        if not math.isfinite(validation.loss):  # such weights must not become a checkpoint
            raise UserError(
                f"The dev loss is {validation.loss} after update {progress.update}; {ADVICE}"
            )
        value, best = getattr(validation, metric), progress.best_metric
        improved = best is None or (value < best if metric == "loss" else value > best)
        progress.validated_update = progress.update
        progress.stale += not last
        if improved:
            progress.best_metric, progress.best_update, progress.stale = value, progress.update, 0
        progress.seconds = time.monotonic() - self._started
        entry = {"kind": "validation", "update": progress.update, "epoch": self._epochs_done()}
        self.metrics.add({**entry, **asdict(validation), "seconds": progress.seconds})
        examples = "".join(f"\n  {line}" for line in self.validator.examples)
        text = f"{validation}{' (best)' if improved else ''}{examples}"
        log.info("update %d, epoch %.2f: %s", progress.update, self._epochs_done(), text)
        if improved:
            if last and self.group.is_first:
                self.folder.set_best_aside()
            self._save(self.folder.best)
        if not last:
            self._save(self.folder.checkpoint(progress.update))
        self._write_record("running")
        self._saved = time.monotonic()
        self.interval = IntervalMetrics()  # so that validation does not count as training time

    def _save(self, folder: Path) -> None:
        self._fetch_metrics()
        self.progress.seconds = time.monotonic() - self._started
        state = TrainingState(self.progress, self.interval.state, self.conditions)
        self.checkpoints.save(folder, state)

    def _save_interim(self) -> None:
        self._save(self.folder.checkpoint(self.progress.update, interim=True))
        self._saved = time.monotonic()

    def _stop(self, number: int) -> NoReturn:
        """Save everything and raise :class:`Interrupted`."""
        if self.progress.validated_update < self.progress.update:
            self._save_interim()
        self._write_record("interrupted")
        self.metrics.close()
        self.group.maximum(0)  # wait for rank 0 to write: torchrun ends all ranks when one ends
        done = f"Stopped after update {self.progress.update}"
        raise Interrupted(number, f"{done}, which is saved in {self.folder.path}.")

    # -- logs and records ------------------------------------------------------------------------

    def _fetch_metrics(self) -> None:
        """Fetch the metrics; report skipped updates, and refuse too many of them."""
        for update in self.interval.fetch():
            lines = self.data.train.line_numbers[update.pairs].tolist()
            self.nonfinite.add({"update": update.number, "lines": lines})
            self.progress.nonfinite += 1
            log.warning(
                f"Skipped update {update.number} because its loss or gradient was not finite; "
                f"{self.nonfinite.path} lists the line numbers of its training pairs."
            )
        if self.progress.nonfinite > MOST_NONFINITE:
            raise UserError(f"{self.progress.nonfinite} updates were not finite; {ADVICE}")

    def _log_updates(self, bar: tqdm) -> None:
        if time.monotonic() - self._returned > RETURN_SECONDS:
            return_free_memory()
            self._returned = time.monotonic()
        self._fetch_metrics()
        entry, self.interval = self.interval.entry(), IntervalMetrics()
        where = {"kind": "train", "update": self.progress.update, "epoch": self._epochs_done()}
        rate = self.learning_rate.at(self.progress.update)
        self.metrics.add({**where, **entry, "learning_rate": rate})
        loss = "none" if entry["loss"] is None else f"{entry['loss']:.4f}"
        speed = f"{entry['tokens_per_second']:,.0f}"
        bar.set_postfix_str(f"loss {loss}, {speed} tokens/s")
        if bar.disable:
            made, most = self.progress.update, self._most_updates
            seconds = time.monotonic() - self._started
            left = tqdm.format_interval(seconds / made * max(0, most - made))
            text = f"update {made:,} of at most {most:,}: loss {loss}, {speed} target tokens/s"
            log.info("%s, %s elapsed, %s remaining", text, tqdm.format_interval(seconds), left)

    def _epochs_done(self) -> float:
        """Return completed epochs plus the fraction of the current one."""
        return round(self.progress.epoch + self.progress.position / self._epoch_length, 3)

    def _write_record(self, status: str, reason: str | None = None) -> None:
        if self.group.is_first:
            self.record.status, self.record.reason = status, reason
            self.folder.write_record(self.record)
