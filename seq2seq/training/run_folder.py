"""The folder of one training run: its config, its record, its checkpoints, its lock."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from filelock import Timeout

from seq2seq.checkpoint import has_manifest, newest_checkpoints, remove_checkpoint
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
"""Settings that may change when a run is resumed: where files are (text is compared by its hashes),
what is saved and logged, and the device."""
REMEDY = "choose another name=, seed= or output=, or move that folder away"


def identity(config: dict[str, Any]) -> dict[str, Any]:
    """The part of a config, as JSON, that makes a run what it is, by dotted key."""
    free = set(NOT_PART_OF_A_RUN)
    return {k: v for k, v in flatten(config).items() if not {k, k.partition(".")[0]} & free}


class RunFolder:
    """``<output>/<name>/<system>/seed-<n>``: of one config, and resumed by it alone."""

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.path = Path(config.output) / config.name / config.system / f"seed-{config.seed}"

    @property
    def best(self) -> Path:
        """The checkpoint with the best early-stopping metric."""
        return self.path / "checkpoints" / "best"

    def checkpoint(self, update: int, interim: bool = False) -> Path:
        """Where the state after the validation at ``update``, or between two, is kept."""
        return self.path / "checkpoints" / f"{'interim' if interim else 'update'}-{update}"

    def epoch(self, number: int) -> Path:
        """Where the state after this epoch is kept, if training.keep_epochs names it."""
        return self.path / "checkpoints" / f"epoch-{number}"

    def newest(self) -> list[Path]:
        """The checkpoints that training can resume from, newest first."""
        return newest_checkpoints(self.path)

    def prune(self, keep: int) -> None:
        """Delete all but the best checkpoint, the newest and the ``keep`` newest of validations."""
        whole = [folder for folder in self.newest() if has_manifest(folder)]
        needed = {*whole[:1], *[f for f in whole if f.name.startswith("update-")][:keep]}
        cut_off = (self.path / "checkpoints").glob("*-*.part")
        for folder in {*self.newest(), *cut_off} - needed:
            remove_checkpoint(folder)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """A context that locks the folder; UserError where another process trains in it."""
        try:
            with locked(self.path / "lock", wait=False):
                yield
        except Timeout:
            raise UserError(
                f"{self.path} is being trained by another process; wait for it, stop it, or choose "
                "another name=, seed= or output=."
            ) from None

    def claim(self) -> None:
        """Take the folder for this config; refuse one that holds a run of another config."""
        path = self.path / "config.json"
        mine = json.loads(json.dumps(asdict(self.config)))
        if not path.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            write_json(path, mine)
            return
        settings = read_object(path, "move its folder away")
        old = identity({key: settings[key] for key in mine if key in settings})  # 0.2 wrote more
        new = identity(mine)
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                raise UserError(
                    f"{self.path} holds a run of another config: {key} was {old.get(key)} and is "
                    f"now {new.get(key)}; {REMEDY}."
                )

    def require_text(self, hashes: dict[str, str]) -> None:
        """Refuse to resume with text other than this, by the SHA-256 of each file."""
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
        """The best dev loss or BLEU (training.early_stopping_metric) so far, for a sweeper."""
        return self.record().progress.best_metric

    def record(self) -> TrainingRecord:
        """The run record so far; empty before the first update."""
        return read_record(self.path, "delete it to resume this run") or TrainingRecord()

    def write_record(self, record: TrainingRecord) -> None:
        """Replace the run record."""
        write_json(self.path / "run.json", record)
