"""The record next to each result: the command, the hardware and the versions."""

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, TypedDict

import torch

from seq2seq.config import read_json

PACKAGES = (
    "seq2seq",
    "torch",
    "torchtext",
    "sacrebleu",
    "sentencepiece",
    "sacremoses",
    "hydra-core",
    "numpy",
)
WHEREABOUTS = re.compile(
    r"\+*(data|output|directory|peers_python|test_texts(\.[^=]+)?|corpus\.(directory|mirror))="
)
"""Settings that say where files lie; a published command leaves their values out."""


class Record(TypedDict, total=False):
    """What run.json says of a training, or scores.json of translations: the keys that are read."""

    experiment: str | None
    system: str
    seed: int | None
    status: str
    reason: str | None
    precision: str | None
    progress: dict[str, float | None] | None
    parameters: dict[str, int]
    training_pairs: int
    data_sha256: dict[str, str]
    command: list[str]
    git_commit: str | None
    git_modified: bool | None
    earlier_commits: list[str]
    hardware: dict[str, str]
    corpus: str | None
    test_set: str
    search: str
    checkpoint: str
    training: "Record | None"
    members: "list[Record]"
    """Of several models as one, a record of each."""
    maps: list[int]
    identity: dict[str, Any]
    config: dict[str, Any] | None


def read_record(run: Path, remedy: str) -> dict[str, Any]:
    """The run.json of a run folder, checked; empty where there is none.

    UserError, which ends in ``remedy``, for a damaged one.
    """
    path = run / "run.json"
    return {**read_json(path, Record, remedy)} if path.is_file() else {}


def environment_record(device: torch.device) -> dict[str, Any]:
    """Command, versions, commit and hardware, as JSON data."""
    status = _git("status", "--porcelain", "--untracked-files=no")
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "git_commit": _git("rev-parse", "HEAD"),
        "git_modified": None if status is None else bool(status),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
        "hardware": _hardware(device),
    }


def earlier_commits(earlier: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Commits that worked on a result before, by its ``earlier`` record and that of now."""
    known = dict.fromkeys([*earlier.get("earlier_commits", []), earlier.get("git_commit")])
    return [commit for commit in known if commit not in (None, now.get("git_commit"))]


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


def _hardware(device: torch.device) -> dict[str, str]:
    # platform.processor() is empty or a mere "x86_64" on Linux; the kernel knows the name.
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8", errors="replace") if cpuinfo.is_file() else ""
    named = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    # A container or a batch system may lend fewer cores than the machine has.
    lent = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    record = {
        "device": str(device),
        "processor": named[1].strip() if named else platform.processor() or platform.machine(),
        "cores": str(lent),
        "threads": str(torch.get_num_threads()),
        "torch": torch.__version__,
        "system": platform.platform(),
    }
    if device.type == "cuda":
        record |= {"gpu": torch.cuda.get_device_name(device), "cuda": str(torch.version.cuda)}
    return record
