"""Config dataclasses as plain JSON, and back, strictly."""

import dataclasses
import reprlib
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


def from_json(schema: type[T], data: Any, where: str) -> T:
    """Rebuild a config dataclass from the JSON that :func:`to_json` made, strictly.

    ``where`` names the file in the message when a field is missing, unknown or ill-typed.
    """
    if not isinstance(data, dict):
        raise UserError(
            f"{where}: a config group is {reprlib.repr(data)}, not a group; was it altered?"
        )
    if schema is CorpusConfig:
        kind = data.get("kind")
        if not isinstance(kind, str) or kind not in CORPORA:
            raise UserError(
                f"{where}: corpus kind {reprlib.repr(kind)} is unknown; valid: {list(CORPORA)}."
            )
        schema = typing.cast(type[T], CORPORA[kind])
    hints = typing.get_type_hints(schema)
    fields = dataclasses.fields(schema)  # type: ignore[arg-type]
    if unknown := set(data) - {f.name for f in fields}:
        raise UserError(
            f"{where}: unknown config key {reprlib.repr(min(unknown))}; was it altered?"
        )
    absent = dataclasses.MISSING
    needed = {f.name for f in fields if f.default is absent and f.default_factory is absent}
    if missing := needed - set(data):
        raise UserError(f"{where}: the config key {min(missing)!r} is missing; was it altered?")
    values: dict[str, Any] = {}
    for key, value in data.items():
        hint = hints[key]
        if dataclasses.is_dataclass(hint):
            values[key] = from_json(typing.cast(type, hint), value, where)
        elif not _fits(value, hint):
            raise UserError(
                f"{where}: config key {key!r} holds {reprlib.repr(value)}, not a "
                f"{getattr(hint, '__name__', hint)}."
            )
        else:
            values[key] = value
    return schema(**values)


def _fits(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, option) for option in typing.get_args(hint))
    if origin is list:
        (member,) = typing.get_args(hint)
        return isinstance(value, list) and all(_fits(item, member) for item in value)
    if origin is dict:
        _, member = typing.get_args(hint)  # the keys of JSON are strings
        return isinstance(value, dict) and all(_fits(item, member) for item in value.values())
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin or hint)
