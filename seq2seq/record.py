"""The record beside each result: what ran, on what, with which versions."""

import importlib.metadata
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from seq2seq.device import describe_hardware

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


def _git(*arguments: str) -> str | None:
    """Answer of git about the folder this package lies in; None outside a checkout."""
    try:
        answer = subprocess.run(
            ["git", *arguments],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def environment_record(device: torch.device) -> dict[str, Any]:
    """Command, versions, code revision and hardware, as JSON data."""
    status = _git("status", "--porcelain", "--untracked-files=no")
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "git_commit": _git("rev-parse", "HEAD"),
        "git_modified": None if status is None else bool(status),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
        "hardware": describe_hardware(device),
    }
