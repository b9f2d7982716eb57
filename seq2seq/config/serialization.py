"""Config dataclasses as plain JSON, and back, strictly."""

import dataclasses
from reprlib import repr as shortened
from typing import Any, TypeVar, cast, get_type_hints

from seq2seq.config.checks import check, nearest_keys, require_choice
from seq2seq.config.corpus import CORPORA, CorpusConfig
from seq2seq.errors import UserError

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
        return _build(schema, data, "")
    except UserError as error:
        raise UserError(f"{where}: {error}" if where else str(error)) from None


def _names(schema: type, prefix: str) -> list[str]:
    """Of all its settings and groups of settings, those within groups too."""
    names = []
    for key, hint in get_type_hints(schema).items():
        names.append(f"{prefix}{key}")
        if dataclasses.is_dataclass(hint):
            names += _names(cast(type, hint), f"{prefix}{key}.")
    return names


def _build(schema: type[T], data: Any, prefix: str) -> T:
    if not isinstance(data, dict):
        raise UserError(f"{prefix[:-1] or 'config'}={shortened(data)} is not a group of settings.")
    if schema is CorpusConfig:
        kind = str(data.get("kind"))
        require_choice(f"{prefix}kind", kind, CORPORA)
        schema = cast(type[T], CORPORA[kind])
    values, hints = dict(data), get_type_hints(schema, include_extras=True)
    for key in values:
        if key not in hints:
            near = nearest_keys(f"{prefix}{key}", _names(schema, prefix))
            raise UserError(f"{prefix}{key!s:.40} is not a config key; nearest valid: {near}.")
    for field in dataclasses.fields(cast(Any, schema)):
        key, hint = field.name, hints[field.name]
        if key not in values:
            if field.default is field.default_factory:  # neither is given
                raise UserError(f"{prefix}{key} is missing.")
        elif dataclasses.is_dataclass(hint):
            values[key] = _build(cast(type, hint), values[key], f"{prefix}{key}.")
        else:
            check(f"{prefix}{key}", values[key], hint)
    return schema(**values)
