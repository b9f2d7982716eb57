"""Folder of a training run: config, record and checkpoints; the parent of a fine-tuned run."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from seq2seq.checkpoint import (
    Checkpoint,
    has_manifest,
    load_checkpoint,
    newest_checkpoints,
    remove_checkpoint,
)
from seq2seq.config import INHERITED, TrainConfig, TrainingConfig, flatten, shown
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.files import read_jsonl, read_object, write_json
from seq2seq.record import Progress, TrainingRecord, read_record

FREE = {
    *("baseline", "data", "output", "evaluation", "corpus.mirror", "corpus.directory"),
    *("training.device", "training.logger", "training.log_every", "training.save_minutes"),
    *("training.keep_epochs", "training.patience"),
}
"""Settings, and groups of them, that may change when a run resumes; text is compared by hashes."""
LIMITS = {"training.max_epochs", "training.max_updates"}
"""These may change, too, unless the learning rate depends on them (schedule=linear)."""
KEPT = 2
"""How many of the newest update-* checkpoints stay, as a reserve; the best always stays."""
REMEDY = "choose another name=, seed= or output=, or move the run folder away"


def identity(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a config (JSON) that a run keeps, by dotted key."""
    flat = flatten(config)
    free = FREE if flat.get("training.optimizer.schedule") == "linear" else FREE | LIMITS
    kept = {k: v for k, v in flat.items() if not {k, k.partition(".")[0]} & free}
    if flat.get("training.early_stopping_metric") == "bleu":  # it selects the best checkpoint
        kept["evaluation.tokenize"] = flat.get("evaluation.tokenize")
    return kept


def reason_to_end(training: TrainingConfig, progress: Progress) -> str | None:
    """Return the limit that a training has reached, in words; None if it has reached none."""
    if progress.stale >= training.patience:
        return f"no better dev {training.early_stopping_metric} in {progress.stale} validations"
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
        self.best_before_end = self.best.with_name("best-before-end")
        """The best one before the last validation, from which a longer training continues."""

    def __repr__(self) -> str:
        return f"RunFolder({self.path}, {self.config.system}: best_metric={self.best_metric})"

    def claim(self, hashes: dict[str, str]) -> None:
        """Write the config into a new folder; refuse another config, or text of other hashes."""
        path = self.path / "config.json"
        if not path.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            write_json(path, self.config)
        was = {**identity(read_object(path, REMEDY)), **self.record().data_sha256}
        now = {**identity(asdict(self.config)), **hashes}
        if changed := [key for key in was if key in now and was[key] != now[key]]:
            before = shlex.join(f"{key}={shown(was[key])}" for key in changed)
            raise UserError(
                f"{self.path} holds a run with {before}; continue it with the same settings and "
                f"text, or {REMEDY}."
            )

    def record(self) -> TrainingRecord:
        """Read the run record; return an empty one if there is none yet."""
        return read_record(self.path, "delete it to resume this run") or TrainingRecord()

    @property
    def finished(self) -> str | None:
        """Limit at which the training ended under the present config; None if it can continue."""
        record = self.record()
        reached = reason_to_end(self.config.training, record.progress)
        return reached if record.status == "finished" else None

    @property
    def best_metric(self) -> float | None:
        """Best value of training.early_stopping_metric so far."""
        return self.record().progress.best_metric

    @property
    def translator(self) -> Translator:
        return Translator(self.path)

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """Lines of metrics.jsonl: training loss and speed, and the validations."""
        return read_jsonl(self.path / "metrics.jsonl")

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


def load_parent(config: TrainConfig) -> Checkpoint:
    """Load the checkpoint ``training.init_from``; refuse settings that contradict it."""
    where = str(config.training.init_from)
    parent = load_checkpoint(Path(where), torch.device("cpu"))
    mine, its = (flatten(asdict(of)) for of in (config, parent.config))
    if differ := [k for k in mine if INHERITED.match(k) and mine[k] != its.get(k)]:
        has = shlex.join(f"{key}={shown(its.get(key))}" for key in differ)
        raise UserError(
            f"training.init_from={where} has {has}; set the same, or name the run of each system: "
            "'training.init_from=outputs/NAME/${system}/seed-${seed}'."
        )
    return parent


def codec_folder(config: TrainConfig) -> Path | None:
    """Return the checkpoint that has the tokenizers of a fine-tuned run; None for other runs."""
    if config.training.init_from is None:
        return None
    own = filter(has_manifest, RunFolder(config).newest())  # such a run no longer needs its parent
    return next(own, None) or load_parent(config).directory
