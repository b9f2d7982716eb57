"""Records stored next to results: the system, the command, the code and the machine."""

import contextlib
import importlib.metadata
import platform
import re
import subprocess
import sys
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from seq2seq.config import Natural, Stored, between, flatten, read_json

if TYPE_CHECKING:
    import torch

PACKAGES = ("seq2seq", "torch", "torchtext", "sacrebleu", "sentencepiece", "hydra-core", "numpy")
WHEREABOUTS = re.compile(
    r"\+*(data|output|directory|peers_python|test_texts(\.[^=]+)?|corpus\.(directory|mirror))="
)
"""Pattern of settings that hold paths of this machine; published commands omit these paths."""
called: ContextVar[list[str] | None] = ContextVar("called", default=None)
"""Name of a script and its arguments, while a function of Python does the script's work."""


@dataclass
class Progress(Stored):
    """Progress of a training, stored in every checkpoint."""

    update: Natural = 0
    """Number of updates made, skipped ones included."""
    epoch: Natural = 0
    position: Natural = 0
    """Number of updates made in the current epoch."""
    best_metric: float | None = None
    """Best dev loss or BLEU so far; None before the first validation."""
    best_update: Natural = 0
    validated_update: Natural = 0
    stale: Natural = 0
    """Number of validations since the best one."""
    nonfinite: Natural = 0
    """Number of updates skipped because their loss or gradient was not finite."""
    seconds: Annotated[float, between(0)] = 0.0
    target_tokens: Natural = 0


@dataclass
class Hardware(Stored):
    """Machine and PyTorch version."""

    device: str = "unknown"
    processor: str = "unknown"
    threads: str = "unknown"
    torch: str = "unknown"
    gpu: str | None = None


@dataclass(kw_only=True)
class Record(Stored):
    """Origin of a result: the system, the command, the code and the machine."""

    experiment: str | None = None
    system: str = ""
    seed: int | None = None
    parameters: dict[str, int] = field(default_factory=dict)
    """Number of trainable parameters per model part, and ``total``."""
    command: list[str] = field(default_factory=list)
    git_commit: str | None = None
    git_modified: bool | None = None
    earlier_commits: list[str] = field(default_factory=list)
    """Commits of the code that ran before the training was resumed."""
    python: str = "unknown"
    versions: dict[str, str] = field(default_factory=dict)
    hardware: Hardware = field(default_factory=Hardware)
    precision: str | None = None
    """Precision of the training; None in the record of an evaluation."""

    @property
    def name(self) -> str:
        """System and seed: ``attention, seed 1``."""
        return self.system if self.seed is None else f"{self.system}, seed {self.seed}"


@dataclass(kw_only=True)
class TrainingRecord(Record):
    """Content of run.json, the record of a training."""

    status: str = ""
    """running, interrupted or finished."""
    reason: str | None = None
    progress: Progress = field(default_factory=Progress)
    kernels: str = ""
    processes: int = 1
    training_pairs: int | None = None
    skipped_pairs: dict[str, int] = field(default_factory=dict)
    data_sha256: dict[str, str] = field(default_factory=dict)
    parent: dict[str, str] = field(default_factory=dict)
    """Path of the checkpoint training.init_from, and the sha256 of its manifest."""


@dataclass
class Member(Stored):
    """One model of an ensemble."""

    system: str = ""
    seed: int | None = None
    update: int | None = None
    training: TrainingRecord | None = None


@dataclass(kw_only=True)
class EvaluationRecord(Record):
    """Part ``record`` of scores.json: the origin of the translations."""

    training: TrainingRecord | None = None
    """None without a run.json, or if members come from several runs."""
    members: list[Member] = field(default_factory=list)
    """Models of an ensemble; [] for a single model."""
    corpus: str | None = None
    test_set: str | None = None
    search: str | None = None
    checkpoint: str | None = None
    """Folder of the (first) model."""
    config: dict[str, Any] | None = None
    """Config of the model, plus the ``decoding`` of this search; None for ``hypotheses=FILE``."""
    identity: dict[str, Any] = field(default_factory=dict)
    """Facts that the translations depend on, such as the checkpoint and the source text."""
    maps: list[int] = field(default_factory=list)
    cut_sources: Natural = 0
    """Number of sources of which only the first ``tokenization.max_pieces`` pieces were read."""
    seconds: float | None = None
    sentences_per_second: float | None = None

    @property
    def trainings(self) -> list[TrainingRecord]:
        """Training record of each model that has one."""
        found = [member.training for member in self.members] or [self.training]
        return [training for training in found if training is not None]

    @property
    def languages(self) -> dict[str, str]:
        """Language of the "source" and the "target" of the training text, where they are known."""
        known = flatten(self.config or {})
        sides = {side: known.get(f"corpus.{side}") for side in ("source", "target")}
        return {side: str(language) for side, language in sides.items() if language}


def read_record(run: Path, remedy: str) -> TrainingRecord | None:
    """Read the run.json of a run folder, if it is there; an error ends in ``remedy``."""
    path = run / "run.json"
    return read_json(path, TrainingRecord, remedy) if path.is_file() else None


def environment_record(device: "torch.device | None" = None) -> dict[str, Any]:
    """Fields of a :class:`Record` about this process: command, code; with ``device``, machine."""
    versions = dict.fromkeys(PACKAGES, "not installed")
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    status = _git("status", "--porcelain", "--untracked-files=no")
    return {
        "command": called.get() or [Path(sys.argv[0]).name, *sys.argv[1:]],
        "git_commit": _git("rev-parse", "HEAD"),
        "git_modified": None if status is None else bool(status),
        "python": platform.python_version(),
        "versions": versions,
        "hardware": _hardware(device) if device else Hardware(),
    }


def _git(*arguments: str) -> str | None:
    """Output of git for this package's own repository; None if there is none, or if git fails."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():  # the package may lie inside another repository
        return None
    settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 10, "check": True}
    try:
        return subprocess.run(["git", *arguments], cwd=root, **settings).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _hardware(device: "torch.device") -> Hardware:
    import torch

    # platform.processor() is empty or a mere "x86_64" on Linux; the kernel knows the name.
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8", errors="replace") if cpuinfo.is_file() else ""
    named = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return Hardware(
        device=str(device),
        processor=named[1].strip() if named else platform.processor() or platform.machine(),
        threads=str(torch.get_num_threads()),
        torch=torch.__version__,
        gpu=torch.cuda.get_device_name(device) if device.type == "cuda" else None,
    )
