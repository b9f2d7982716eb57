"""Folder of a training run: config, record, checkpoints and lock."""

import contextlib
import logging
import os
import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from filelock import Timeout

from seq2seq.checkpoint import has_manifest, newest_checkpoints, remove_checkpoint
from seq2seq.config import TrainConfig, TrainingConfig, flatten, shown
from seq2seq.config.evaluation import bleu_tokenizer
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.files import locked, read_object, write_json
from seq2seq.record import Progress, TrainingRecord, read_record
from seq2seq.training.metrics import JsonlLog

log = logging.getLogger(__name__)

MAY_CHANGE = {
    "always": (
        *("baseline", "data", "output", "evaluation"),
        *("corpus.mirror", "corpus.directory", "training.device", "training.logger"),
        *("training.log_every", "training.save_minutes", "training.keep_epochs"),
    ),
    "as if from the start": ("training.patience",),
    "so, too, but not with schedule=linear": ("training.max_epochs", "training.max_updates"),
}
"""Settings, and groups of them, that may differ when a run resumes. Text is compared by hashes."""
FREE, LIMITS, FIXED_BY_LINEAR = MAY_CHANGE.values()
KEPT = 2
"""How many of the newest update-* checkpoints stay, as a reserve; the best always stays."""
REMEDY = "choose another name=, seed= or output=, or move the run folder away"


def identity(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a config (JSON) that belong to a run, by dotted key."""
    flat = flatten(config)
    kept = {k: v for k, v in flat.items() if not {k, k.partition(".")[0]} & {*FREE}}
    if kept.get("training.early_stopping_metric") == "bleu":  # it selects the best checkpoint
        tokenize, target = flat.get("evaluation.tokenize"), str(flat.get("corpus.target"))
        kept["evaluation.tokenize"] = tokenize or bleu_tokenizer(target)
    if parent := kept.get("training.init_from"):
        kept["training.init_from"] = os.path.realpath(parent)
    return kept


def reason_to_end(training: TrainingConfig, progress: Progress) -> str | None:
    """Return the limit that a training has reached, in words; None if it has reached none."""
    if progress.stale >= training.patience:
        metric = training.early_stopping_metric
        return f"no better dev {metric} in {progress.stale} validations"
    if progress.epoch >= training.max_epochs:
        return f"max_epochs={training.max_epochs}"
    if training.max_updates is not None and progress.update >= training.max_updates:
        return f"max_updates={training.max_updates}"
    return None


class RunFolder:
    """Folder ``<output>/<name>/<system>/seed-<n>``; only a run of the same config may resume it."""

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.path = Path(config.output) / config.name / config.system / f"seed-{config.seed}"
        self.best = self.path / "checkpoints" / "best"
        """Folder of the checkpoint with the best early-stopping metric."""
        self._aside = self.best.with_name("best-before-end")

    def __repr__(self) -> str:
        return f"RunFolder({self.path}, {self.config.system}: best_metric={self.best_metric})"

    def claim(self) -> None:
        """Write the config into a new folder; refuse a folder with a run of another config."""
        path = self.path / "config.json"
        if not path.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            self.write_config()
        was, now = identity(read_object(path, REMEDY)), identity(asdict(self.config))
        linear = self.config.training.optimizer.schedule == "linear"
        free = {*LIMITS, *(() if linear else FIXED_BY_LINEAR)}
        if changed := [key for key in now if key not in free and was.get(key) != now[key]]:
            each = ", ".join(f"{key} was {was.get(key)} and is now {now[key]}" for key in changed)
            again = shlex.join(f"{key}={shown(was.get(key))}" for key in changed)
            if linear and {*changed} & {*FIXED_BY_LINEAR}:
                each += " (with schedule=linear, the learning rate depends on it)"
            raise UserError(
                f"{self.path} holds a run of another config: {each}; {REMEDY}; to continue that "
                f"run, run the same command with {again}."
            )
        epochs, done = self.config.training.keep_epochs, self.record().progress.epoch
        if passed := sorted({n for n in epochs if n <= done and not has_manifest(self.epoch(n))}):
            log.warning(
                f"training.keep_epochs={passed}: {self.path} is past these epochs and did not keep "
                "them; to keep them, choose another name=."
            )

    def require_text(self, hashes: dict[str, str]) -> None:
        """Refuse to resume if a text (name -> SHA-256) has changed since the run started."""
        for name, digest in self.record().data_sha256.items():
            if hashes.get(name) != digest:
                raise UserError(
                    f"{self.path} was trained on another text: {name} has changed since; restore "
                    f"it, {REMEDY}."
                )

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder in a context; refuse one in which another process trains."""
        try:
            with locked(self.path / "lock", wait=False):
                yield
        except Timeout:
            raise UserError(
                f"{self.path} is being trained by another process; wait for it, stop it, or choose "
                "another name=, seed= or output=."
            ) from None

    def write_config(self) -> None:
        write_json(self.path / "config.json", self.config)

    def record(self) -> TrainingRecord:
        """Read the run record; return an empty one if there is none yet."""
        return read_record(self.path, "delete it to resume this run") or TrainingRecord()

    def write_record(self, record: TrainingRecord) -> None:
        write_json(self.path / "run.json", record)

    @property
    def finished(self) -> bool:
        """Whether training has ended and has also reached a limit of the present config."""
        record = self.record()
        ended = reason_to_end(self.config.training, record.progress)
        return record.status == "finished" and ended is not None

    @property
    def best_metric(self) -> float | None:
        """Best value of training.early_stopping_metric so far."""
        return self.record().progress.best_metric

    @property
    def translator(self) -> Translator:
        return Translator.load(self.path)

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """Lines of metrics.jsonl: training loss and speed, and the validations."""
        return JsonlLog(self.path / "metrics.jsonl").read()

    def checkpoint(self, update: int, interim: bool = False) -> Path:
        """Folder of the checkpoint at ``update``; ``interim`` if saved between validations."""
        return self.path / "checkpoints" / f"{'interim' if interim else 'update'}-{update}"

    def epoch(self, number: int) -> Path:
        """Folder of the checkpoint after epoch ``number``, for training.keep_epochs."""
        return self.path / "checkpoints" / f"epoch-{number}"

    def newest(self) -> list[Path]:
        """Folders of the checkpoints that training can resume from, newest first."""
        return newest_checkpoints(self.path)

    def prune(self) -> None:
        """Keep the newest checkpoint and the newest ``KEPT`` update-*, of those with a manifest."""
        whole = [folder for folder in self.newest() if has_manifest(folder)]
        needed = {*whole[:1], *[f for f in whole if f.name.startswith("update-")][:KEPT]}
        cut_off = (self.path / "checkpoints").glob("*-*.part")
        for folder in {*self.newest(), *cut_off} - needed:
            remove_checkpoint(folder)

    def set_best_aside(self) -> None:
        """Rename the best checkpoint, so that the end of training can save another one as best."""
        if self.best.exists():
            self.best.rename(self._aside)

    def restore_best(self) -> None:
        """Undo :meth:`set_best_aside`: a longer training does not depend on an earlier end."""
        if self._aside.exists():
            remove_checkpoint(self.best)
            self._aside.rename(self.best)
