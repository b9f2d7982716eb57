"""The scripts as a user runs them, and settings that make them small."""

import os
import subprocess
import sys
from pathlib import Path

from helpers import warm

ROOT = Path(__file__).resolve().parents[2]
SMALL = [
    "model.embedding_dim=16",
    "model.encoder.hidden_size=16",
    "model.attention.size=16",
    "model.decoder.hidden_size=32",
    "training.validate_every=5",
    "training.dev_bleu_sentences=10",
    "training.device=cpu",
    "evaluation.bootstrap=100",
]
TOY = [
    "corpus.train=300",
    "corpus.valid=40",
    "corpus.test_per_bucket=6",
    "corpus.max_words=30",
    "training.batch_size=30",
    *SMALL,
]


def command(script: str, *arguments: str, room: str = "scripts") -> list[str]:
    return [sys.executable, str(ROOT / room / f"{script}.py"), *arguments]


def run(
    folder: Path, script: str, *arguments: str, stdin: str = "", ok: bool = True, warnings="error"
):
    """Run a script in ``folder``; its output has no colours and no bars, as in a pipe."""
    done = subprocess.run(
        quick(script, *arguments) if warnings == "error" else command(script, *arguments),
        cwd=folder,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONWARNINGS": warnings, "CUDA_VISIBLE_DEVICES": ""},
    )
    if ok:
        assert done.returncode == 0, done.stderr
    return done


def quick(script: str, *arguments: str, room: str = "scripts") -> list[str]:
    """Command that starts a script; on Linux at once, in a copy of a process (see ``warm``)."""
    if sys.platform != "linux":
        return command(script, *arguments, room=room)
    python, path, *words = command(script, *arguments, room=room)
    return [python, "-I", "-S", warm.__file__, warm.address(), path, *words]
