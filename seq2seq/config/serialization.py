"""Conversion between config dataclasses and JSON, with strict checks."""

from pathlib import Path
from typing import Any, TypeVar, cast

from seq2seq.config.checks import build, check
from seq2seq.errors import UserError
from seq2seq.files import read_object

T = TypeVar("T")

REMOVED = {f"decoding.{key}" for key in ("sample", "temperature", "top_k", "top_p", "seed")}
REMOVED |= {"training.adapt_threads"}
"""Settings of earlier versions, which stored configs and records may hold."""


def flatten(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested JSON to dotted keys: {"model": {"dropout": 0.2}} -> {"model.dropout": 0.2}."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def from_json(schema: type[T], data: Any, where: str = "") -> T:
    """Rebuild a config dataclass from its ``dataclasses.asdict``.

    A missing key, an unknown key or a bad value raises UserError; its message begins
    with ``where``, the place of the data.
    """
    try:
        return cast(T, build(schema, data))
    except UserError as error:
        raise UserError(f"{where}: {error}" if where else str(error)) from None


def read_json(path: Path, schema: type[T], remedy: str) -> T:
    """Read a dataclass or TypedDict from a JSON file; UserErrors end in ``remedy``."""
    content = read_object(path, remedy)
    try:
        return cast(T, check("", content, schema))
    except UserError as error:
        raise UserError(f"{path} is damaged ({error}); {remedy}.") from None
