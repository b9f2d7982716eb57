"""What a script says of itself on ``--help``: what it is for, its choices, its settings."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hydra.core.config_store import ConfigStore

OVERRIDE = "hydra/help=usage"
"""What makes Hydra show the text below in the place of its own."""


def register_usage(name: str, chosen: Mapping[str, str | None], folders: Sequence[Path]) -> None:
    """Give Hydra the text for ``--help`` of script ``name``.

    Args:
        name: of the script, without .py.
        chosen: group -> its choice, with the overrides of the command line.
        folders: where configs lie, the user's own among them.
    """
    groups = {group: _choices(group, folders) for group in sorted(chosen)}
    lines = [(sys.modules["__main__"].__doc__ or name).replace("``", "`"), ""]
    if groups:
        lines += ["Choices, changed by GROUP=CHOICE:", ""]
        now = {group: f"{group}={chosen[group] or ''}" for group in groups}
        width = max(map(len, now.values())) + 3
        lines += [f"  {now[group]:{width}}of {', '.join(groups[group])}" for group in groups]
        lines += [""]
    lines += [
        "Settings, changed by KEY=VALUE (??? has to be given) and explained in seq2seq/config/:",
        "",
        "$CONFIG",
        "--cfg job shows the settings alone, --hydra-help what else Hydra can do.",
    ]
    ConfigStore.instance().store(
        group="hydra/help", name="usage", node={"app_name": name, "template": "\n".join(lines)}
    )


def _choices(group: str, folders: Sequence[Path]) -> list[str]:
    return sorted({file.stem for folder in folders for file in (folder / group).glob("*.yaml")})
