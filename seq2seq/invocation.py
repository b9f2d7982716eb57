"""How this program was started, and how a reader may start another part of it."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
_called: ContextVar[list[str] | None] = ContextVar("called", default=None)


@contextmanager
def called_as(command: list[str]) -> Iterator[None]:
    """Context whose records have ``command``, although this process was started otherwise."""
    token = _called.set(command)
    try:
        yield
    finally:
        _called.reset(token)


def this_command() -> list[str]:
    """Name of the script and its arguments, as in records."""
    return _called.get() or [Path(sys.argv[0]).name, *sys.argv[1:]]


def command_of(script: str) -> str:
    """Return the command that starts ``script`` in the way this program was started.

    Without an active environment, the command may contain the path of the program or of Python.
    """
    program = sys.orig_argv[1] if len(sys.orig_argv) > 1 else ""
    if Path(program).name == "seq2seq":
        return f"{'seq2seq' if shutil.which('seq2seq') else program} {script}"
    python = "python" if os.environ.get("VIRTUAL_ENV") else _from_here(Path(sys.executable))
    path = SCRIPTS / f"{script}.py"
    if "seq2seq" in sys.orig_argv[1:4] or not path.exists():
        return f"{python} -m seq2seq {script}"
    return f"{python} {_from_here(path)}"


def _from_here(path: Path) -> str:
    """Return the path relative to the current folder, if it lies below."""
    here = os.path.relpath(path)
    return str(path) if here.startswith("..") else here
