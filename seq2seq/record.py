"""The record next to each result: what ran, on what, with which versions."""

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
    *("seq2seq", "torch", "torchtext", "sacrebleu", "sentencepiece", "sacremoses"),
    *("hydra-core", "numpy"),
)
WHEREABOUTS = re.compile(
    r"\+*(data|output|directory|peers_python|test_texts(\.[^=]+)?|corpus\.(directory|mirror|\w+_(source|target)))="
)
"""Settings that say where files lie; a published command leaves their values out."""
ABSOLUTE_PATH = re.compile(r"(?<=[=,\[:'\"\s])/(?!/)[^,\]}'\"]*/(?=[^,\]}'\"/]+/[^,\]}'\"/]+)")
"""All but the last two parts of a path from the root, as a value or in a list of them."""


def _git(*arguments: str) -> str | None:
    """The answer of git about this package's repository; None where it lies in none of its own."""
    root = Path(__file__).resolve().parents[1]

    def ask(*words: str) -> str:
        settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 10}
        return subprocess.run(["git", *words], cwd=root, check=True, **settings).stdout.strip()

    try:
        # An installed package may lie in the repository of something else.
        own = Path(ask("rev-parse", "--show-toplevel")).resolve() == root
        return ask(*arguments) if own else None
    except (OSError, subprocess.SubprocessError):
        return None


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def environment_record(device: torch.device) -> dict[str, Any]:
    """Command, versions, commit and hardware, as JSON data."""
    status = _git("status", "--porcelain", "--untracked-files=no")
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "git_commit": _git("rev-parse", "HEAD"),
        "git_modified": None if status is None else bool(status),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
        "hardware": describe_hardware(device),
    }


def earlier_commits(earlier: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Commits that worked on a result before, by its ``earlier`` record and that of now."""
    known = dict.fromkeys([*earlier.get("earlier_commits", []), earlier.get("git_commit")])
    return [commit for commit in known if commit not in (None, now.get("git_commit"))]


def describe_environment(record: dict[str, Any], precision: str | None = None) -> str:
    """One line on what made a result, from its :func:`environment_record`."""
    return f"Command: `{command(record.get('command', []))}`. {describe_machine(record, precision)}"


def describe_environments(records: Sequence[dict[str, Any]]) -> list[str]:
    """The same for several results: a line for all commands of one machine, precision and code."""
    commands: dict[str, list[str]] = {}
    for record in records:
        machine = describe_machine(record, record.get("precision"))
        commands.setdefault(machine, []).append(f"`{command(record.get('command', []))}`")
    return [
        f"Command: {', '.join(dict.fromkeys(of_machine))}. {machine}"
        for machine, of_machine in commands.items()
    ]


def describe_machine(record: dict[str, Any], precision: str | None = None) -> str:
    """One line on hardware, PyTorch and code."""
    hardware = record.get("hardware", {})
    several = "" if str(hardware.get("threads")) == "1" else "s"
    threads = f"{hardware.get('processor')}, {hardware.get('threads')} thread{several}"
    code = ""
    if commit := record.get("git_commit"):
        code = f"; code `{commit[:10]}`{' (modified)' if record.get('git_modified') else ''}"
        if before := record.get("earlier_commits"):
            code += f", resumed from {', '.join(f'`{other[:10]}`' for other in before)}"
    return (
        f"Hardware: {hardware.get('gpu') or threads}{f', {precision}' if precision else ''}; "
        f"PyTorch {hardware.get('torch')}{code}."
    )


def command(arguments: Sequence[str]) -> str:
    """The command line of a record, without the places of files."""
    kept = []
    for argument in arguments:
        if not WHEREABOUTS.match(argument):
            kept.append(ABSOLUTE_PATH.sub(".../", argument))
        elif not re.match(r"\+*(data|output|peers_python|corpus\.mirror)=", argument):
            kept.append(f"{argument.partition('=')[0]}=...")  # text of one's own changes a result
    return shlex.join(["python", f"scripts/{kept[0]}", *kept[1:]]) if kept else "unknown"
