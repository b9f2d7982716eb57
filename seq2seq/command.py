"""The command ``seq2seq``, which runs a script of the project by name."""

import ast
import difflib
import os
import runpy
import shutil
import sys
import textwrap
from pathlib import Path

import seq2seq

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run the script that the first argument names, like ``python scripts/<name>.py``."""
    installed = HERE / "commands"  # pyproject.toml installs the scripts here
    folder = installed if installed.is_dir() else HERE.parent / "scripts"
    scripts = {path.stem: path for path in sorted(folder.glob("*.py")) if path.stem != "cli"}
    name, *arguments = sys.argv[1:] or ["--help"]
    if name in ("--help", "-h"):
        print(_help(scripts))
    elif name == "--version":
        print(seq2seq.__version__)
    elif name not in scripts:
        near = ", ".join(difflib.get_close_matches(name, scripts, 3, cutoff=0.0))
        sys.exit(f"error: {name} is not a command; nearest: {near}. See seq2seq --help.")
    else:
        sys.argv = [str(scripts[name]), *arguments]
        sys.path.insert(0, str(folder))
        runpy.run_path(sys.argv[0], run_name="__main__")


def command_of(script: str) -> str:
    """Return the command that starts ``script`` in the way this program was started.

    Without an active environment, the command may contain the path of the program or of Python.
    """
    program = sys.orig_argv[1] if len(sys.orig_argv) > 1 else ""
    if Path(program).name == "seq2seq":
        return f"{'seq2seq' if shutil.which('seq2seq') else program} {script}"
    python = "python" if os.environ.get("VIRTUAL_ENV") else _from_here(Path(sys.executable))
    path = HERE.parent / "scripts" / f"{script}.py"
    if "seq2seq" in sys.orig_argv[1:4] or not path.exists():
        return f"{python} -m seq2seq {script}"
    return f"{python} {_from_here(path)}"


def _from_here(path: Path) -> str:
    """Return the path relative to the current folder, if it lies below."""
    here = os.path.relpath(path)
    return str(path) if here.startswith("..") else here


def _help(scripts: dict[str, Path]) -> str:
    """Help text: each script with the first line of its docstring."""
    lines = ["seq2seq COMMAND KEY=VALUE ..., for example: seq2seq train system=attention", ""]
    for name, path in scripts.items():
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        does = text.partition("\n")[0].replace("`", "")
        lines.append(textwrap.fill(f"  {name:11}{does}", 80, subsequent_indent=" " * 13))
    return "\n".join([*lines, "", "seq2seq COMMAND --help shows the settings of a command."])
