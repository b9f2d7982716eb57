"""``python -m seq2seq.config.reference``: write docs/settings.md, every setting in tables."""

import ast
import dataclasses
import inspect
import json
import typing
from pathlib import Path

from seq2seq import config as schema

PAGE = Path("docs/settings.md")
SCRIPTS = {
    "prepare, train, reproduce": schema.ExperimentConfig,
    "translate": schema.TranslateConfig,
    "evaluate": schema.EvaluateConfig,
    "compare": schema.CompareConfig,
    "explain": schema.ExplainConfig,
}
GROUPS = {
    **{f"corpus={kind}": corpus for kind, corpus in schema.CORPORA.items()},
    "tokenization": schema.TokenizationConfig,
    "model": schema.ModelConfig,
    "model.encoder": schema.EncoderConfig,
    "model.attention": schema.AttentionConfig,
    "model.decoder": schema.DecoderConfig,
    "training": schema.TrainingConfig,
    "training.optimizer": schema.OptimizerConfig,
    "decoding": schema.DecodingConfig,
    "evaluation": schema.EvaluationConfig,
}


def settings_page() -> str:
    """Markdown: a table of settings for each group and script, from the dataclasses."""
    lines = [
        "# Settings",
        "",
        "Change one on the command line: `model.dropout=0.3`. The values stand in `configs/`.",
        "This page is written by `python -m seq2seq.config.reference` from `seq2seq/config/`.",
    ]
    for title, owner in {**GROUPS, **SCRIPTS}.items():
        prefix = title.partition("=")[0] + "." if title in GROUPS else ""
        said = _docstrings(owner)
        lines += ["", f"## {title}", "", inspect.cleandoc(owner.__doc__ or "").replace("``", "`")]
        lines += ["", "| setting | default | meaning |", "|---|---|---|"]
        for field in dataclasses.fields(owner):
            if dataclasses.is_dataclass(typing.get_type_hints(owner)[field.name]):
                continue  # a group with a table of its own
            meaning = said.get(field.name, "").replace("``", "`").replace("|", "\\|")
            lines.append(f"| `{prefix}{field.name}` | {_default(field)} | {meaning} |")
    return "\n".join(lines) + "\n"


def _default(field: "dataclasses.Field[typing.Any]") -> str:
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
