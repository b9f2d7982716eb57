"""Train, compare and understand recurrent translation models.

``seq2seq.train``, ``seq2seq.reproduce`` and ``seq2seq.evaluate`` work like the scripts of the same
names. ``seq2seq.Translator`` translates with a trained model and returns a ``seq2seq.Hypothesis``
for each sentence; ``seq2seq.DecodingConfig`` holds the settings of the search. Wrong input raises
``seq2seq.UserError``.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if "OMP_WAIT_POLICY" not in os.environ:
    # GNU OpenMP reads this when PyTorch is imported. By default, threads wait for one another in
    # long loops, also for one whose core another program uses (docs/performance.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")

from seq2seq.config import DecodingConfig
from seq2seq.errors import UserError

if TYPE_CHECKING:
    from seq2seq.api import evaluate, reproduce, train
    from seq2seq.decoding.hypothesis import Hypothesis
    from seq2seq.decoding.translator import Translator

    __version__: str

__all__ = [
    "DecodingConfig",
    "Hypothesis",
    "Translator",
    "UserError",
    "__version__",
    "evaluate",
    "reproduce",
    "train",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Import a public name only when it is used, because most public names load PyTorch."""
    if name in ("evaluate", "reproduce", "train"):
        return getattr(import_module("seq2seq.api"), name)
    if name in ("Hypothesis", "Translator"):
        return getattr(import_module("seq2seq.decoding.translator"), name)
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    metadata = import_module("importlib.metadata")
    try:
        return metadata.version("seq2seq")
    except metadata.PackageNotFoundError:  # in a checkout that is not installed
        return "0+unknown"
