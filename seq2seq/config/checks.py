"""Checks of single values, whose messages name the key and the nearest valid values."""

import difflib
from collections.abc import Iterable, Sequence

from seq2seq.errors import UserError

LARGEST = 2**63 - 1
"""No count, seed or rate is larger; infinity is none."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """Name the choices closest to ``word``; all of them when none is close and they are few."""
    names = list(choices)
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.5)
    if not close:
        close = names if len(names) <= 8 else difflib.get_close_matches(word, names, 3, cutoff=0.0)
    return ", ".join(close)


def require_choice(key: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a ``value`` outside ``choices``, naming the nearest valid ones."""
    if value not in choices:
        raise UserError(
            f"{key}={value} is not a valid choice; nearest valid: {nearest(str(value), choices)}."
        )


def require_range(key: str, value: float | None, low: float, high: float = float("inf")) -> None:
    """Refuse a ``value`` outside [low, high]; None stands for "not set" and passes."""
    if value is not None and not low <= value <= min(high, LARGEST):
        bounds = f"between {low:g} and {high:g}"
        if high == float("inf"):
            bounds = f"at least {low:g}" if not value > low else "less than 2**63"
        raise UserError(f"{key}={value} is out of range; it must be {bounds}.")


def require_distinct(name: str, values: Sequence[object]) -> None:
    """Refuse an empty list, and one that names a value twice."""
    if not values or len(set(values)) < len(values):
        raise UserError(f"{name}={list(values)} must name at least one value, and none twice.")
