"""The records next to results: what was trained or translated, and how it came about."""

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import torch

from seq2seq.config import Natural, Stored, between, read_json
from seq2seq.errors import UserError

PACKAGES = ("seq2seq", "torch", "torchtext", "sacrebleu", "sentencepiece", "sacremoses",
            "hydra-core", "numpy")  # fmt: skip
WHEREABOUTS = re.compile(
    r"\+*(data|output|directory|peers_python|test_texts(\.[^=]+)?|corpus\.(directory|mirror))="
)
"""Settings that say where files lie; a published command leaves their values out."""


@dataclass
class Progress(Stored):
    """How far training has come; all of it is in every checkpoint."""

    update: Natural = 0
    """Updates made, skipped ones included."""
    epoch: Natural = 0
    """Epochs completed."""
    position: Natural = 0
    """Updates made in the current epoch."""
    best_metric: float | None = None
    """Best dev loss or BLEU so far; None before the first validation."""
    best_update: Natural = 0
    """The update that reached it."""
    validated_update: Natural = 0
    """The update of the latest validation."""
    stale: Natural = 0
    """Validations since the best."""
    nonfinite: Natural = 0
    """Updates that were skipped because their loss or gradient was not finite."""
    seconds: Annotated[float, between(0)] = 0.0
    """Wall time spent training, validations included."""
    target_tokens: Natural = 0
    """Target tokens trained on, ends of sentence included."""

    def __post_init__(self) -> None:
        if max(self.best_update, self.validated_update) > self.update:
            raise UserError(f"best_update or validated_update is beyond update={self.update}.")


@dataclass
class Hardware(Stored):
    """A machine, and the PyTorch on it."""

    device: str = "unknown"
    processor: str = "unknown"
    cores: str = "unknown"
    """Those that this process may use."""
    threads: str = "unknown"
    torch: str = "unknown"
    system: str = "unknown"
    gpu: str | None = None
    cuda: str | None = None


@dataclass(kw_only=True)
class Record(Stored):
    """Which system a result is of, and by which command, code and machine it was made."""

    experiment: str | None = None
    system: str = ""
    seed: int | None = None
    parameters: dict[str, int] = field(default_factory=dict)
    """Of each part of the model, and in ``total``."""
    command: list[str] = field(default_factory=list)
    git_commit: str | None = None
    git_modified: bool | None = None
    earlier_commits: list[str] = field(default_factory=list)
    """Code that made updates before a training was resumed."""
    python: str = "unknown"
    versions: dict[str, str] = field(default_factory=dict)
    hardware: Hardware = field(default_factory=Hardware)
    precision: str | None = None
    """Of the training; None in the record of an evaluation."""

    @property
    def name(self) -> str:
        """System and seed: ``attention, seed 1``."""
        return self.system if self.seed is None else f"{self.system}, seed {self.seed}"


@dataclass(kw_only=True)
class TrainingRecord(Record):
    """What run.json says of a training."""

    status: str = ""
    """running, interrupted or finished."""
    reason: str | None = None
    """What ended it."""
    progress: Progress = field(default_factory=Progress)
    kernels: str = ""
    processes: int = 1
    training_pairs: int | None = None
    skipped_pairs: dict[str, int] = field(default_factory=dict)
    data_sha256: dict[str, str] = field(default_factory=dict)


@dataclass
class Member(Stored):
    """One of several models that translate as one."""

    system: str = ""
    seed: int | None = None
    update: int | None = None
    training: TrainingRecord | None = None


@dataclass(kw_only=True)
class EvaluationRecord(Record):
    """What scores.json says of how the translations were made."""

    training: TrainingRecord | None = None
    """Of the model; None for a checkpoint without its run, and for models of several trainings."""
    members: list[Member] = field(default_factory=list)
    """Of several models as one; [] of one alone."""
    corpus: str | None = None
    test_set: str | None = None
    search: str | None = None
    checkpoint: str | None = None
    """The folder of the (first) model."""
    config: dict[str, Any] | None = None
    """The model's, with the ``decoding`` of this search; None for text that was given."""
    identity: dict[str, Any] = field(default_factory=dict)
    """What the translations depend on."""
    maps: list[int] = field(default_factory=list)
    """The lines whose attention was asked for, from 1."""
    seconds: float | None = None
    sentences_per_second: float | None = None

    @property
    def trainings(self) -> list[TrainingRecord]:
        """The trainings of all models, as far as their runs are known."""
        found = [member.training for member in self.members] or [self.training]
        return [training for training in found if training is not None]


def read_record(run: Path, remedy: str) -> TrainingRecord | None:
    """The run.json of a run folder, checked; None where there is none.

    UserError, which ends in ``remedy``, for a damaged one.
    """
    path = run / "run.json"
    return read_json(path, TrainingRecord, remedy) if path.is_file() else None


def environment_record(device: torch.device) -> dict[str, Any]:
    """The fields of a :class:`Record` that this process decides: command, code, machine."""
    status = _git("status", "--porcelain", "--untracked-files=no")
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "git_commit": _git("rev-parse", "HEAD"),
        "git_modified": None if status is None else bool(status),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
        "hardware": _hardware(device),
    }


def earlier_commits(before: Record, commit: str | None) -> list[str]:
    """Commits other than ``commit`` that worked on a result up to its record ``before``."""
    known = dict.fromkeys([*before.earlier_commits, before.git_commit])
    return [one for one in known if one not in (None, commit)]


def _git(*arguments: str) -> str | None:
    """The answer of git about this package's repository; None where it lies in none of its own."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():  # an installed package may lie in another's repository
        return None
    settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 10, "check": True}
    try:
        return subprocess.run(["git", *arguments], cwd=root, **settings).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _hardware(device: torch.device) -> Hardware:
    # platform.processor() is empty or a mere "x86_64" on Linux; the kernel knows the name.
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8", errors="replace") if cpuinfo.is_file() else ""
    named = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    # A container or a batch system may lend fewer cores than the machine has.
    lent = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cuda = device.type == "cuda"
    return Hardware(
        device=str(device),
        processor=named[1].strip() if named else platform.processor() or platform.machine(),
        cores=str(lent),
        threads=str(torch.get_num_threads()),
        torch=torch.__version__,
        system=platform.platform(),
        gpu=torch.cuda.get_device_name(device) if cuda else None,
        cuda=str(torch.version.cuda) if cuda else None,
    )
