"""The training loop: epochs, updates, validations, checkpoints."""

import contextlib
import logging
import math
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

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
from seq2seq.config import TrainConfig, flatten
from seq2seq.data import corpora, encoding
from seq2seq.data.batching import BatchPlan, collate
from seq2seq.data.preparation import PreparedData, advise, left_out, prepare
from seq2seq.device import (
    SINGLE,
    ProcessGroup,
    choose_device,
    choose_precision,
    deterministic,
    keep_freed_memory,
    process_group,
    return_free_memory,
)
from seq2seq.errors import UserError
from seq2seq.files import locked, write_json
from seq2seq.interruption import Interrupted, Interruption
from seq2seq.model.fast import describe
from seq2seq.model.fast.compiled import choose_operations
from seq2seq.model.translation import TranslationModel
from seq2seq.record import Progress, TrainingRecord, environment_record
from seq2seq.training.graphs import GradientStep
from seq2seq.training.metrics import IntervalMetrics, JsonlLog, Update, start_tracker
from seq2seq.training.optimization import (
    WeightAverage,
    build_optimizer,
    clipped_step,
    learning_rate,
)
from seq2seq.training.run_folder import (
    REMEDY,
    RunFolder,
    codec_folder,
    identity,
    load_parent,
    reason_to_end,
)
from seq2seq.training.validation import Validator

log = logging.getLogger(__name__)

MOST_NONFINITE = 10
"""Maximum number of updates that are skipped because their loss or gradient is not finite."""
RETURN_EVERY = 500
"""Number of updates after which free memory is returned; fresh memory costs time."""
CONDITIONS = (
    *("precision", "kernels", "processes"),
    *("hardware.processor", "hardware.gpu", "hardware.threads", "hardware.torch"),
)
"""Entries of a run's record that change the last bits of results."""
ADVICE = "train again under another name= with a lower training.optimizer.learning_rate."


def train_run(config: TrainConfig) -> RunFolder:
    """Train one system into its run folder; an interrupted training continues where it stopped."""
    choose_device(config.training.device)  # refuse a missing device before any work
    with process_group(config.training.device) as group:
        data = prepare(config.corpus, config.tokenization, Path(config.data), codec_folder(config))
        return Trainer(config, data, group).run()


class Trainer:
    """Trains one system into a run folder, in one or several processes; the first one writes."""

    def __init__(
        self, config: TrainConfig, data: PreparedData, group: ProcessGroup = SINGLE
    ) -> None:
        training = config.training
        group.require_equal(identity(asdict(config)) | {"training": asdict(training)} | data.hashes)
        self.config, self.data, self.group = config, data, group
        self.folder = RunFolder(config)
        device = self.device = choose_device(training.device)
        precision = choose_precision(training.precision, device)
        torch.manual_seed(config.seed)
        vocabularies = len(data.source.vocabulary), len(data.target.vocabulary)
        self.model = TranslationModel(config.model, *vocabularies).to(device)
        self.gradients = GradientStep(self.model, device, precision, training.label_smoothing)
        self.optimizer = build_optimizer(self.model, training.optimizer)
        self.average = WeightAverage(self.model, training.optimizer.schedule == "average")
        self.plan = BatchPlan(data.train, training.batch_size, config.seed)
        self.epoch_length = len(self._updates(0))
        most = training.max_epochs * self.epoch_length
        self.most_updates = min(most, training.max_updates or most)
        self.validator = Validator(self.model, data, config, device, precision, group)
        self.progress = Progress()
        self.interval = IntervalMetrics()
        self.metrics = JsonlLog(self.folder.path / "metrics.jsonl", group.is_first)
        self.interruption = Interruption()
        self.record = TrainingRecord(
            experiment=config.name,
            system=config.system,
            seed=config.seed,
            parameters=self.model.parameter_counts(),
            precision=str(precision).removeprefix("torch."),
            kernels=choose_operations(device, precision).name,
            processes=group.size,
            training_pairs=len(data.train),
            skipped_pairs=data.skipped,
            data_sha256=data.hashes,
            **environment_record(device),
        )
        self.prefix = f"rank-{group.rank}/" if group.rank else ""
        """What the names of this rank's random states begin with."""
        group.seed(config.seed)

    def run(self) -> RunFolder:
        """Train until a limit is reached; a signal raises Interrupted when all is saved."""
        if self.group.is_first:
            self.folder.claim(self.data.hashes)
        if reached := self.group.hand_out(self.folder.finished):
            log.info("%s is already trained (%s).", self.folder.path, reached)
            return self.folder
        lock = (
            locked(self.folder.path / "lock", wait=False)
            if self.group.is_first
            else contextlib.nullcontext()
        )
        exact = deterministic(self.config.training.deterministic)
        with lock, self.interruption, exact, contextlib.closing(self.metrics):
            self._resume()
            self._begin()
            self._end(self._train())
        return self.folder

    def _train(self) -> str:
        """Train until a limit is reached, validate, and return the limit in words."""
        keep_freed_memory()
        progress, self.saved = self.progress, time.monotonic()
        self.started = self.saved - progress.seconds
        self.bar = tqdm(
            total=self.most_updates,
            initial=progress.update,
            desc=f"training {self.config.system}, seed {self.config.seed}",
            bar_format="{desc} {percentage:.0f}% {bar} {elapsed}<{remaining}{postfix}",
            # None: no bar if the output is not a terminal; then the log has plain lines.
            disable=None if self.group.is_first else True,
            dynamic_ncols=True,
        )
        with logging_redirect_tqdm(), self.bar:
            while not (reason := reason_to_end(self.config.training, progress)):
                self._train_epoch()
            if progress.validated_update < progress.update:
                # A longer training does not make this validation. It continues from the state
                # before it, with the best checkpoint before it.
                self._save_newest(interim=True)
                self._log_updates()
                self._validate(last=True)
        return reason

    def _train_epoch(self) -> None:
        """Make the epoch's remaining updates; log, validate and save when due; stop at a limit."""
        training, progress = self.config.training, self.progress
        for batches in self._updates(progress.epoch)[progress.position :]:
            self._update(batches)
            self.bar.update()
            epoch_ends = progress.position == 0
            validates = progress.update % (training.validate_every or self.epoch_length) == 0
            if progress.update % training.log_every == 0 or validates or epoch_ends:
                self._log_updates()
            if progress.update % RETURN_EVERY == 0:
                return_free_memory()
            if epoch_ends and progress.epoch in training.keep_epochs:
                self._save(self.folder.epoch(progress.epoch))
            if validates:
                self._validate()
            signal, due = self.group.maximum(
                self.interruption.received or 0,
                time.monotonic() - self.saved > 60 * training.save_minutes,
            )
            if due or (signal and progress.validated_update < progress.update):
                self._save_newest(interim=True)
            if signal:
                self._write_record("interrupted")
                done = f"Stopped after update {progress.update}"
                raise Interrupted(signal, f"{done}, which is saved in {self.folder.path}.")
            if reason_to_end(training, progress):
                return

    def _update(self, batches: list[np.ndarray]) -> None:
        """Make one update from these batches of pairs; this process computes its share."""
        training, progress, pairs = self.config.training, self.progress, np.concatenate(batches)
        progress.update += 1
        progress.epoch, progress.position = divmod(progress.update, self.epoch_length)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(training.optimizer, progress.update, self.most_updates)
        tokens = int((self.data.train.target_lengths[pairs] + 1).sum())
        # The loss is a mean over the batches of all processes, however the pairs are divided.
        scale = 1 / (tokens if training.loss_normalization == "token" else len(pairs))
        likelihood = torch.zeros((), device=self.device)
        self.model.train()
        for batch in batches:
            if len(share := batch[self.group.share]):
                likelihood += self.gradients.add(collate(self.data.train, share), scale)
        self.group.sum(likelihood)
        self.group.sum_gradients(self.model.parameters())
        norm, taken = clipped_step(self.optimizer, training.clip_norm, likelihood)
        # On a GPU, recorded graphs add to these gradient tensors, so the tensors must stay.
        self.optimizer.zero_grad(set_to_none=self.device.type == "cpu")
        self.average.add(progress.update)
        progress.target_tokens += tokens
        self.interval.pending.append(
            Update(progress.update, pairs, tokens, likelihood, norm, taken)
        )

    def _validate(self, last: bool = False) -> None:
        """Validate and save a checkpoint; if the metric improved, also save it as the best one."""
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
            if last and self.group.is_first and self.folder.best.exists():
                self.folder.best.rename(self.folder.best_before_end)
        progress.seconds = time.monotonic() - self.started
        self._add_metrics("validation", {**asdict(validation), "seconds": progress.seconds})
        examples = "".join(f"\n  {line}" for line in self.validator.examples)
        log.info(
            f"{self.config.system}, update {progress.update}, "
            f"epoch {progress.update / self.epoch_length:.2f}: "
            f"{validation}{' (best)' if improved else ''}{examples}"
        )
        if improved:
            self._save(self.folder.best)
        if not last:
            self._save_newest(interim=False)
        self._write_record("running")
        self.interval = IntervalMetrics()  # so that validation does not count as training time

    def _save_newest(self, interim: bool) -> None:
        """Save a checkpoint to resume from; ``interim`` if it lies between two validations."""
        self._save(self.folder.checkpoint(self.progress.update, interim))
        self.saved = time.monotonic()

    def _save(self, folder: Path) -> None:
        """Write the full state of the training, with the random states of all ranks."""
        self._fetch_metrics()
        self.progress.seconds = time.monotonic() - self.started
        own = {self.prefix + name: state for name, state in capture_rng().items()}
        generators = {name: state for of in self.group.gather(own) for name, state in of.items()}
        if self.group.is_first:
            codecs = self.data.source, self.data.target
            state = TrainingState(self.progress, self.interval.state)
            checkpoint = Checkpoint(self.config, self.model, *codecs, state, generators)
            with self.average.in_model():
                save_checkpoint(folder, checkpoint, self.optimizer, self.average.others)
            self.folder.prune()

    def _updates(self, epoch: int) -> list[list[np.ndarray]]:
        """Return the batches of an epoch, grouped into updates."""
        batches = self.plan.epoch(epoch)
        size = self.config.training.gradient_accumulation
        return [batches[start : start + size] for start in range(0, len(batches), size)]

    # -- beginning and end -----------------------------------------------------------------------

    def _resume(self) -> None:
        """Restore the newest checkpoint of this run; without one, start from training.init_from."""
        if (state := self._restore()) is not None:
            self.progress, self.interval.state = state.progress, state.metrics
            before = self.folder.record()
            commits = dict.fromkeys([*before.earlier_commits, before.git_commit])
            self.record.earlier_commits = [
                one for one in commits if one not in (None, self.record.git_commit)
            ]
            self.record.parent = before.parent
            log.info("Resuming %s from update %d.", self.folder.path, self.progress.update)
            was, now = flatten(asdict(before)), flatten(asdict(self.record))
            if changed := [f"{k} {now[k]} (was {was[k]})" for k in CONDITIONS if now[k] != was[k]]:
                log.warning(
                    f"Resuming with {', '.join(changed)}: results may not be bit-identical."
                )
        elif self.config.training.init_from is not None:
            parent = load_parent(self.config)
            self._load_weights(parent)
            self.record.parent = {"path": str(parent.directory), "sha256": parent.sha256}
            log.info("Starting from the weights of %s.", parent.directory)
        progress, unlogged = self.progress, self.interval.state.updates
        self.group.require_equal(
            {"the newest checkpoint's update": progress.update, "init_from": self.record.parent}
        )
        logged = {"train": progress.update - unlogged, "validation": progress.validated_update}
        self.metrics.rewind({**logged, "nonfinite": progress.update})
        if self.group.is_first and self.config.training.logger != "none":
            self.metrics.tracker = start_tracker(self.folder.path, self.config, progress.update)

    def _restore(self) -> TrainingState | None:
        """Restore the newest intact checkpoint; rename newer ones to ``<name>.damaged``."""
        errors: dict[Path, UserError | OSError] = {}
        for folder in self.folder.newest():
            try:
                checkpoint = load_checkpoint(folder, torch.device("cpu"))
                with self.average.in_model():
                    self._load_weights(checkpoint)
                    load_optimizer(folder, self.optimizer, self.average.others)
            except (UserError, OSError) as error:
                log.warning("%s; trying an earlier checkpoint, if any.", str(error).rstrip("."))
                errors[folder] = error
                continue
            saved = {self.prefix + name: name for name in capture_rng()}
            restore_rng({saved[k]: state for k, state in checkpoint.rng.items() if k in saved})
            self.group.maximum(0)  # wait until all ranks have read what is renamed next
            for damaged in errors if self.group.is_first else ():
                damaged.rename(damaged.with_name(f"{damaged.name}.damaged"))
            return checkpoint.state
        for refusal in errors.values():
            raise refusal
        if update := self.folder.record().progress.update:
            raise UserError(
                f"{self.folder.path} was trained to update {update}, but has no folder update-<n> "
                f"to resume from; copy one back, or {REMEDY}."
            )
        return None

    def _load_weights(self, checkpoint: Checkpoint) -> None:
        """Copy the weights of a checkpoint; refuse one that has other vocabularies."""
        # Another version of a tokenizer may cut the same text into other pieces.
        codecs = (checkpoint.source, self.data.source), (checkpoint.target, self.data.target)
        if not all(saved.encodes_like(prepared) for saved, prepared in codecs):
            raise UserError(
                f"{checkpoint.directory} has other vocabularies than the prepared text "
                f"{self.data.directory}; {REMEDY}."
            )
        self.model.load_state_dict(checkpoint.model.state_dict())

    def _begin(self) -> None:
        """Write the files of a run that trains, and log what it trains."""
        self._write_record("running")
        if self.group.is_first:
            write_json(self.folder.path / "config.json", self.config)
            if self.folder.best_before_end.exists():
                remove_checkpoint(self.folder.best)
                self.folder.best_before_end.rename(self.folder.best)
            encoding.save_array(self.folder.path / corpora.LEARNED, self.data.learned)
        log.info(
            f"{self.config.system}: {self.record.parameters['total']:,} parameters, "
            f"{len(self.data.train):,} training pairs (left out: {left_out(self.data, 'train')}), "
            f"{len(self.data.valid):,} validation pairs (left out: "
            f"{left_out(self.data, 'valid')}), {self.epoch_length} updates an epoch, "
            f"{self.record.precision} on {self.device}, into {self.folder.path}"
        )
        log.info(describe(self.model.decoder, self.device, self.gradients.precision))
        advise(self.config, self.data)

    def _end(self, reason: str) -> None:
        """Record why the training has ended; a late signal ends what would follow."""
        progress = self.progress
        if reason.startswith("max_") and progress.best_update >= 0.9 * progress.update:
            reason += ", best near the end"  # a larger limit would help
        self._write_record("finished", reason)
        log.info(
            f"Training ended after {progress.update} updates ({reason}); best checkpoint "
            f"(update {progress.best_update}): {self.folder.best}"
        )
        (signal,) = self.group.maximum(self.interruption.received or 0)
        if signal:
            raise Interrupted(signal, f"The training into {self.folder.path} had just finished.")

    # -- logs and records ------------------------------------------------------------------------

    def _fetch_metrics(self) -> None:
        """Fetch the metrics; report skipped updates, and refuse too many of them."""
        for update in self.interval.fetch():
            lines = self.data.train.line_numbers[update.pairs].tolist()
            self.metrics.add({"kind": "nonfinite", "update": update.number, "lines": lines})
            self.progress.nonfinite += 1
            log.warning(
                f"Skipped update {update.number} because its loss or gradient was not finite; "
                f"{self.metrics.path} lists the line numbers of its training pairs."
            )
        if self.progress.nonfinite > MOST_NONFINITE:
            raise UserError(f"{self.progress.nonfinite} updates were not finite; {ADVICE}")

    def _log_updates(self) -> None:
        """Log the updates since the last line, if any."""
        self._fetch_metrics()
        if not self.interval.state.updates:
            return
        entry, self.interval = self.interval.entry(), IntervalMetrics()
        self._add_metrics("train", {**entry, "learning_rate": self.optimizer.param_groups[0]["lr"]})
        speed = f"{entry['tokens_per_second']:,.0f} target tokens/s"
        text = f"loss {entry['loss'] or math.nan:.4f}, {speed}"
        self.bar.set_postfix_str(text)
        if self.bar.disable:
            made, most = self.progress.update, self.most_updates
            form = f"update {made:,} of at most {most:,}{{postfix}}, {{elapsed}} elapsed"
            form += ", {remaining} remaining"
            seconds = time.monotonic() - self.started
            log.info(tqdm.format_meter(made, most, seconds, bar_format=form, postfix=text))

    def _add_metrics(self, kind: str, values: dict[str, object]) -> None:
        epochs = round(self.progress.epoch + self.progress.position / self.epoch_length, 3)
        self.metrics.add({"kind": kind, "update": self.progress.update, "epoch": epochs, **values})

    def _write_record(self, status: str, reason: str | None = None) -> None:
        if self.group.is_first:
            self.record.status, self.record.reason = status, reason
            self.record.progress = self.progress
            write_json(self.folder.path / "run.json", self.record)
