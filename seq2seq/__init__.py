"""Train, compare and understand recurrent translation models.

``seq2seq.Translator`` translates with what was trained; ``seq2seq.DecodingConfig`` says how.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seq2seq.config import DecodingConfig
    from seq2seq.decoding.translator import Translator

__all__ = ["DecodingConfig", "Translator"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: PyTorch only with the Translator."""
    modules = {"Translator": "seq2seq.decoding.translator", "DecodingConfig": "seq2seq.config"}
    if name not in modules:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(modules[name]), name)
