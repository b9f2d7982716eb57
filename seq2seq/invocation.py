"""How a reader may start another part of this program."""

import shutil
import sys
from pathlib import Path


def command_of(script: str) -> str:
    """Return the command that starts ``script`` in the way this program was started."""
    python, program, *_ = [*sys.orig_argv, "python", "python"]
    beside = Path(program).parent / f"{script}.py"
    if Path(program).name == "seq2seq":
        return f"{'seq2seq' if shutil.which('seq2seq') else program} {script}"
    return f"{python} {beside if beside.is_file() else f'-m seq2seq {script}'}"
