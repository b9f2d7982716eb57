"""How this program was started, and how a reader may start another part of it."""

import shutil
import sys
from contextvars import ContextVar
from pathlib import Path

called: ContextVar[list[str] | None] = ContextVar("called", default=None)
"""Name of a script and its arguments, while a function of Python does the script's work."""


def this_command() -> list[str]:
    """Name of the script and its arguments, as in records."""
    return called.get() or [Path(sys.argv[0]).name, *sys.argv[1:]]


def command_of(script: str) -> str:
    """Return the command that starts ``script`` in the way this program was started."""
    python, program, *_ = [*sys.orig_argv, "python", "python"]
    beside = Path(program).with_name(f"{script}.py")
    if Path(program).name == "seq2seq":
        return f"{'seq2seq' if shutil.which('seq2seq') else program} {script}"
    return f"{python} {beside if beside.is_file() else f'-m seq2seq {script}'}"
