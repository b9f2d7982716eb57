"""Train, compare and understand recurrent translation models.

``seq2seq.Translator`` translates with what was trained; ``seq2seq.DecodingConfig`` says how.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seq2seq.config import DecodingConfig
    from seq2seq.decoding.translator import Translator

__all__ = ["DecodingConfig", "Translator"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: PyTorch only with the Translator."""
    if name == "Translator":
        from seq2seq.decoding.translator import Translator

        return Translator
    if name == "DecodingConfig":
        from seq2seq.config import DecodingConfig

        return DecodingConfig
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
