"""Provenance of a result in one line: its command, hardware, PyTorch version and commit."""

import re
import shlex
from collections.abc import Sequence

from seq2seq.record import WHEREABOUTS, Record

ABSOLUTE_PATH = re.compile(r"(?<=[=,\[:'\"\s])/(?!/)[^,\]}'\"]*/(?=[^,\]}'\"/]+/[^,\]}'\"/]+)")
"""Pattern of an absolute path without its last two parts; the path is a value or in a list."""


def describe_environments(records: Sequence[Record]) -> list[str]:
    """Describe how results were made: a line per combination of hardware, precision, commit."""
    commands: dict[str, list[str]] = {}
    for record in records:
        machine = describe_machine(record, record.precision)
        commands.setdefault(machine, []).append(f"`{command(record.command)}`")
    return [
        f"Command: {', '.join(dict.fromkeys(of_machine))}. {machine}"
        for machine, of_machine in commands.items()
    ]


def describe_machine(record: Record, precision: str | None = None) -> str:
    """Describe hardware, PyTorch version and commit in one line."""
    hardware = record.hardware
    several = "" if hardware.threads == "1" else "s"
    threads = f"{hardware.processor}, {hardware.threads} thread{several}"
    code = ""
    if commit := record.git_commit:
        code = f"; code `{commit[:10]}`{' (modified)' if record.git_modified else ''}"
        if before := record.earlier_commits:
            code += f", resumed from {', '.join(f'`{other[:10]}`' for other in before)}"
    return (
        f"Hardware: {hardware.gpu or threads}{f', {precision}' if precision else ''}; "
        f"PyTorch {hardware.torch}{code}."
    )


def command(arguments: Sequence[str]) -> str:
    """Format the command line of a record, without the paths of files."""
    kept = []
    for argument in arguments:
        if not WHEREABOUTS.match(argument):
            kept.append(ABSOLUTE_PATH.sub(".../", argument))
        elif not re.match(r"\+*(data|output|peers_python|corpus\.mirror)=", argument):
            kept.append(f"{argument.partition('=')[0]}=...")  # shows that own text was used
    return shlex.join(["python", f"scripts/{kept[0]}", *kept[1:]]) if kept else "unknown"
