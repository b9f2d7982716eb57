"""The command ``seq2seq``, which runs a script of the project by name."""

import ast
import runpy
import sys
import textwrap
from pathlib import Path

import seq2seq
from seq2seq.config import nearest

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
        near = nearest(name, scripts)
        sys.exit(f"error: {name} is not a command; nearest: {near}. See seq2seq --help.")
    else:
        sys.argv = [str(scripts[name]), *arguments]
        sys.path.insert(0, str(folder))
        runpy.run_path(sys.argv[0], run_name="__main__")


def _help(scripts: dict[str, Path]) -> str:
    """Help text: each script with the first line of its docstring."""
    lines = ["seq2seq COMMAND KEY=VALUE ..., for example: seq2seq train system=attention", ""]
    for name, path in scripts.items():
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        does = text.partition("\n")[0].replace("`", "")
        lines.append(textwrap.fill(f"  {name:11}{does}", 80, subsequent_indent=" " * 13))
    return "\n".join([*lines, "", "seq2seq COMMAND --help shows the settings of a command."])
