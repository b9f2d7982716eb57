"""Config dataclasses as plain JSON, and back, strictly."""

from pathlib import Path
from typing import Any, TypeVar, cast

from seq2seq.config.checks import build, check
from seq2seq.errors import UserError
from seq2seq.files import read_object

T = TypeVar("T")


def flatten(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A config as JSON by dotted key: {"model": {"dropout": 0.2}} -> {"model.dropout": 0.2}."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def from_json(schema: type[T], data: Any, where: str = "") -> T:
    """Rebuild a config dataclass from ``dataclasses.asdict`` of it, strictly.

    Raises UserError, which names ``where`` the data is from, for a key that is missing or unknown
    and for a value that is not valid.
    """
    try:
        return cast(T, build(schema, data))
    except UserError as error:
        raise UserError(f"{where}: {error}" if where else str(error)) from None


def read_json(path: Path, schema: type[T], remedy: str) -> T:
    """What a JSON file holds, a dataclass or TypedDict; UserError ends in ``remedy``."""
    content = read_object(path, remedy)
    try:
        return cast(T, check("", content, schema))
    except UserError as error:
        raise UserError(f"{path} is damaged ({error}); {remedy}.") from None
