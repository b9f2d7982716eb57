"""Config dataclasses as plain JSON, and back, strictly."""

import dataclasses
import types
import typing
from typing import Any, TypeVar

from seq2seq.config.corpus import CORPORA, CorpusConfig
from seq2seq.errors import UserError

T = TypeVar("T")


def to_json(config: Any) -> dict[str, Any]:
    """A config dataclass as plain JSON data."""
    return dataclasses.asdict(config)


def flatten(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A config as JSON by dotted key: {"model": {"dropout": 0.2}} -> {"model.dropout": 0.2}."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def from_json(schema: type[T], data: dict[str, Any], where: str) -> T:
    """Rebuild a config dataclass from the JSON that :func:`to_json` made, strictly.

    ``where`` names the file in the message when a field is missing, unknown or ill-typed.
    """
    if not isinstance(data, dict):
        raise UserError(f"{where}: a config group is {data!r}, not a group; was it altered?")
    if schema is CorpusConfig:
        kind = data.get("kind")
        if kind not in CORPORA:
            raise UserError(f"{where}: corpus kind {kind!r} is unknown; valid: {list(CORPORA)}.")
        schema = typing.cast(type[T], CORPORA[kind])
    hints = typing.get_type_hints(schema)
    known = {f.name for f in dataclasses.fields(schema)}  # type: ignore[arg-type]
    if unknown := set(data) - known:
        raise UserError(f"{where}: unknown config key {sorted(unknown)[0]!r}; was it altered?")
    values: dict[str, Any] = {}
    for key, value in data.items():
        hint = hints[key]
        if dataclasses.is_dataclass(hint):
            values[key] = from_json(typing.cast(type, hint), value, where)
        elif not _fits(value, hint):
            raise UserError(f"{where}: config key {key!r} holds {value!r}, not a {hint}.")
        else:
            values[key] = value
    try:
        return schema(**values)
    except TypeError as error:
        raise UserError(f"{where}: a config key is missing ({error}).") from None


def _fits(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, option) for option in typing.get_args(hint))
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin or hint)
