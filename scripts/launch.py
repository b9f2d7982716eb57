"""What every script shares: compose the config, refuse bad ones in one sentence, log, exit.

Hydra composes ``configs/`` with the command line; here its result becomes the dataclasses of
``seq2seq.config``, and its errors become one sentence that names the nearest valid key. No stage
knows of Hydra.
"""

import dataclasses
import logging
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import hydra
import yaml
from endings import fail, in_one_sentence, processes
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
from overrides import (
    KIND,
    refuse_overruled,
    refuse_stray_scale,
    refuse_unlike,
    sample_jobs,
    with_kind_as_system,
)

from seq2seq import config as schema
from seq2seq.errors import UserError

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
    "explain": schema.ExplainConfig,
}

NAMED = {
    "publish": ["runs", "scores", "curves", "alignments", "table_1", "maps", "lines"],
    "compare": ["baselines"],
    "evaluate": ["test_texts"],
    "prepare": ["baselines", "test_texts"],
    "train": ["baselines", "test_texts"],
    "reproduce": ["baselines", "test_texts"],
}
"""Fields whose keys are names that the user gives."""


def register_schemas() -> None:
    """Give Hydra the dataclasses, so that unknown keys and wrong types are refused."""
    store = ConfigStore.instance()
    for name, node in SCHEMAS.items():
        store.store(name=f"{name}_schema", node=node)
    for name, fields in NAMED.items():
        node = OmegaConf.structured(SCHEMAS[name])
        for key in fields:
            OmegaConf.set_struct(node[key], False)
        store.store(name=f"{name}_schema", node=node)
    for name, corpus in schema.CORPORA.items():
        store.store(group="corpus", name=f"{name}_schema", node=corpus)
    store.store(group="tokenization", name="schema", node=schema.TokenizationConfig)
    store.store(group="model", name="schema", node=schema.ModelConfig)
    store.store(group="training", name="schema", node=schema.TrainingConfig)
    store.store(group="decoding", name="schema", node=schema.DecodingConfig)
    store.store(group="evaluation", name="schema", node=schema.EvaluationConfig)


def compose_config(name: str, overrides: list[str]) -> Any:
    """The dataclass of script ``name``, from ``configs/`` and Hydra overrides.

    Where the config names ``systems``, the overrides of the chosen ``system`` are applied on top; a
    kind of attention by itself is a system, too.
    Raises UserError for anything that Hydra or the schema refuses.
    """
    refuse_stray_scale(overrides)
    if name in ("prepare", "train"):
        reason = f"{name} is for one run, by system=... and seed=...; reproduce does them all"
        refuse_overruled(overrides, ["seeds", "beams"], reason)
    try:
        composed = _compose(name, overrides)
        config = _to_dataclass(composed, name)
        if "systems" in composed:
            overrides = with_kind_as_system(overrides, composed)
            composed = _compose(name, overrides)
        if "systems" in composed and (chosen := composed.system):
            decided = list(composed.systems[chosen])
            if any(override.startswith("seeds=") for override in overrides):
                decided = [other for other in decided if not other.startswith("seeds=")]
            refuse_overruled(overrides, decided, f"system={chosen} decides it")
            config = _to_dataclass(_compose(name, [*overrides, *decided]), name)
        if isinstance(config, schema.EvaluateConfig) and config.beams is not None:
            reason = "beams=[...] decides it, one search for each width"
            refuse_overruled(overrides, ["decoding", "decoding.beam"], reason)
        for group in ("decoding", "tokenization"):
            if (settings := getattr(config, group, None)) is not None:
                settings.refuse_idle()
        return config
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(_sentence(error, name)) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        text = " ".join(str(error).split())
        raise UserError(f"A config file is not plain YAML ({text}); mend it.") from None
    except (AssertionError, ValueError) as error:  # Hydra's own, where it expects no such thing
        text = " ".join(str(error).split()).rstrip(".") or "an override has no key"
        raise UserError(f"The config cannot be composed: {text}; mend the override.") from None


def compose_systems(config: schema.ExperimentConfig) -> list[schema.ExperimentConfig]:
    """Inside a launched script: its config once more for each seed and system of the experiment.

    A system may have ``seeds`` of its own among its overrides, for when none are asked for. The
    first seed of all systems comes first.
    """
    given = list(HydraConfig.get().overrides.task)
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
    # Strictly, since OmegaConf lets an interpolation put a text where a list belongs.
    plain = OmegaConf.to_container(composed, resolve=True)
    return schema.from_json(SCHEMAS[name], plain, f"The config of {name}")


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
    return f"{text.rstrip('.')}."


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


def launch(name: str, stage: Callable[[Any], None]) -> None:
    """Run ``stage`` with the dataclass of config ``name``: the whole life of a script."""
    register_schemas()
    arguments = get_args_parser().parse_args()
    try:
        _require_one_process(name)
        # Whatever Hydra itself refuses would end in its words, not in a sentence.
        if arguments.multirun:
            for job in sample_jobs(arguments.overrides):
                compose_config(name, job)
            _let_jobs_find_this_file()
        elif not (arguments.help or arguments.hydra_help):
            compose_config(name, arguments.overrides)
    except UserError as error:
        fail(error)
    except OverrideParseException as error:
        fail(UserError(_sentence(error, name)))

    @hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name=name)
    def run(composed: DictConfig) -> None:
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
        with in_one_sentence():
            stage(compose_config(name, list(HydraConfig.get().overrides.task)))

    run()
