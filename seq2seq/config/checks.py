"""What a setting's type says of its values, checked whenever a group of settings is built."""

import difflib
import types
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from seq2seq.errors import UserError

LARGEST = 2**63 - 1
"""The largest number that a range without an upper end allows; infinity is not valid."""


KEYS = {
    "attention": "attention.kind", "batch": "batch_size", "beam_size": "beam", "bs": "batch_size",
    "ckpt": "checkpoint", "cuda": "device", "gpu": "device", "lr": "learning_rate",
    "max_len": "max_pieces", "max_length": "max_pieces", "max_steps": "max_updates",
    "mlflow": "logger", "optimiser": "optimizer.kind", "optimizer": "optimizer.kind",
    "src": "source", "steps": "max_updates", "tensorboard": "logger", "tgt": "target",
    "vocab": "vocabulary_size", "wandb": "logger",
}  # fmt: skip
"""What the end of a key is called elsewhere -> what it is called here."""
VALUES = {"bahdanau": "additive", "bpe": "sentencepiece", "gpu": "cuda", "luong": "general"}
"""What a choice is called elsewhere -> what it is called here."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """Name the choices, the closest to ``word`` first; of more than 16 only three."""
    names = list(dict.fromkeys(choices))
    word = VALUES.get(word, word)
    few = len(names) if len(names) <= 16 else 3
    return ", ".join(difflib.get_close_matches(word, names, max(few, 1), cutoff=0.0))


def nearest_keys(key: str, valid: Iterable[str]) -> str:
    """Name the ``valid`` keys that end as ``key`` does, or whose ends hold all its words.

    If there are none, name the three with the closest ends.
    """
    last = key.rpartition(".")[2]
    last = KEYS.get(last, last)

    def likeness(name: str) -> list[float]:
        pairs = (last, name.rpartition(".")[2]), (key, name)
        return [difflib.SequenceMatcher(None, *pair).ratio() for pair in pairs]

    ranked = sorted(valid, key=likeness, reverse=True)
    same = [name for name in ranked if f".{name}".endswith(f".{last}")]
    words = set(last.split("_"))
    longer = [name for name in ranked if words <= set(name.rpartition(".")[2].split("_"))]
    return ", ".join(same or longer or ranked[:3])


def require_choice(key: str, value: str, choices: Collection[str]) -> None:
    """Refuse a ``value`` outside ``choices``, naming the nearest valid ones."""
    if value not in choices:
        near = nearest(str(value), choices)
        raise UserError(f"{key}={value} is not a valid choice; nearest valid: {near}.")


def require_range(key: str, value: float, low: float, high: float = float("inf")) -> None:
    """Refuse a ``value`` outside [low, high]."""
    if not low <= value <= min(high, LARGEST):
        bounds = f"between {low:g} and {high:g}"
        if high == float("inf"):
            bounds = f"at least {low:g}" if not value > low else "less than 2**63"
        raise UserError(f"{key}={value} is out of range; it must be {bounds}.")


Rule = Callable[[str, Any], None]
"""Raises UserError for a key and its value; it stands in ``Annotated``."""


def one_of(*choices: str) -> Rule:
    """The rule that a value is one of ``choices``."""
    return lambda key, value: require_choice(key, value, choices)


def between(low: float, high: float = float("inf")) -> Rule:
    """The rule that a value is in [low, high]."""
    return lambda key, value: require_range(key, value, low, high)


def distinct(key: str, values: Sequence[object]) -> None:
    """The rule that a list is not empty and names no value twice."""
    if not values or len(set(values)) < len(values):
        raise UserError(f"{key}={list(values)} must name at least one value, and none twice.")


def rising(key: str, values: Sequence[int]) -> None:
    """The rule that a list is not empty and rises."""
    if not values or sorted(set(values)) != list(values):
        raise UserError(f"{key}={list(values)} must be rising numbers, such as [10, 20, 30].")


Natural = Annotated[int, between(0)]
Count = Annotated[int, between(1)]
Device = Annotated[str, one_of("auto", "cpu", "cuda")]
Precision = Annotated[str, one_of("auto", "fp32", "bf16")]


def check(key: str, value: Any, hint: Any) -> None:
    """Refuse a ``value`` that is not of type ``hint``, or breaks a rule in its ``Annotated``."""
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind is Annotated:
        check(key, value, arguments[0])
        for rule in arguments[1:]:
            rule(key, value)
    elif kind in (types.UnionType, Union):  # X | None
        if value is not None:
            check(key, value, arguments[0])
    elif kind is not Any:
        fits = isinstance(value, (int, float) if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            raise UserError(f"{key}={shortened(value)} is not of type {kind.__name__}.")
        if kind in (list, dict):
            for item in value.values() if kind is dict else value:
                check(key, item, arguments[-1])


@dataclass(kw_only=True)
class Settings:
    """A group of settings, whose types say which values are valid: ``layers: Count = 1``."""

    def __post_init__(self) -> None:
        """Raise UserError for a value that is not valid."""
        for key, hint in get_type_hints(type(self), include_extras=True).items():
            check(key, getattr(self, key), hint)
