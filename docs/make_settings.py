"""``python docs/make_settings.py``: write docs/settings.md, the list of every setting."""

import ast
import dataclasses
import inspect
import json
import typing
from collections.abc import Iterator
from pathlib import Path

from seq2seq import config as schema

PAGE = Path(__file__).with_name("settings.md")
HEAD = """\
# Settings

Set one on the command line: `model.dropout=0.3`. The value after = is the default; the files in
`configs/`, mainly those of experiments, change some of these defaults.
This page is written by `python docs/make_settings.py` from `seq2seq/config/`.
"""
SCRIPTS = {
    "prepare, train, reproduce": schema.TrainConfig,
    "reproduce": schema.ReproduceConfig,
    "translate": schema.TranslateConfig,
    "evaluate": schema.EvaluateConfig,
    "compare": schema.CompareConfig,
    "explain": schema.ExplainConfig,
    "serve": schema.ServeConfig,
}


def settings_page() -> str:
    """Return the page: the settings of each script and group, with defaults and meanings."""
    parts = [_section(script, owner, "") for script, owner in SCRIPTS.items()]
    for title, group in _groups(schema.ReproduceConfig, ""):
        parts.append(_section(title, group, title.partition("=")[0] + "."))
    return "\n".join([HEAD, *parts])


def _groups(owner: type, prefix: str) -> Iterator[tuple[str, type]]:
    for name, hint in typing.get_type_hints(owner).items():
        kinds = schema.CORPORA if hint is schema.CorpusConfig else {"": hint}
        for kind, group in kinds.items():
            if dataclasses.is_dataclass(group):
                yield prefix + name + f"={kind}" * bool(kind), group
                yield from _groups(group, f"{prefix}{name}.")


def _section(title: str, owner: type, prefix: str) -> str:
    lines, hints, meanings = [], typing.get_type_hints(owner), _docstrings(owner)
    above = dataclasses.fields(schema.TrainConfig) if owner is schema.ReproduceConfig else ()
    for field in (field for field in dataclasses.fields(owner) if field not in above):
        if not dataclasses.is_dataclass(hints[field.name]):
            default = field.default_factory() if callable(field.default_factory) else field.default
            shown = default if isinstance(default, str) else json.dumps(default, default=str)
            value = f" = `{shown}`" * (default is not dataclasses.MISSING)
            lines.append(f"- `{prefix}{field.name}`{value}: {meanings.get(field.name, '')}")
    text = "\n".join([f"## {title}", "", str(inspect.getdoc(owner)), "", *lines, ""])
    return text.replace("``", "`")


def _docstrings(owner: type) -> dict[str, str]:
    """Return field -> docstring, for a dataclass and its base classes."""
    meanings = {}
    for base in reversed(owner.__mro__[:-1]):
        (node,) = ast.parse(inspect.getsource(base)).body
        assert isinstance(node, ast.ClassDef)
        for field, text in zip(node.body, node.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                meaning = " ".join(ast.literal_eval(text.value).split())
                meanings[ast.unparse(field.target)] = meaning
    return meanings


if __name__ == "__main__":
    PAGE.write_text(settings_page(), encoding="utf-8")
