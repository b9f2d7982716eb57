"""Folder of a training run: config, record, checkpoints and lock."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from filelock import Timeout

from seq2seq.checkpoint import has_manifest, newest_checkpoints, remove_checkpoint, stored_settings
from seq2seq.config import TrainConfig, flatten
from seq2seq.errors import UserError
from seq2seq.files import locked, read_object, write_json
from seq2seq.record import TrainingRecord, read_record

NOT_PART_OF_A_RUN = (
    "data",
    "output",
    "evaluation",
    "tokenization.workers",
    "corpus.mirror",
    "corpus.directory",
    "corpus.sample",
    "training.adapt_threads",
    "training.device",
    "training.keep_epochs",
    "training.keep_last",
    "training.log_every",
    "training.logger",
    "training.max_nonfinite_updates",
    "training.save_minutes",
)
"""Settings that may change when a run resumes: paths (text is compared by its hashes), saving,
logging, and the device."""
REMEDY = "choose another name=, seed= or output=, or move the run folder away"


def identity(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a config (JSON) that may not change on resuming, by dotted key."""
    free = set(NOT_PART_OF_A_RUN)
    return {k: v for k, v in flatten(config).items() if not {k, k.partition(".")[0]} & free}


class RunFolder:
    """Folder ``<output>/<name>/<system>/seed-<n>``; only a run of the same config may resume it."""

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.path = Path(config.output) / config.name / config.system / f"seed-{config.seed}"

    @property
    def best(self) -> Path:
        """Folder of the checkpoint with the best early-stopping metric."""
        return self.path / "checkpoints" / "best"

    def checkpoint(self, update: int, interim: bool = False) -> Path:
        """Folder of the checkpoint at ``update``; with ``interim``, of one between validations."""
        return self.path / "checkpoints" / f"{'interim' if interim else 'update'}-{update}"

    def epoch(self, number: int) -> Path:
        """Folder of the checkpoint after epoch ``number``, for training.keep_epochs."""
        return self.path / "checkpoints" / f"epoch-{number}"

    def newest(self) -> list[Path]:
        """Folders of the checkpoints that training can resume from, newest first."""
        return newest_checkpoints(self.path)

    def prune(self, keep: int) -> None:
        """Delete update-* and interim-* checkpoints; keep the newest, and ``keep`` of update-*."""
        whole = [folder for folder in self.newest() if has_manifest(folder)]
        needed = {*whole[:1], *[f for f in whole if f.name.startswith("update-")][:keep]}
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
        """Write the config into a new folder; refuse a folder with a run of another config."""
        path = self.path / "config.json"
        mine = json.loads(json.dumps(asdict(self.config)))
        if not path.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            write_json(path, mine)
            return
        old = identity(stored_settings(read_object(path, "move its folder away")))
        new = identity(mine)
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                raise UserError(
                    f"{self.path} holds a run of another config: {key} was {old.get(key)} and is "
                    f"now {new.get(key)}; {REMEDY}."
                )

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
        """Whether training has reached its stopping rule."""
        return self.record().status == "finished"

    @property
    def best_metric(self) -> float | None:
        """Best value of training.early_stopping_metric so far; Hydra sweepers optimise it."""
        return self.record().progress.best_metric

    def record(self) -> TrainingRecord:
        """Read the run record; return an empty one if there is none yet."""
        return read_record(self.path, "delete it to resume this run") or TrainingRecord()

    def write_record(self, record: TrainingRecord) -> None:
        """Replace the run record."""
        write_json(self.path / "run.json", record)
