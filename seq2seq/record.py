"""The record beside each result: what ran, on what, with which versions."""

import importlib.metadata
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
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
# Where files lie is nobody else's business.
WHEREABOUTS = re.compile(
    r"\+*(data|output|directory|peers_python|test_texts(\.[^=]+)?|corpus\.(directory|mirror|\w+_(source|target)))="
)
# That there were files of one's own may change a result: said, without the place.
OWN_TEXT = re.compile(
    r"\+*(directory|test_texts(\.[^=]+)?|corpus\.(directory|\w+_(source|target)))="
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


def describe_environment(record: dict[str, Any], precision: str | None = None) -> str:
    """One line on what made a result, from its :func:`environment_record`."""
    arguments = command(record.get("command", []))
    return f"Command: `{arguments}`. {describe_machine(record, precision)}"


def describe_machine(record: dict[str, Any], precision: str | None = None) -> str:
    """The same without the command: hardware, PyTorch, code."""
    hardware = record.get("hardware", {})
    threads = f"{hardware.get('processor')}, {hardware.get('threads')} threads"
    code = ""
    if commit := record.get("git_commit"):
        code = f"; code `{commit[:10]}`{' (modified)' if record.get('git_modified') else ''}"
    return (
        f"Hardware: {hardware.get('gpu') or threads}{f', {precision}' if precision else ''}; "
        f"PyTorch {hardware.get('torch')}{code}."
    )


def command(arguments: Sequence[str]) -> str:
    """The command line of a record, with ``...`` for the places of a text, and no other places."""
    kept = []
    for argument in arguments:
        if own := OWN_TEXT.match(argument):
            kept.append(f"{own[0]}...")
        elif not WHEREABOUTS.match(argument):
            kept.append(argument)
    return shlex.join(["python", f"scripts/{kept[0]}", *kept[1:]]) if kept else "unknown"
