"""Types of settings and of stored records, which pydantic checks, and keys in dotted form."""

import ast
import dataclasses
import difflib
import inspect
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from reprlib import repr as shortened
from typing import Annotated, Any, TypeVar, dataclass_transform, get_args, get_type_hints

import pydantic
from annotated_types import Interval, MinLen
from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError

from seq2seq.errors import UserError
from seq2seq.files import read_object

T = TypeVar("T")
MEANT = {
    "beam_size": "beam", "bs": "batch_size", "gpu": "cuda", "lr": "learning_rate",
    "max_steps": "max_updates", "src": "source", "steps": "max_updates", "tgt": "target",
    "bahdanau": "additive", "bpe": "sentencepiece", "luong": "general",
}  # fmt: skip
"""Key or value in other toolkits -> its name here."""
UNPRINTABLE = re.compile(r"[\x7f-\x9f\ud800-\udfff]|(?<!\\)(?:\\\\)*\\(?:[bfr]|u00)")
"""Control characters in JSON, which a terminal would obey, and bytes that are not UTF-8."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """List at most ten of the choices, closest to ``word`` first."""
    return ", ".join(difflib.get_close_matches(MEANT.get(word, word), {*choices}, 10, cutoff=0.0))


def not_a_key(key: str, valid: Iterable[str]) -> str:
    """Return the sentence that refuses ``key``; it names up to three ``valid`` keys like it."""
    ends = {name: name.rpartition(".")[2] for name in valid if name != key}
    last = key.rpartition(".")[2]
    last = MEANT.get(last, last)
    count = 1 if last in ends.values() else 3
    close = difflib.get_close_matches(last, {*ends.values()}, count, cutoff=0.5)
    near = ", ".join([name for name, end in ends.items() if end in close][:3])
    return f"{key} is not a setting; {f'did you mean {near}?' if near else '--help all lists all.'}"


def require_choice(key: str, value: str, choices: Collection[str]) -> None:
    """Raise UserError, with the nearest choices, unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise UserError(
            f"{key}={value} is not a valid choice; valid, nearest first: "
            f"{nearest(str(value), choices)}."
        )


def one_of(*choices: str, others: Collection[str] = ()) -> AfterValidator:
    """Return the rule that a value is one of ``choices``, or then of ``others``, which may grow."""

    def check_choice(value: str) -> str:
        if value not in (*choices, *others):
            raise ValueError(f"valid, nearest first: {nearest(value, (*choices, *others))}")
        return value

    return AfterValidator(check_choice)


def between(low: float, high: float = 2**63 - 1) -> Interval:
    """Return the rule that a number is in [low, high]."""
    return Interval(ge=low, le=high)


Natural = Annotated[int, between(0)]
Count = Annotated[int, between(1)]
Device = Annotated[str, one_of("auto", "cpu", "cuda")]
Precision = Annotated[str, one_of("auto", "fp32", "bf16")]
Place = Annotated[str, MinLen(1), AfterValidator(os.path.expanduser)]
FileName = Annotated[str, pydantic.Field(pattern=r"^[\w+-][\w.+-]*$")]


@dataclass_transform(kw_only_default=True, field_specifiers=(dataclasses.field,))
def settings(cls: type[T]) -> type[T]:
    """Make a dataclass whose values pydantic checks."""
    rules = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    made: Any = pydantic.dataclasses.dataclass(cls, kw_only=True, config=rules)
    return made


class Stored:
    """Base class of stored dataclasses; stored keys that this version does not know are ignored."""

    __pydantic_config__ = ConfigDict(strict=True, allow_inf_nan=False)


adapter = cache(TypeAdapter)


def check(key: str, value: Any, hint: Any, strict: bool = True, sentences: bool = False) -> Any:
    """Build what the type ``hint`` says from JSON; unless ``strict``, text may stand for a number.

    In messages, each key begins with ``key``. Only ``sentences`` may hold control characters.
    """
    text = json.dumps(value, ensure_ascii=False)
    if not sentences and (found := UNPRINTABLE.search(text)):
        near = text[max(0, found.start() - 40) : found.end()]
        raise UserError(f"{key or 'The text'} holds control characters, or is not UTF-8: {near}.")
    try:
        return adapter(hint).validate_json(text, strict=strict)
    except ValidationError as error:
        raise UserError(in_words(error, hint, key)) from None


def in_words(error: ValidationError, schema: Any, key: str = "") -> str:
    """Say in one sentence which value is the first one that pydantic refuses, and why."""
    wrong = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in (key, *wrong["loc"]) if part != "")
    name = re.sub(r"^corpus\.\w+\.", "corpus.", name)  # without the kind that pydantic puts there
    if wrong["type"] == "unexpected_keyword_argument":
        return not_a_key(name, setting_names(schema))
    if wrong["type"] == "missing":
        return f"{name} is not set; set {name}=..."
    value = wrong["input"] if isinstance(wrong["input"], str) else shortened(wrong["input"])
    return f"{name or 'config'}={value:.80}: {wrong['msg'].removeprefix('Value error, ')}."


def read_json(path: Path, schema: type[T], remedy: str) -> T:
    """Read a dataclass from a JSON file; UserErrors end in ``remedy``."""
    content = read_object(path, remedy)
    try:
        return check("", content, schema)
    except UserError as error:
        raise UserError(f"{path} is damaged ({error}); {remedy}.") from None


def groups(schema: type, prefix: str = "") -> Iterator[tuple[str, type]]:
    """Yield (key, dataclass) for each group of settings in ``schema``, such as ``model.encoder``.

    A corpus has one dataclass for each kind, with the keys ``corpus=grammar`` and so on.
    """
    for name, hint in get_type_hints(schema).items():
        kinds = get_args(hint)
        owners: Any = filter(is_dataclass, kinds or (hint,))
        for group in owners:
            yield prefix + name + (f"={group.kind}" if kinds else ""), group
            yield from groups(group, f"{prefix}{name}.")


def setting_names(schema: type, prefix: str = "") -> list[str]:
    """List the keys of all settings and groups of ``schema``, those inside its groups included."""
    owners = [(prefix, schema)]
    owners += [(f"{key.partition('=')[0]}.", group) for key, group in groups(schema, prefix)]
    names = [place + name for place, owner in owners for name in get_type_hints(owner)]
    return list(dict.fromkeys(names))


def meanings(owner: type) -> dict[str, str]:
    """Return setting -> docstring, for a dataclass and its base classes; groups have none."""
    found = {}
    for base in reversed(owner.__mro__[:-1]):
        (node,) = ast.parse(inspect.getsource(base)).body
        assert isinstance(node, ast.ClassDef)
        for field, text in pairwise(node.body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                meaning = " ".join(ast.literal_eval(text.value).split())
                found[ast.unparse(field.target)] = meaning.replace("``", "`")
    return {one.name: found[one.name] for one in dataclasses.fields(owner) if one.name in found}


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
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
