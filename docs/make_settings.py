"""``python docs/make_settings.py``: write docs/settings.md, the list of every setting."""

import dataclasses
import inspect
from pathlib import Path

from seq2seq import config as schema
from seq2seq.config.checks import groups, meanings, shown

HEAD = """\
# Settings

Set one on the command line: `model.dropout=0.3`. The value after = is the default; the files in
`configs/`, mainly those of experiments, change some of these defaults.
"""
SCRIPTS = {
    "prepare, train, reproduce": schema.TrainConfig,
    "reproduce": schema.ReproduceConfig,
    "translate": schema.TranslateConfig,
    "evaluate": schema.EvaluateConfig,
    "compare": schema.CompareConfig,
}


def settings_page() -> str:
    """Return the page: the settings of each script and group, with defaults and meanings."""
    parts = [_section(script, owner, "") for script, owner in SCRIPTS.items()]
    for title, group in groups(schema.ReproduceConfig):
        parts.append(_section(title, group, title.partition("=")[0] + "."))
    return "\n".join([HEAD, *parts])


def _section(title: str, owner: type, prefix: str) -> str:
    lines, read = [], {field.name: field for field in dataclasses.fields(owner)}
    above = meanings(schema.TrainConfig) if owner is schema.ReproduceConfig else ()
    for name, meaning in meanings(owner).items():
        if name not in above:
            factory = read[name].default_factory
            default = factory() if callable(factory) else read[name].default
            value = "" if default in (dataclasses.MISSING, "") else f" = `{shown(default)}`"
            lines.append(f"- `{prefix}{name}`{value}: {meaning}")
    about = str(inspect.getdoc(owner)).replace("``", "`")
    return "\n".join([f"## {title}", "", about, "", *lines, ""])


if __name__ == "__main__":
    Path(__file__).with_name("settings.md").write_text(settings_page(), encoding="utf-8")
