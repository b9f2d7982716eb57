"""Small corpora, and how the tests write, count and refuse them."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest

from seq2seq.data.download import Patience
from seq2seq.data.text import read_lines
from seq2seq.errors import UserError

Result = TypeVar("Result")
SOON = Patience(attempts=2, backoff=0.001, timeout=5.0)

REAL = Path(os.environ.get("SEQ2SEQ_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))
"""Real corpora, if any: the folders multi30k and europarl as corpus.directory takes them."""

SMALL = {
    "train.en": b"a\nb\nc\n",
    "train.fr": b"d\ne\nf\n",
    "valid.en": b"a\n",
    "valid.fr": b"b\n",
    "test.en": b"a\nb\n",
    "test.fr": b"c\nd\n",
}


def put(folder, texts, ending="", pack=bytes):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / (name + ending)).write_bytes(pack(text))
    return str(folder)


def counts(corpus):
    texts = {"train": corpus.train, "valid": corpus.valid, **corpus.tests}
    return {name: len(list(read_lines(text.source))) for name, text in texts.items()}


def message(call, *arguments):
    """Sentence with which ``call`` refuses."""
    with pytest.raises(UserError) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def counting(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[None]:
    """Let ``module.name`` take its time, and return a list that grows by one with each call."""
    calls: list[None] = []
    real = getattr(module, name)

    def counted(*arguments: Any) -> Any:
        calls.append(None)
        time.sleep(0.2)
        return real(*arguments)

    monkeypatch.setattr(module, name, counted)
    return calls


def at_once(work: Callable[[], Result]) -> list[Result]:
    """What three threads get that do the same at the same time."""
    with ThreadPoolExecutor(3) as pool:
        return [job.result() for job in [pool.submit(work) for _ in range(3)]]
