"""Meaning of each setting, read from the dataclasses' docstrings, for --help and settings.md."""

import ast
import inspect
from dataclasses import fields, is_dataclass
from typing import get_args, get_type_hints


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
    single = {name: (hint, *get_args(hint)) for name, hint in hints.items()}
    names = [one.name for one in fields(owner) if not any(map(is_dataclass, single[one.name]))]
    return {name: found.get(name, "") for name in names}
