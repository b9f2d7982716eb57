"""Config dataclasses as plain JSON, and back, strictly."""

import dataclasses
import reprlib
import types
import typing
from collections.abc import Iterator
from typing import Any, TypeVar

from seq2seq.config.checks import nearest
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


def dotted_keys(schema: type, prefix: str = "") -> Iterator[str]:
    """Every key that a config of ``schema`` may hold, of each kind of corpus."""
    hints = typing.get_type_hints(schema)
    for field in dataclasses.fields(schema):
        hint, key = hints[field.name], prefix + field.name
        yield key
        if dataclasses.is_dataclass(hint):
            kinds = CORPORA.values() if hint is CorpusConfig else [typing.cast(type, hint)]
            yield from dict.fromkeys(k for kind in kinds for k in dotted_keys(kind, f"{key}."))


def from_json(schema: type[T], data: Any, where: str, prefix: str = "") -> T:
    """Rebuild a config dataclass from the JSON that :func:`to_json` made, strictly.

    Raises UserError, which names ``where`` the data is from, for a key that is missing, unknown or
    of another type. ``prefix`` is the group's own key and a dot.
    """
    if not isinstance(data, dict):
        raise UserError(f"{where}: {prefix[:-1]}={reprlib.repr(data)} is not a group of settings.")
    if schema is CorpusConfig:
        kind = data.get("kind")
        if not isinstance(kind, str) or kind not in CORPORA:
            raise UserError(
                f"{where}: {prefix}kind={reprlib.repr(kind)} is not one of {', '.join(CORPORA)}."
            )
        schema = typing.cast(type[T], CORPORA[kind])
    hints = typing.get_type_hints(schema)
    fields = {field.name: field for field in dataclasses.fields(schema)}  # type: ignore[arg-type]
    absent = dataclasses.MISSING
    for key, field in fields.items():
        if key not in data and field.default is absent and field.default_factory is absent:
            raise UserError(f"{where}: {prefix}{key} is missing.")
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in fields:
            raise UserError(
                f"{where}: {prefix}{key:.40} is not a config key; nearest valid: "
                f"{nearest(key, fields)}."
            )
        hint = hints[key]
        if dataclasses.is_dataclass(hint):
            value = from_json(typing.cast(type, hint), value, where, f"{prefix}{key}.")
        elif not _fits(value, hint):
            name = getattr(hint, "__name__", hint)
            raise UserError(f"{where}: {prefix}{key}={reprlib.repr(value)} is not a {name}.")
        values[key] = value
    return schema(**values)


def _fits(value: Any, hint: Any) -> bool:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, option) for option in arguments)
    if origin is list:
        return isinstance(value, list) and all(_fits(item, arguments[0]) for item in value)
    if origin is dict:  # the keys of JSON are strings
        return isinstance(value, dict) and all(_fits(v, arguments[1]) for v in value.values())
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, int | float if hint is float else hint)
