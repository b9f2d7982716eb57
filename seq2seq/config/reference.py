"""``python -m seq2seq.config.reference``: write docs/settings.md, every setting in tables."""

import ast
import dataclasses
import inspect
import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seq2seq import config as schema

PAGE = Path("docs/settings.md")
HEAD = """\
# Settings

Change one on the command line: `model.dropout=0.3`. The values stand in `configs/`.
This page is written by `python -m seq2seq.config.reference` from `seq2seq/config/`.
"""
SCRIPTS = {
    "prepare, train, reproduce": schema.ExperimentConfig,
    "translate": schema.TranslateConfig,
    "evaluate": schema.EvaluateConfig,
    "compare": schema.CompareConfig,
    "explain": schema.ExplainConfig,
}


def settings_page() -> str:
    """Markdown: a table of settings for each script and group, from the dataclasses."""
    tables = [_table(script, owner, "") for script, owner in SCRIPTS.items()]
    for title, owner in _groups(schema.ExperimentConfig, ""):
        tables.append(_table(title, owner, title.partition("=")[0] + "."))
    return "\n".join([HEAD, *tables])


def _groups(owner: type, prefix: str) -> Iterator[tuple[str, type]]:
    for name, hint in typing.get_type_hints(owner).items():
        kinds = schema.CORPORA if hint is schema.CorpusConfig else {"": hint}
        for kind, group in kinds.items():
            if dataclasses.is_dataclass(group):
                yield prefix + name + f"={kind}" * bool(kind), group
                yield from _groups(group, f"{prefix}{name}.")


def _table(title: str, owner: type, prefix: str) -> str:
    purpose, said = inspect.cleandoc(owner.__doc__ or ""), _docstrings(owner)
    lines = [f"## {title}", "", purpose, "", "| setting | default | meaning |", "|---|---|---|"]
    for field in dataclasses.fields(owner):
        if not dataclasses.is_dataclass(typing.get_type_hints(owner)[field.name]):
            parts = said.get(field.name, "").replace("|", "\\|").split("``")
            parts[::2] = [part.replace("<", "\\<") for part in parts[::2]]  # not in code
            meaning = "``".join(parts)
            lines.append(f"| `{prefix}{field.name}` | {_default(field)} | {meaning} |")
    return "\n".join(lines).replace("``", "`") + "\n"


def _default(field: "dataclasses.Field[Any]") -> str:
    fresh, missing = field.default_factory, dataclasses.MISSING
    value = field.default if fresh is missing else fresh()
    shown = value if isinstance(value, str) else json.dumps(value, default=str)
    return "" if value is missing else f"`{shown}`"


def _docstrings(owner: type) -> dict[str, str]:
    """Field -> the text below it, of a dataclass and those that it extends."""
    said = {}
    for base in reversed(owner.__mro__[:-1]):
        (node,) = ast.parse(inspect.getsource(base)).body
        assert isinstance(node, ast.ClassDef)
        for field, text in zip(node.body, node.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                said[ast.unparse(field.target)] = " ".join(ast.literal_eval(text.value).split())
    return said


if __name__ == "__main__":
    PAGE.write_text(settings_page(), encoding="utf-8")
