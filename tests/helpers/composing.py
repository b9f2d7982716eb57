"""A script's config without a process of its own."""

from functools import cache

import hydra
from cli import CONFIGS, build_config, composition_error, quoted, register_schema

from seq2seq.config import TrainConfig
from seq2seq.errors import UserError


def compose(name, overrides):
    """What ``launch`` passes to the stage of script ``name``; UserError for what it refuses."""
    register_schema(name)
    overrides = quoted([*overrides])
    try:
        with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
            composed = hydra.compose(name, overrides=overrides)
    except Exception as error:
        raise UserError(composition_error(error, name)) from None
    return build_config(name, composed, overrides)


def compose_config(name, overrides):
    """The config of script ``name``."""
    return compose(name, overrides)[0]


def compose_runs(overrides):
    """The configs of what ``reproduce`` trains."""
    return compose("reproduce", overrides)[1]


@cache
def runs(*overrides: str) -> dict[str, TrainConfig]:
    """The config of each system, by its name."""
    return {run.system: run for run in compose_runs(overrides)}
