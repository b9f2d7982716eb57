"""The folder of one training run: whose it is, its record, where its checkpoints lie."""

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seq2seq.checkpoint import newest_checkpoints
from seq2seq.config import ExperimentConfig, flatten, from_json, to_json
from seq2seq.data.parallel_text import SIDES
from seq2seq.errors import UserError
from seq2seq.files import JSON_BYTES, parse_object, read_plain, write_json
from seq2seq.sealed_folder import is_sealed, remove

try:
    import fcntl
except ImportError:  # Windows: two trainings of one folder must not be started
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

# Where files lie or how results are shown: changing these does not make it another run.
NOT_PART_OF_A_RUN = (
    "data",
    "output",
    "systems",
    "baseline",
    "baselines",
    "seeds",
    "beams",
    "test_texts",
    "decoding",
    "evaluation",
    "corpus.directory",  # the text itself is compared, by its hashes
    *(f"corpus.{split}_{side}" for split in ("train", "valid", "test") for side in SIDES),
    "corpus.mirror",
    "tokenization.workers",
    "training.device",
    "training.keep_last",
    "training.log_every",
    "training.max_nonfinite_updates",
    "training.save_minutes",
    "training.tensorboard",
)


def identity(config: dict[str, Any]) -> dict[str, Any]:
    """The part of a config, as JSON, that makes a run what it is, by dotted key."""
    kept = {key: value for key, value in config.items() if key not in NOT_PART_OF_A_RUN}
    return {key: value for key, value in flatten(kept).items() if key not in NOT_PART_OF_A_RUN}


def _as_of_today(config: dict[str, Any], path: Path) -> dict[str, Any]:
    """A config that an older version wrote: a setting that it did not know had its default."""
    try:
        return json.loads(json.dumps(to_json(from_json(ExperimentConfig, config, str(path)))))
    except UserError:  # altered, or of a newer version: let the differences speak
        return config


def _differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Keys whose values differ, with both values."""
    return [
        f"{key} was {old.get(key)} and is now {new.get(key)}"
        for key in sorted(set(old) | set(new))
        if old.get(key) != new.get(key)
    ]


class RunFolder:
    """``<output>/<name>/<system>/seed-<n>``: claimed by one config, continued by it alone."""

    def __init__(self, config: ExperimentConfig) -> None:
        self.config = config
        self.path = Path(config.output) / config.name / config.system / f"seed-{config.seed}"
        self.refused: set[Path] = set()
        """Checkpoints that could not be gone on from. They stay where they are, for nobody knows
        why, but take no other's place."""

    @property
    def best(self) -> Path:
        """The checkpoint with the best dev measure."""
        return self.path / "checkpoints" / "best"

    def checkpoint(self, update: int) -> Path:
        """Where the state after the validation at ``update`` is kept."""
        return self.path / "checkpoints" / f"update-{update}"

    def interim(self, update: int) -> Path:
        """Where the state at ``update``, between two validations, is kept."""
        return self.path / "checkpoints" / f"interim-{update}"

    def newest(self) -> list[Path]:
        """The checkpoints that training can go on from, newest first."""
        return newest_checkpoints(self.path)

    def prune(self, keep: int) -> None:
        """Delete what is no longer needed, and what cut-off writing left.

        Stay: the best checkpoint, the ``keep`` newest of those made at validations, the newest one,
        if that was made in between, and what was ``refused``.
        """
        newest = [folder for folder in self.newest() if folder not in self.refused]
        whole = [folder for folder in newest if is_sealed(folder)]
        validated = [folder for folder in whole if folder.name.startswith("update-")]
        needed = {*whole[:1], *validated[:keep]}
        cut_off = (self.path / "checkpoints").glob("*-*.part")
        for folder in (*(folder for folder in newest if folder not in needed), *cut_off):
            remove(folder)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training in this folder, however this one ends.

        Raises:
            UserError: one of them does; the sentence names its process id.
        """
        with (self.path / "lock").open("a+", encoding="utf-8") as lock:
            try:
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                raise UserError(
                    f"{self.path} is being trained by process {lock.read().strip()}; wait for it, "
                    "stop it, or choose another name=, seed= or output=."
                ) from None
            except OSError:  # some network file systems know no locks
                log.warning("No locks in %s: do not start two trainings of it at once", self.path)
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield

    @property
    def finished(self) -> bool:
        """Whether training has ended by its own rule."""
        return self.record().get("status") == "finished"

    def claim(self) -> None:
        """Take the folder for this config; refuse one that holds a run of another config."""
        path = self.path / "config.json"
        mine = json.loads(json.dumps(to_json(self.config)))
        if not path.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            write_json(path, mine)
            return
        mend = f"move the folder {self.path} away or choose another experiment name"
        theirs = _as_of_today(_read_object(path, mend), path)
        if differences := _differences(identity(theirs), identity(mine)):
            more = f" (and {len(differences) - 1} more)" if len(differences) > 1 else ""
            raise UserError(
                f"{self.path} holds a run of another config: {differences[0]}{more}; choose "
                "another name=, seed= or output=, or move that folder away."
            )

    def require_text(self, hashes: dict[str, str]) -> None:
        """Refuse to go on with another text than the run began with; see PreparedData.hashes."""
        earlier = self.record().get("data_sha256", hashes)
        earlier = earlier if isinstance(earlier, dict) else {}
        for name, digest in hashes.items():
            if earlier.get(name) != digest:
                raise UserError(
                    f"{self.path} was trained on another text: {name} has changed since; restore "
                    "it, choose another name=, seed= or output=, or move that folder away."
                )

    def record(self) -> dict[str, Any]:
        """The run record so far; empty before the first update."""
        path = self.path / "run.json"
        if not path.exists():
            return {}
        return _read_object(path, "delete it to train this run again from its last checkpoint")

    def write_record(self, record: dict[str, Any]) -> None:
        """Replace the run record."""
        write_json(self.path / "run.json", record)


def _read_object(path: Path, mend: str) -> dict[str, Any]:
    try:
        return parse_object(read_plain(path, JSON_BYTES))
    except ValueError:
        raise UserError(f"{path} is not JSON; {mend}.") from None
