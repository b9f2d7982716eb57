"""What every script shares: compose the config, refuse bad ones in one sentence, log, exit.

Hydra composes ``configs/`` with the command line; here its result becomes the dataclasses of
``seq2seq.config``, and its errors become one sentence that names the nearest valid key. No stage
knows of Hydra.
"""

import dataclasses
import logging
import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import hydra
from hydra import compose, initialize_config_dir
from hydra._internal.utils import get_args_parser
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    OmegaConfBaseException,
    ValidationError,
)

from seq2seq import config as schema
from seq2seq.errors import UserError
from seq2seq.training.interruption import Interrupted

log = logging.getLogger(__name__)

CONFIGS = Path(__file__).resolve().parent.parent / "configs"
SCHEMAS: dict[str, type] = {
    "prepare": schema.ExperimentConfig,
    "train": schema.ExperimentConfig,
    "reproduce": schema.ExperimentConfig,
    "translate": schema.TranslateConfig,
    "evaluate": schema.EvaluateConfig,
    "compare": schema.CompareConfig,
    "publish": schema.PublishConfig,
    "benchmark": schema.BenchmarkConfig,
}


def register_schemas() -> None:
    """Give Hydra the dataclasses, so that unknown keys and wrong types are refused."""
    store = ConfigStore.instance()
    for name, node in SCHEMAS.items():
        store.store(name=f"{name}_schema", node=node)
    publish = OmegaConf.structured(schema.PublishConfig)
    for named in (publish.runs, publish.scores):  # their keys are names that the user gives
        OmegaConf.set_struct(named, False)
    store.store(name="publish_schema", node=publish)
    for name, corpus in schema.CORPORA.items():
        store.store(group="corpus", name=f"{name}_schema", node=corpus)
    store.store(group="tokenization", name="schema", node=schema.TokenizationConfig)
    store.store(group="model", name="schema", node=schema.ModelConfig)
    store.store(group="training", name="schema", node=schema.TrainingConfig)
    store.store(group="decoding", name="schema", node=schema.DecodingConfig)
    store.store(group="evaluation", name="schema", node=schema.EvaluationConfig)


def compose_config(name: str, overrides: list[str]) -> Any:
    """The dataclass of script ``name``, from ``configs/`` and Hydra overrides.

    Where the config names ``systems``, the overrides of the chosen ``system`` are applied on top.
    Raises UserError for anything that Hydra or the schema refuses.
    """
    try:
        composed = _compose(name, overrides)
        config = _to_dataclass(composed, name)
        if "systems" in composed and (chosen := composed.system):
            decided = list(composed.systems[chosen])
            _refuse_overruled(overrides, decided, f"system={chosen} decides it")
            config = _to_dataclass(_compose(name, [*overrides, *decided]), name)
        if isinstance(config, schema.EvaluateConfig) and config.beams is not None:
            reason = "beams=[...] decides it, one search for each width"
            _refuse_overruled(overrides, ["decoding", "decoding.beam"], reason)
        return config
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(_sentence(error, name)) from None


def compose_systems(config: schema.ExperimentConfig) -> list[schema.ExperimentConfig]:
    """Inside a launched script: its config once more for each seed and system of the experiment."""
    overrides = list(HydraConfig.get().overrides.task)
    runs_all = "reproduce runs every system, with each of seeds=[...] and beams=[...]"
    decided = ["seed", "system", "decoding", "decoding.beam", "decoding.sample"]
    _refuse_overruled(overrides, decided, runs_all)
    return [
        compose_config("reproduce", [*overrides, f"seed={seed}", f"system={system}"])
        for seed in config.seeds
        for system in config.systems
    ]


def _refuse_overruled(overrides: list[str], decided: list[str], reason: str) -> None:
    """Refuse an override that what comes after it would silently undo."""
    keys = {other.partition("=")[0] for other in decided}
    for override in overrides:
        key = override.lstrip("+").partition("=")[0]
        if key in keys and override not in decided:
            raise UserError(f"{override} would have no effect: {reason}; leave it out.")


def _compose(name: str, overrides: list[str]) -> DictConfig:
    """Compose, whether or not hydra.main has already opened ``configs/``."""
    if GlobalHydra.instance().is_initialized():
        return compose(name, overrides=overrides)
    register_schemas()
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return compose(name, overrides=overrides)


def _to_dataclass(composed: DictConfig, name: str) -> Any:
    """The dataclasses behind a composed config, complete and without a key too many."""
    if missing := sorted(OmegaConf.missing_keys(composed)):
        raise UserError(f"{missing[0]} is not set; give it as {missing[0]}=...")
    _refuse_extra_keys(composed, SCHEMAS[name], "", name)  # ``+key=value`` gets past Hydra
    return OmegaConf.to_object(composed)


def _refuse_extra_keys(node: DictConfig, expected: type, prefix: str, name: str) -> None:
    hints = get_type_hints(expected)
    for key in map(str, node):
        if key not in hints:
            raise UserError(_unknown_key(f"{prefix}{key}", name))
        if dataclasses.is_dataclass(hints[key]):
            child = node[key]
            kind = OmegaConf.get_type(child) or hints[key]
            _refuse_extra_keys(child, kind, f"{prefix}{key}.", name)


def _sentence(error: Exception, name: str) -> str:
    """One sentence for an error of Hydra or OmegaConf: what is wrong, and what would be valid."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    for cause in causes:
        if isinstance(cause, UserError):
            return str(cause)
        if isinstance(cause, MissingConfigException) and cause.options:
            group, _, choice = (cause.missing_cfg_file or "").rpartition("/")
            options = [option for option in cause.options if not option.endswith("schema")]
            return f"{group}={choice} is not a valid choice; nearest valid: " + (
                f"{schema.nearest(choice, options)}."
            )
        if isinstance(cause, OverrideParseException):
            return (
                f"{cause.override} is not of the form key=value; put quotes around a value that "
                "holds spaces, commas, brackets or =, such as input=\"'my file.txt'\"."
            )
    text = " ".join(str(error).split())
    if found := re.search(r"Could not (?:override|append to config|delete).*? '([^'=]+)'", text):
        key = found.group(1).lstrip("+")
        if key not in _keys(name):
            return _unknown_key(key, name)
    for cause in causes:
        key = getattr(cause, "full_key", None)
        if isinstance(cause, OmegaConfBaseException) and key:
            if key not in _keys(name) and not isinstance(cause, ValidationError):
                return _unknown_key(key, name)
            if isinstance(cause, ConfigKeyError | ConfigAttributeError):
                return f"{key} belongs to another kind of {key.partition('.')[0]}; leave it out."
            return f"{key}: {str(cause.msg).splitlines()[0].rstrip('.')}."
    return text


def _unknown_key(key: str, name: str) -> str:
    """Name the valid keys nearest to an unknown one."""
    near = schema.nearest(key, _keys(name))
    return f"{key} is not a config key of {name}; nearest valid: {near}."


def _keys(name: str) -> list[str]:
    """Every dotted key that a script's config may hold, whichever corpus is chosen."""

    def walk(node: Any, prefix: str) -> list[str]:
        found = []
        hints = get_type_hints(node)
        for field in dataclasses.fields(node):
            hint, key = hints[field.name], prefix + field.name
            found.append(key)
            if dataclasses.is_dataclass(hint):
                kinds = schema.CORPORA.values() if hint is schema.CorpusConfig else [hint]
                for kind in kinds:
                    found += walk(kind, f"{key}.")
        return found

    return sorted(set(walk(SCHEMAS[name], "")))


def launch(name: str, stage: Callable[[Any], None]) -> None:
    """Run ``stage`` with the dataclass of config ``name``: the whole life of a script.

    A UserError ends the script with its one sentence and status 1, an interrupt with status 130, a
    training that SIGTERM stopped with 0.
    """
    register_schemas()
    arguments = get_args_parser().parse_args()
    try:
        if not (arguments.multirun or arguments.help or arguments.hydra_help):
            compose_config(name, arguments.overrides)  # Hydra's own message would be its last word
    except UserError as error:
        sys.exit(f"error: {error}")

    @hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name=name)
    def run(composed: DictConfig) -> None:
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
        try:
            stage(compose_config(name, list(HydraConfig.get().overrides.task)))
        except UserError as error:
            sys.exit(f"error: {error}")
        except Interrupted as stop:
            log.info("%s To go on: %s", stop, shlex.join(["python", *sys.argv]))
            sys.exit(stop.status)
        except KeyboardInterrupt:
            sys.exit(130)
        except BrokenPipeError:  # whoever read standard output has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    run()
