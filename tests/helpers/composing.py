"""Configs of the scripts, composed in this process."""

from functools import cache
from pathlib import Path

from seq2seq.composition import compose
from seq2seq.config import TrainConfig

STUDY = f"--config-dir={Path(__file__).resolve().parents[2] / 'study'}"
"""Word that adds the experiments of the study."""


def compose_config(name, overrides):
    return compose(name, [*overrides])[0]


@cache
def runs(*overrides: str) -> dict[str, TrainConfig]:
    """The config of each system, by its name."""
    return {run.system: run for run in compose("reproduce", [STUDY, *overrides])[1]}
