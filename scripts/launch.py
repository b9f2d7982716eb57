"""What every script shares: compose the config, refuse bad ones in one sentence, log, exit.

Hydra composes ``configs/`` with the command line; here its result becomes the dataclasses of
``seq2seq.config``, and its errors become one sentence that names the nearest valid key. No stage
knows of Hydra.
"""

import argparse
import contextlib
import dataclasses
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import hydra
from endings import fail, in_one_sentence, processes
from hydra import compose, initialize_config_dir
from hydra._internal.utils import get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import OverrideParseException
from hydra_errors import in_words_of_ours, sentence, unknown_key
from omegaconf import DictConfig, OmegaConf
from overrides import (
    KIND,
    refuse_empty,
    refuse_overruled,
    refuse_unlike,
    sample_jobs,
    with_kind_as_system,
)
from schemas import SCHEMAS, register_schemas
from usage import OVERRIDE, register_usage

from seq2seq import config as schema
from seq2seq.errors import UserError

CONFIGS = Path(__file__).resolve().parent.parent / "configs"


def compose_config(name: str, overrides: list[str]) -> Any:
    """The dataclass of script ``name``, from ``configs/`` and Hydra overrides.

    Where the config names ``systems``, the overrides of the chosen ``system`` are applied on top; a
    kind of attention by itself is a system, too.
    Raises UserError for anything that Hydra or the schema refuses.
    """
    with in_words_of_ours(name):
        config = _to_dataclass(_compose(name, _with_system(name, overrides)), name)
        if isinstance(config, schema.EvaluateConfig) and config.beams is not None:
            reason = "beams=[...] decides it, one search for each width"
            refuse_overruled(overrides, ["decoding", "decoding.beam"], reason)
        idle = [getattr(config, group, None) for group in ("decoding", "tokenization")]
        if isinstance(config, schema.ExperimentConfig):
            # What several systems have in common may be of use to one of them alone.
            idle += [config.model.attention] if name == "train" else []
        for settings in filter(None, idle):
            settings.refuse_idle()
        return config


def _with_system(name: str, overrides: list[str]) -> list[str]:
    """The overrides, and behind them those of the system that they choose, if there are any.

    Raises UserError for those that would have no effect, and whatever Hydra and OmegaConf raise.
    """
    refuse_empty(overrides)
    if name in ("prepare", "train"):
        reason = f"{name} is for one run, by system=... and seed=...; reproduce does them all"
        refuse_overruled(overrides, ["seeds", "beams"], reason)
    composed = _compose(name, overrides)
    if "systems" not in composed:
        return overrides
    _to_dataclass(composed, name)
    _refuse_idle_choices(name, overrides)
    overrides = with_kind_as_system(overrides, composed)
    composed = _compose(name, overrides)
    if not (chosen := composed.system):
        return overrides
    decided = list(composed.systems[chosen])
    if any(override.startswith("seeds=") for override in overrides):
        decided = [other for other in decided if not other.startswith("seeds=")]
    refuse_overruled(overrides, decided, f"system={chosen} decides it")
    return [*overrides, *decided]


def _refuse_idle_choices(name: str, overrides: list[str]) -> None:
    """Refuse a scale of an experiment in one size, and a model of which the experiment sets all."""
    for override in overrides:
        group, _, choice = override.partition("=")
        if group not in ("model", "scale"):
            continue
        others = [other for other in overrides if other != override]
        usual = _compose(name, others, with_hydra=True).hydra.runtime.choices.get(group)
        if group == "scale" and usual is None:
            raise UserError(
                f"{override} goes with an experiment that comes in sizes, such as "
                "experiment=figure2; leave it out."
            )
        if choice != usual and _compose(name, others) == _compose(name, overrides):
            raise UserError(
                f"{override} would have no effect: the experiment sets all that it does; give "
                "single settings, such as model.embedding_dim=128."
            )


def compose_systems(config: schema.ExperimentConfig) -> list[schema.ExperimentConfig]:
    """Inside a launched script: its config once more for each seed and system of the experiment.

    A system may have ``seeds`` of its own among its overrides, for when none are asked for. The
    first seed of all systems comes first.
    """
    given = _given_overrides()
    overrides = with_kind_as_system(given, _compose("reproduce", given))
    added = [override for override in overrides if override not in given]
    if len(added) == 1:  # the system that has this kind already, and no new one
        kind = next(override for override in given if override.lstrip("+").startswith(KIND))
        raise UserError(
            f"{kind} would have no effect: reproduce runs every system of the experiment, and "
            f"{added[0].partition('=')[2]} is one of them; leave it out."
        )
    # Each system has its turn, the new one, too.
    overrides = [o for o in overrides if o in given or not o.startswith("system=")]
    runs_all = "reproduce runs every system, with each of seeds=[...] and beams=[...]"
    decided = ["seed", "system", "decoding", "decoding.beam", "decoding.sample"]
    refuse_overruled(overrides, decided, runs_all)
    refuse_unlike(config.systems)
    seeds = {
        system: compose_config("reproduce", [*overrides, f"system={system}"]).seeds
        for system in config.systems
    }
    return [
        compose_config("reproduce", [*overrides, f"seed={seed}", f"system={system}"])
        for seed in dict.fromkeys(seed for own in seeds.values() for seed in own)
        for system, own in seeds.items()
        if seed in own
    ]


def _compose(name: str, overrides: list[str], with_hydra: bool = False) -> DictConfig:
    """Compose, whether or not hydra.main has already opened ``configs/``."""
    if GlobalHydra.instance().is_initialized():
        return compose(name, overrides=overrides, return_hydra_config=with_hydra)
    register_schemas()
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return compose(name, overrides=overrides, return_hydra_config=with_hydra)


def _given_overrides() -> list[str]:
    """What the command line says of this job, with the places of configs of the user's own."""
    given = HydraConfig.get().overrides
    return [*(o for o in given.hydra if o.startswith("hydra.searchpath=")), *given.task]


def _to_dataclass(composed: DictConfig, name: str) -> Any:
    """The dataclasses behind a composed config, complete and without a key too many."""
    if missing := sorted(OmegaConf.missing_keys(composed)):
        raise UserError(f"{missing[0]} is not set; give it as {missing[0]}=...")
    _refuse_extra_keys(composed, SCHEMAS[name], "", name)  # ``+key=value`` gets past Hydra
    # Strictly, since OmegaConf lets an interpolation put a text where a list belongs.
    plain = OmegaConf.to_container(composed, resolve=True)
    return schema.from_json(SCHEMAS[name], plain, f"The config of {name}")


def _refuse_extra_keys(node: DictConfig, expected: type, prefix: str, name: str) -> None:
    hints = get_type_hints(expected)
    for key in map(str, node):
        if key not in hints:
            raise UserError(unknown_key(f"{prefix}{key}", name))
        if dataclasses.is_dataclass(hints[key]):
            child = node[key]
            kind = OmegaConf.get_type(child) or hints[key]
            _refuse_extra_keys(child, kind, f"{prefix}{key}.", name)


def _require_one_process(name: str) -> None:
    """Refuse several processes for a script that would do the same in each of them."""
    if name != "train" and processes() > 1:
        raise UserError(
            f"{name} is not made for torchrun; start it with python. Of the scripts, torchrun is "
            "for train.py, and reproduce.py goes on from what that has trained."
        )


def _let_jobs_find_this_file() -> None:
    """Put this folder on the path of processes that a launcher starts elsewhere."""
    paths = [str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


def _check(name: str, arguments: argparse.Namespace) -> None:
    """Refuse what Hydra would refuse in words of its own, before it begins.

    Where the config is only shown, let it be that which would run: with the chosen system's
    overrides.
    """
    _require_one_process(name)
    if arguments.config_name is not None or arguments.config_path is not None:
        raise UserError(
            f"--config-name and --config-path would have no effect: {name} reads {name}.yaml; "
            "--config-dir adds a folder of yours."
        )
    own = arguments.config_dir
    if own is not None and not Path(own).is_dir():
        raise UserError(f"--config-dir={own} is no folder; give one with configs of yours.")
    places = [] if own is None else [f"hydra.searchpath=['file://{Path(own).resolve()}']"]
    given = [*places, *arguments.overrides]
    if arguments.multirun:
        for job in sample_jobs(arguments.overrides):
            compose_config(name, [*places, *job])
        _let_jobs_find_this_file()
    elif arguments.help or arguments.cfg:
        with in_words_of_ours(name):
            shown = _compose(name, given, with_hydra=True)
        with contextlib.suppress(UserError), in_words_of_ours(name):
            flags = [argument for argument in sys.argv if argument not in arguments.overrides]
            sys.argv[:] = [*flags, *_with_system(name, given)[len(places) :]]
        if arguments.help:
            choices = shown.hydra.runtime.choices.items()
            groups = {group: now for group, now in choices if not group.startswith("hydra/")}
            register_usage(name, groups, [CONFIGS] if own is None else [CONFIGS, Path(own)])
            sys.argv.append(OVERRIDE)
    elif not (arguments.hydra_help or arguments.shell_completion):
        compose_config(name, given)


def launch(name: str, stage: Callable[[Any], Any]) -> None:
    """Run ``stage`` with the dataclass of config ``name``: the whole life of a script."""
    register_schemas()
    arguments = get_args_parser().parse_args()
    try:
        _check(name, arguments)
    except UserError as error:
        fail(error)
    except OverrideParseException as error:
        fail(UserError(sentence(error, name)))

    @hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name=name)
    def run(composed: DictConfig) -> Any:
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
        with in_one_sentence():
            return stage(compose_config(name, _given_overrides()))

    run()
