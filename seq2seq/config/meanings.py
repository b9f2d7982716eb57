"""Meaning of each setting, read from the dataclasses' docstrings, for --help and settings.md."""

import ast
import inspect
import textwrap
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from seq2seq.config.checks import groups, shown


def meanings(owner: type) -> dict[str, str]:
    """Return setting -> docstring, for a dataclass and its base classes; groups are left out."""
    found, hints = {}, get_type_hints(owner)
    for base in reversed(owner.__mro__[:-1]):
        (node,) = ast.parse(inspect.getsource(base)).body
        assert isinstance(node, ast.ClassDef)
        for field, text in zip(node.body, node.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                meaning = " ".join(ast.literal_eval(text.value).split())
                found[ast.unparse(field.target)] = meaning.replace("``", "`")
    names = [field.name for field in fields(owner) if not is_dataclass(hints[field.name])]
    return {name: found.get(name, "") for name in names}


def settings_help(owner: type, values: Mapping[str, Any], unread: Collection[str]) -> list[str]:
    """List the settings of the dataclass ``owner``, each with its value and its meaning.

    The keys ``unread`` are left out. ``values`` is the config as nested JSON. Lines have at most
    100 characters.
    """
    lines: list[str] = []
    for title, group in [("", owner), *groups(owner)]:
        name, _, kind = title.partition("=")
        place, prefix = values, f"{name}." if name else ""
        for part in filter(None, name.split(".")):
            place = place[part]
        if kind in ("", place.get("kind")):
            lines += ["", *folded((inspect.getdoc(group) or "").replace("`", ""))]
            for key, meaning in meanings(group).items():
                if prefix + key not in unread:
                    setting = f"  {prefix}{key}={shown(place[key])}"
                    lines += folded(f"{setting:41} {meaning.replace('`', '')}", 42)
    return lines


def folded(text: str, indent: int = 0) -> list[str]:
    """Fold ``text`` into lines of at most 100 characters; indent all but the first."""
    return textwrap.wrap(text, 100, subsequent_indent=" " * indent, break_on_hyphens=False)
