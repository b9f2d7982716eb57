"""Validation rules in the type annotations of settings, checked when a dataclass is constructed.

The same checks are made when a dataclass is built from nested JSON.
"""

import difflib
import json
import os
import re
import sys
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from reprlib import repr as shortened
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from seq2seq.errors import UserError
from seq2seq.files import read_object

T = TypeVar("T")

LARGEST = 2**63 - 1
"""Largest valid number in a range without an upper limit; infinity is not valid."""


KEYS = {
    "attention": "attention.kind", "batch": "batch_size", "beam_size": "beam", "bs": "batch_size",
    "ckpt": "checkpoint", "clip": "clip_norm", "cuda": "device", "embedding": "embedding_dim",
    "epoch": "max_epochs", "epochs": "max_epochs", "gpu": "device", "lr": "learning_rate",
    "max_len": "max_pieces", "max_length": "max_pieces", "max_steps": "max_updates",
    "optimiser": "optimizer.kind", "optimizer": "optimizer.kind",
    "src": "source", "steps": "max_updates", "tensorboard": "logger", "tgt": "target",
    "vocab": "vocabulary_size", "wandb": "logger", "warmup": "warmup_updates",
}  # fmt: skip
"""Last part of a key in other toolkits -> its name here; used to suggest keys."""
VALUES = {"bahdanau": "additive", "bpe": "sentencepiece", "gpu": "cuda", "luong": "general"}
"""Value in other toolkits -> its name here; used to suggest values."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """List the choices, closest to ``word`` first; if more than 16, only three and "..."."""
    names = list(dict.fromkeys(choices))
    word, few = VALUES.get(word, word), len(names) if len(names) <= 16 else 3
    closest = difflib.get_close_matches(word, names, max(few, 1), cutoff=0.0)
    return ", ".join([*closest, *["..."] * (len(names) > 16)])


def nearest_keys(key: str, valid: Iterable[str]) -> list[str]:
    """List at most three of the ``valid`` keys, those that ``key`` most likely stands for.

    Let ``last`` be the last part of ``key``, or its meaning in :data:`KEYS`. The keys are those
    with this last part; if there are none, those that end in ``_last``; otherwise those that begin
    with ``key``; otherwise those whose last part is spelt like ``last``.
    """
    last = key.rpartition(".")[2]
    last = KEYS.get(last, last)

    def likeness(name: str) -> list[float]:
        pairs = (last, name.rpartition(".")[2]), (key, name)
        return [difflib.SequenceMatcher(None, *pair).ratio() for pair in pairs]

    ranked = sorted(valid, key=likeness, reverse=True)
    same = [name for name in ranked if f".{name}".endswith(f".{last}")]
    longer = [name for name in ranked if name.endswith(f"_{last}")]
    begun = [name for name in ranked if name.startswith(key)]
    return (same or longer or begun or [n for n in ranked[:3] if likeness(n)[0] > 0.75])[:3]


def not_a_key(key: str, valid: Iterable[str]) -> str:
    """Return the sentence that refuses ``key``; it names the nearest ``valid`` keys."""
    near = ", ".join(nearest_keys(key, valid))
    return f"{key} is not a config key; {f'nearest valid: {near}' if near else '--help lists all'}."


def require_choice(key: str, value: str, choices: Collection[str]) -> None:
    """Raise UserError, with the nearest choices, unless ``value`` is one of ``choices``."""
    if value not in choices:
        near = nearest(str(value), choices)
        raise UserError(f"{key}={value} is not a valid choice; valid, nearest first: {near}.")


Rule = Callable[[str, Any], Any]
"""Function (key, value) that raises UserError for a bad value; a result other than None replaces
the value. A setting's type names its rules in ``Annotated``."""


def one_of(*choices: str) -> Rule:
    """Return the rule that a value is one of ``choices``."""
    return lambda key, value: require_choice(key, value, choices)


def between(low: float, high: float = float("inf")) -> Rule:
    """Return the rule that a value is in [low, high]."""

    def rule(key: str, value: float) -> None:
        if not low <= value <= min(high, LARGEST):
            bounds = f"between {low:g} and {high:g}"
            if high == float("inf"):
                bounds = f"at least {low:g}" if not value > low else "less than 2**63"
            raise UserError(f"{key}={value} is out of range; it must be {bounds}.")

    return rule


def distinct(key: str, values: Sequence[object]) -> None:
    """Refuse an empty list and a repeated value."""
    if not values or len(set(values)) < len(values):
        raise UserError(f"{key}={list(values)} must hold at least one value, and no value twice.")


def rising(key: str, values: Sequence[int]) -> None:
    """Refuse a list that is empty or not strictly rising."""
    if not values or sorted(set(values)) != list(values):
        raise UserError(f"{key}={list(values)} must be rising numbers, such as [10, 20, 30].")


def file_name(key: str, value: str) -> None:
    """Refuse empty text, a dot at the start, and characters but letters, digits and _ . + -."""
    if not re.fullmatch(r"[\w+-][\w.+-]*", value):
        raise UserError(
            f"{key}={value} must consist of letters, digits and _ . + - (at least one of them, and "
            "no full stop at its start)."
        )


def place(key: str, value: str) -> str:
    """Refuse an empty path; return the path with ``~`` replaced by the home folder."""
    if not value:
        raise UserError(f"{key} is empty; set it to a path, for example {key}=my/folder.")
    return os.path.expanduser(value)  # noqa: PTH111


def places(key: str, value: Any) -> list[str] | None:
    """Return a list of paths as :func:`place` returns them; ``value`` is one path or a list."""
    several = value if isinstance(value, list) else [value]
    return None if value is None else [place(key, str(one)) for one in several or [""]]


Natural = Annotated[int, between(0)]
Count = Annotated[int, between(1)]
Device = Annotated[str, one_of("auto", "cpu", "cuda")]
Precision = Annotated[str, one_of("auto", "fp32", "bf16")]
Normalization = Annotated[str, one_of("identity", "nfkc", "nmt_nfkc")]
Place = Annotated[str, place]
FileName = Annotated[str, file_name]


def check(key: str, value: Any, hint: Any) -> Any:
    """Check ``value`` against the type ``hint``; return it with the changes that its rules make.

    If ``hint`` is a dataclass and ``value`` is JSON, the dataclass is built from it.
    """
    kind: Any = get_origin(hint) or hint
    arguments, prefix = get_args(hint), f"{key}." if key else ""
    if kind is Annotated:
        value = check(key, value, arguments[0])
        for rule in arguments[1:]:
            instead = rule(key, value)
            value = value if instead is None else instead
        return value
    if kind in (types.UnionType, Union):  # X | None
        return None if value is None else check(key, value, arguments[0])
    if kind is Any:
        return value
    if is_dataclass(kind):
        made = isinstance(value, hint)
        return value if made else build(hint, value, prefix)
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise UserError(f"{key}={shortened(value)} is not of type {kind.__name__}.")
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        raise UserError(f"{key}={shortened(value)} is out of range; set a number closer to 0.")
    floats = arguments == (float,) and {*map(type, value)} == {float}  # one check for all floats
    if kind is list and arguments and not floats:
        return [check(key, item, arguments[-1]) for item in value]
    if kind is dict and arguments:
        return {
            check(key, name, arguments[0]): check(f"{prefix}{name}", item, arguments[1])
            for name, item in value.items()
        }
    return value


def _require_printable(key: str, value: Any) -> None:
    """Refuse control characters (but tab and line feed) and surrogates in the text of ``value``.

    A terminal would obey a control character. A surrogate stands for a byte that is not UTF-8.
    """
    if isinstance(value, str) and re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", value):
        raise UserError(
            f"{key}={shortened(value)} holds control characters, or bytes that are not UTF-8; "
            "remove them, or rename the file."
        )
    for name, part in value.items() if isinstance(value, dict) else ():
        _require_printable(key or "a key", name)
        _require_printable(f"{key}.{name}" if key else name, part)
    for part in value if isinstance(value, list) else ():
        _require_printable(key, part)


def build(schema: type, data: Any, prefix: str = "") -> Any:
    """Build the dataclass ``schema`` from a dict such as ``dataclasses.asdict`` returns.

    For a schema with ``kinds``, the setting ``kind`` selects the subclass. In messages each key
    begins with ``prefix``.
    """
    if not isinstance(data, dict):
        raise UserError(f"{prefix[:-1] or 'config'}={shortened(data)} is not a group of settings.")
    if kinds := vars(schema).get("kinds"):
        require_choice(f"{prefix}kind", str(data.get("kind")), kinds)
        schema = kinds[str(data["kind"])]
    hints = get_type_hints(schema, include_extras=True)
    if issubclass(schema, Stored):
        _require_printable(prefix[:-1], data)
        data = {key: value for key, value in data.items() if key in hints}
    for key in data:
        if key not in hints:
            raise UserError(not_a_key(f"{prefix}{key!s:.40}", setting_names(schema, prefix)))
    for field in fields(schema):
        if field.name not in data and field.default is field.default_factory:  # no default
            raise UserError(f"{prefix}{field.name} is missing.")
    return schema(**{key: check(f"{prefix}{key}", data[key], hints[key]) for key in data})


def groups(schema: type, prefix: str = "") -> Iterator[tuple[str, type]]:
    """Yield (key, dataclass) for each group of settings in ``schema``, such as ``model.encoder``.

    A corpus has one dataclass for each kind, with the keys ``corpus=grammar`` and so on.
    """
    for name, hint in get_type_hints(schema).items():
        if isinstance(hint, type) and is_dataclass(hint):
            for kind, group in vars(hint).get("kinds", {"": hint}).items():
                yield prefix + name + f"={kind}" * bool(kind), group
                yield from groups(group, f"{prefix}{name}.")


def setting_names(schema: type, prefix: str = "") -> list[str]:
    """List the keys of all settings and groups of ``schema``, those inside its groups included."""
    inside = [(f"{key.partition('=')[0]}.", group) for key, group in groups(schema, prefix)]
    owners = [(prefix, schema), *inside]
    names = [place + name for place, owner in owners for name in get_type_hints(owner)]
    return list(dict.fromkeys(names))


class Stored:
    """Base class of stored dataclasses; stored keys that this version does not know are ignored."""


@dataclass(kw_only=True)
class Settings:
    """Base class of groups of settings; a field's type defines its valid values, as in
    ``layers: Count = 1``."""

    def __post_init__(self) -> None:
        for key, hint in get_type_hints(type(self), include_extras=True).items():
            value = check(key, getattr(self, key), hint)
            _require_printable(key, value)
            setattr(self, key, value)


def flatten(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested JSON to dotted keys: {"model": {"dropout": 0.2}} -> {"model.dropout": 0.2}."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def shown(value: Any) -> str:
    """Write a value for a command line: text unquoted, a dict as its keys, "..." if not set yet."""
    if isinstance(value, str | Path):
        return "..." if value == "???" else str(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(value)}}}"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def from_json(schema: type[T], data: Any, where: str = "") -> T:
    """Rebuild a dataclass from its ``dataclasses.asdict``; UserErrors begin with ``where``."""
    try:
        return build(schema, data)
    except UserError as error:
        raise UserError(f"{where}: {error}" if where else str(error)) from None


def read_json(path: Path, schema: type[T], remedy: str) -> T:
    """Read a dataclass from a JSON file; UserErrors end in ``remedy``."""
    content = read_object(path, remedy)
    try:
        return check("", content, schema)
    except UserError as error:
        raise UserError(f"{path} is damaged ({error}); {remedy}.") from None
