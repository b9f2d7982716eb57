"""Train, compare and understand recurrent translation models.

``train``, ``reproduce`` and ``evaluate`` work like the scripts of the same names. ``Translator``
translates with a trained model, and returns a ``Hypothesis`` for each sentence.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if "OMP_WAIT_POLICY" not in os.environ:
    # GNU OpenMP reads this when PyTorch is imported. By default, threads wait for one another in
    # long loops, also for one whose core another program uses (docs/speed.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")

from seq2seq.errors import UserError

if TYPE_CHECKING:
    from seq2seq.api import evaluate, reproduce, train
    from seq2seq.config import DecodingConfig
    from seq2seq.decoding.hypothesis import Hypothesis
    from seq2seq.decoding.translator import Translator
    from seq2seq.evaluation.comparison import bleu_by_length
    from seq2seq.model.attention import attention

__version__ = "0.2.0"
PLACES = {
    **dict.fromkeys(("evaluate", "reproduce", "train"), "seq2seq.api"),
    **dict.fromkeys(("Hypothesis", "Translator"), "seq2seq.decoding.translator"),
    "DecodingConfig": "seq2seq.config",
    "attention": "seq2seq.model.attention",
    "bleu_by_length": "seq2seq.evaluation.comparison",
}
"""Public name -> its module, which is imported when the name is used: most load PyTorch."""
__all__ = [
    "DecodingConfig", "Hypothesis", "Translator", "UserError", "__version__", "attention",
    "bleu_by_length", "evaluate", "reproduce", "train",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(PLACES[name]), name)
