"""The scripts as a user runs them, and settings that make them small."""

import io
import logging
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import pytest

from seq2seq.interruption import STOPS

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


def command(script: str, *words: str) -> list[str]:
    """Command that starts a script in a process of its own, which takes seconds."""
    return [sys.executable, str(ROOT / "scripts" / f"{script}.py"), *words]


def run(
    folder: Path, script: str, *words: str, stdin: str = "", ok: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a script in ``folder``, in this process; its streams are files, and no terminal."""
    streams = {
        name: io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8")
        for name, text in {"stdin": stdin, "stdout": "", "stderr": ""}.items()
    }
    started = command(script, *words)
    level, handlers = logging.root.level, {number: signal.getsignal(number) for number in STOPS}
    with mock.patch.dict(os.environ), pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in {**streams, "argv": started[1:], "orig_argv": started}.items():
            patch.setattr(sys, name, value)
        patch.setattr(logging.root, "handlers", [])  # as in a process that nobody has set up
        patch.setattr("torch.cuda.is_available", lambda: False)
        draw_nothing(patch)
        try:
            runpy.run_path(started[1], run_name="__main__")
            status = 0
        except SystemExit as stop:
            status = stop.code or 0
        finally:
            logging.root.setLevel(level)
            for number, handler in handlers.items():
                signal.signal(number, handler)
    if isinstance(status, str):
        streams["stderr"].write(f"{status}\n")
        status = 1
    for stream in streams.values():
        stream.seek(0)
    printed, logged = streams["stdout"].read(), streams["stderr"].read()
    assert not ok or status == 0, logged
    return subprocess.CompletedProcess(started, status, printed, logged)


def draw_nothing(patch: pytest.MonkeyPatch, modules: Sequence[str] = ("compare", "page")) -> None:
    """Let reports lay out figures, but not draw them: nobody looks at these pictures."""
    for module in modules:
        patch.setattr(f"seq2seq.report.{module}.render", sketch)


def sketch(lay_out, prefix="", forms=("svg",)) -> dict[str, bytes]:
    from seq2seq.drawing import styled

    with styled():
        lay_out()
    return dict.fromkeys(forms, b"<svg></svg>")
