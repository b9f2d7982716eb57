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

ABSOLUTE = re.compile(r"(?<=[=,\[:'\"\s])/(?!/)[^,\]}'\"]+")
"""A path from the root as a value, also in a list or a dictionary."""


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


def earlier_commits(earlier: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Which other code worked at a result before; from its record until now, and that of now."""
    before = earlier.get("earlier_commits")
    known = [*(before if isinstance(before, list) else []), earlier.get("git_commit")]
    texts = [other for other in known if isinstance(other, str)]
    return [other for other in dict.fromkeys(texts) if other != now.get("git_commit")]


def describe_environment(record: dict[str, Any], precision: str | None = None) -> str:
    """One line on what made a result, from its :func:`environment_record`."""
    arguments = command(record.get("command", []))
    return f"Command: `{arguments}`. {describe_machine(record, precision)}"


def describe_environments(records: Sequence[dict[str, Any]]) -> list[str]:
    """The same for several results, in order: a line for all that one machine and code have made.

    Of commands that differ in some arguments, what they share is said once. Trainings are told
    apart by the precision in their records, too.
    """
    made: dict[tuple[str, str], list[list[str]]] = {}
    for record in records:
        arguments = _published(record.get("command", []))
        script = arguments[0] if arguments else ""
        machine = describe_machine(record, record.get("precision"))
        made.setdefault((script, machine), []).append(arguments)
    return [f"{_in_one(commands)}. {machine}" for (_, machine), commands in made.items()]


def describe_machine(record: dict[str, Any], precision: str | None = None) -> str:
    """The same without the command: hardware, PyTorch, code."""
    hardware = record.get("hardware", {})
    several = "" if str(hardware.get("threads")) == "1" else "s"
    threads = f"{hardware.get('processor')}, {hardware.get('threads')} thread{several}"
    code = ""
    if commit := record.get("git_commit"):
        code = f"; code `{commit[:10]}`{' (modified)' if record.get('git_modified') else ''}"
        if before := record.get("earlier_commits"):
            code += f", going on from {', '.join(f'`{other[:10]}`' for other in before)}"
    return (
        f"Hardware: {hardware.get('gpu') or threads}{f', {precision}' if precision else ''}; "
        f"PyTorch {hardware.get('torch')}{code}."
    )


def command(arguments: Sequence[str]) -> str:
    """The command line of a record, with ``...`` for the places of a text, and no other places."""
    kept = _published(arguments)
    return shlex.join(["python", f"scripts/{kept[0]}", *kept[1:]]) if kept else "unknown"


def _published(arguments: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for argument in arguments:
        if own := OWN_TEXT.match(argument):
            kept.append(f"{own[0]}...")
        elif not WHEREABOUTS.match(argument):
            kept.append(ABSOLUTE.sub(_without_place, argument))
    return kept


def _without_place(path: re.Match[str]) -> str:
    """Of a path from the root what tells one run from another, and not where they all lie."""
    parts = path[0].split("/")[1:]
    most = min(2, len(parts) - 2)  # of folders of one's own the last, but not the first
    start = parts.index("outputs") if "outputs" in parts else len(parts) - max(1, most)
    return "/".join(["...", *parts[start:]])


def _in_one(commands: Sequence[Sequence[str]]) -> str:
    """Calls of one script: what all have in common, then what each of them adds."""
    shared = [one for one in commands[0] if all(one in arguments for arguments in commands)]
    added = [shlex.join(one for one in own if one not in shared) for own in commands]
    each = [f"with `{one}`" if one else "as it is" for one in dict.fromkeys(added)]
    if len(each) == 1:
        return f"Command: `{command(commands[0])}`"
    return f"Command: `{command(shared)}`, {', '.join(each[:-1])} and {each[-1]}"
