"""Folder of a training run: config, record, checkpoints and lock."""

import contextlib
import json
import logging
import os
import shlex
import sys
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

NOT_PART_OF_A_RUN = (
    "baseline",
    "data",
    "output",
    "evaluation",
    "corpus.mirror",
    "corpus.directory",
    "training.device",
    "training.keep_epochs",
    "training.log_every",
    "training.logger",
    "training.save_minutes",
)
"""Settings that may change when a run resumes, for example paths, logging and the device. Text is
compared by its hashes, not by its path."""
LIMITS = ("training.max_epochs", "training.max_updates", "training.patience")
"""Settings that end a training. If a limit grows, the run continues as if it had started with the
new value. Under schedule=linear only patience may change, because the learning rate depends on the
other limits."""
KEPT = 2
"""How many of the newest validation checkpoints stay, as a reserve; the best always stays."""
PROGRAMS = {"train.py", "reproduce.py", "seq2seq"}
REMEDY = "choose another name=, seed= or output=, or move the run folder away"


def identity(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a config (JSON) that belong to a run, by dotted key.

    On resuming, only the :data:`LIMITS` among them may change. They include BLEU's tokenizer if
    dev BLEU selects the best checkpoint.
    """
    free, flat = set(NOT_PART_OF_A_RUN), flatten(config)
    kept = {k: v for k, v in flat.items() if not {k, k.partition(".")[0]} & free}
    if flat.get("training.early_stopping_metric") == "bleu":
        tokenize, target = flat.get("evaluation.tokenize"), str(flat.get("corpus.target"))
        kept["evaluation.tokenize"] = tokenize or bleu_tokenizer(target)
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


def _command_with(settings: dict[str, Any]) -> str:
    """Say how to run the command of this process again with other ``settings``."""
    added = [f"{key}={shown(value)}" for key, value in settings.items()]
    words = sys.orig_argv
    started = PROGRAMS & {Path(word).name for word in words[1:3]}
    if not started or {"-m", "--multirun"} & {*words[2:]}:  # from Python, or with more runs
        return f"set {', '.join(added)}."
    changed = {key.lstrip("+") for key in settings}
    kept = [word for word in words if word.partition("=")[0].lstrip("+") not in changed]
    return f"run: {shlex.join([*kept, *added])}"


class RunFolder:
    """Folder ``<output>/<name>/<system>/seed-<n>``; only a run of the same config may resume it."""

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.path = Path(config.output) / config.name / config.system / f"seed-{config.seed}"
        self._aside = self.best.with_name("best-before-end")

    def __repr__(self) -> str:
        return f"RunFolder({self.path}, {self.config.system}: best_metric={self.best_metric})"

    @property
    def best(self) -> Path:
        """Folder of the checkpoint with the best early-stopping metric."""
        return self.path / "checkpoints" / "best"

    def set_best_aside(self) -> None:
        """Rename the best checkpoint, so that the end of training can save another one as best."""
        if self.best.exists():
            self.best.rename(self._aside)

    def restore_best(self) -> None:
        """Make the checkpoint that :meth:`set_best_aside` renamed, if any, the best one again.

        The best checkpoint that the end of training saved is deleted. A training that goes on must
        not depend on where it ended before.
        """
        if self._aside.exists():
            remove_checkpoint(self.best)
            self._aside.rename(self.best)

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
        """Delete old update-* and interim-* checkpoints, and all incomplete ones.

        The newest complete one and the newest ``KEPT`` complete update-* checkpoints stay. Complete
        means only that there is a manifest.
        """
        whole = [folder for folder in self.newest() if has_manifest(folder)]
        needed = {*whole[:1], *[f for f in whole if f.name.startswith("update-")][:KEPT]}
        cut_off = (self.path / "checkpoints").glob("*-*.part")
        for folder in {*self.newest(), *cut_off} - needed:
            remove_checkpoint(folder)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder in a context; UserError if another process trains in it."""
        try:
            with locked(self.path / "lock", wait=False):
                yield
        except Timeout:
            raise UserError(
                f"{self.path} is being trained by another process; wait for it, stop it, or choose "
                "another name=, seed= or output=."
            ) from None

    def claim(self) -> None:
        """Write the config into a new folder; refuse a folder with a run of another config.

        The config may differ in :data:`NOT_PART_OF_A_RUN`, and in the :data:`LIMITS`: under
        schedule=linear, only in ``patience``.
        """
        if not (self.path / "config.json").exists():
            self.path.mkdir(parents=True, exist_ok=True)
            self.write_config(Progress())
            return
        mine = json.loads(json.dumps(asdict(self.config)))
        stored = read_object(self.path / "config.json", "move its folder away")
        old, new = identity(stored), identity(mine)
        linear = self.config.training.optimizer.schedule == "linear"
        free = {"training.patience"} if linear else {*LIMITS}
        keys = [key for key in old | new if key not in free]
        changes = {
            key: (old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key)
        }
        parents = changes.get("training.init_from", (None, None))
        if all(parents) and len({*map(os.path.realpath, parents)}) == 1:
            del changes["training.init_from"]  # one path, written in two ways
        if changes.keys() <= {*LIMITS}:
            for key, (was, now) in changes.items():
                if isinstance(was, int) and isinstance(now, int) and was < now:
                    raise UserError(self._refusal_to_go_on(key, was, now))
        if changes:
            each = ", ".join(
                f"{key} was {was} and is now {now}" for key, (was, now) in changes.items()
            )
            again = _command_with({key: was for key, (was, _) in changes.items()})
            raise UserError(
                f"{self.path} holds a run of another config: {each}; {REMEDY}; to continue that "
                f"run, {again}"
            )

    def _refusal_to_go_on(self, key: str, was: int, now: int) -> str:
        """Return why ``key`` cannot grow; for a finished run, with a command to train further."""
        why = (
            f"{self.path} cannot go on to {key}={now}: with training.optimizer.schedule=linear its "
            f"learning rate falls to zero at {key}={was}"
        )
        if self.record().status != "finished":
            return f"{why}; run the same command with {key}={was} to finish it first, or {REMEDY}."
        name, output = self.config.name, self.config.output
        words = [word.partition("=")[0] for word in sys.orig_argv]
        own = f"systems.{self.config.system}.{key}"  # the experiment may set the limit there
        changes = {
            "name": f"{name}-longer",
            "training.init_from": f"{output}/{name}/${{system}}/seed-${{seed}}",
            next((word for word in words if word.lstrip("+") == own), key): now - was,
        }
        further = "to train its best checkpoint further, under another name="
        return f"{why}; {further}, {_command_with(changes)}"

    def write_config(self, done: Progress) -> None:
        """Write the config, unless the folder already has an equal one.

        A limit that is below what the training has ``done`` keeps its stored value. A warning names
        the epochs of training.keep_epochs that have passed and were not kept.
        """
        epochs = sorted({*self.config.training.keep_epochs})
        if passed := [n for n in epochs if n <= done.epoch and not has_manifest(self.epoch(n))]:
            log.warning(
                f"training.keep_epochs={passed}: {self.path} is past these epochs and did not keep "
                "them; to keep them, choose another name=."
            )
        most = self.config.training.max_epochs
        if late := [n for n in epochs if n > most]:
            log.warning(f"training.keep_epochs={late}: training ends before, at max_epochs={most}.")
        path, mine = self.path / "config.json", json.loads(json.dumps(asdict(self.config)))
        if path.exists():
            stored, limits = read_object(path, REMEDY), mine["training"]
            least = {
                "max_epochs": done.epoch + (done.position > 0),
                "max_updates": done.update,
                "patience": max(done.stale, done.most_stale + 1),
            }
            for key, number in least.items():
                if (limits[key] or number) < number:
                    limits[key] = stored["training"].get(key)
            if stored == mine:
                return
        write_json(path, mine)

    def require_text(self, hashes: dict[str, str]) -> None:
        """Refuse to resume if a text has changed since the run started.

        ``hashes`` maps the name of each text to the SHA-256 of its current content.
        """
        for name, digest in self.record().data_sha256.items():
            if hashes.get(name) != digest:
                raise UserError(
                    f"{self.path} was trained on another text: {name} has changed since; restore "
                    f"it, {REMEDY}."
                )

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

    def record(self) -> TrainingRecord:
        """Read the run record; return an empty one if there is none yet."""
        return read_record(self.path, "delete it to resume this run") or TrainingRecord()

    def write_record(self, record: TrainingRecord) -> None:
        write_json(self.path / "run.json", record)
