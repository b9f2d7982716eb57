"""What every script shares: it composes the config, makes bad input one sentence, and exits."""

import contextlib
import dataclasses
import errno
import logging
import os
import re
import shlex
import signal
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

try:
    import hydra
except ModuleNotFoundError as error:
    sys.exit(
        f"error: {error.name} is not installed here; run make install, then "
        "source .venv/bin/activate."
    )
import yaml
from hydra._internal.core_plugins import file_config_source
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, OmegaConf
from omegaconf._utils import get_yaml_loader
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    GrammarParseError,
    InterpolationResolutionError,
    MissingMandatoryValue,
    OmegaConfBaseException,
)

from seq2seq import config as schema
from seq2seq.errors import UserError
from seq2seq.training.interruption import Interrupted, process_count

log = logging.getLogger(__name__)

CONFIGS = Path(__file__).resolve().parent.parent / "configs"
SCHEMAS: dict[str, type] = {
    **dict.fromkeys(("prepare", "train", "reproduce"), schema.ExperimentConfig),
    "translate": schema.TranslateConfig,
    "evaluate": schema.EvaluateConfig,
    "compare": schema.CompareConfig,
    "explain": schema.ExplainConfig,
}
INSTEAD = {
    ("train", "seeds"): "seed",
    ("reproduce", "seed"): "seeds",
    ("reproduce", "decoding.beam"): "beams",
}
"""(Script, key that it does not read) -> the key to give instead."""


def launch(name: str, stage: Callable[[Any], float | None]) -> None:
    """Run ``stage`` with the config that Hydra composes for script ``name``, and exit.

    ``stage`` gets the script's dataclass; that of ``reproduce`` gets a list of them, one for each
    system and seed. Hydra's sweepers get the number that it returns, if any.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        pass  # a stream that the shell has closed: what is opened next must not take its number
    os.close(number)
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115
    register_schema(name)
    typed = sys.argv
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # have Hydra raise its errors, not print them
    if {"--help", "-h"} & set(sys.argv):
        print(sys.modules["__main__"].__doc__)
    if {"--multirun", "-m"} & set(sys.argv):  # a launcher's jobs import this file
        paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    stage_reached = False

    @hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name=name)
    def run(config: DictConfig) -> float | None:
        nonlocal stage_reached
        stage_reached = True
        sys.argv = typed
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
        with exit_status():  # here, too, or Hydra prints a line of its own first
            overrides: Any = OmegaConf.to_container(HydraConfig.get().overrides.task)
            return stage(build_config(name, config, overrides))

    with exit_status():
        if name != "train" and process_count() > 1:
            raise UserError(
                f"RANK and WORLD_SIZE={process_count()} are set, as by torchrun, and {name} is one "
                "process; unset both, and start it with python."
            )
        try:
            sys.argv = [typed[0], *quoted(name, typed[1:])]
            run()
        except Exception as error:
            if stage_reached or isinstance(error, BrokenPipeError):
                raise
            raise UserError(composition_error(error, name)) from None


def register_schema(name: str) -> None:
    """Give Hydra the dataclasses of script ``name``: it refuses unknown keys and wrong types."""
    store = ConfigStore.instance()
    node, hints = OmegaConf.structured(SCHEMAS[name]), typing.get_type_hints(SCHEMAS[name])
    for key, hint in hints.items():
        if typing.get_origin(hint) is dict and key != "systems":
            OmegaConf.set_struct(node[key], False)  # the user chooses these keys
    store.store(name=f"{name}_schema", node=node)
    for kind, corpus in schema.CORPORA.items():
        store.store(name=f"{kind}_corpus", node=corpus)
    Plugins.instance()  # registers Hydra's own
    SourcesRegistry.instance().types["file"] = FileConfigSource


class FileConfigSource(file_config_source.FileConfigSource):
    """YAML as Hydra reads it, but text stays as it is written, and a byte order mark is no text.

    YAML takes 2024_11_25 for a number, and `no` (Norwegian) for false. Here they stay text, as does
    any value that is not written as Python would write it; where the schema wants a number, it
    becomes one. Hydra knows a source by the name of its class.
    """

    def load_config(self, config_path: str) -> ConfigResult:
        path = Path(self.path, self._normalize_file_name(config_path))
        text = path.read_text(encoding="utf-8-sig")
        config, plain = (yaml.load(text, Loader=of) for of in (_AsWritten, get_yaml_loader()))
        if config_path.startswith("hydra/"):  # whose schemas do not say all types
            config = plain
        elif isinstance(config, dict) and "hydra" in config:
            config["hydra"] = plain["hydra"]
        where, header = f"file://{self.path}", self._get_header_dict(text)
        return ConfigResult(self.provider, where, OmegaConf.create(config or {}), header)


class _AsWritten(get_yaml_loader()):  # type: ignore[misc]
    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        value = super().construct_object(node, deep)
        unlike = isinstance(value, bool | int | float) and str(value) != node.value
        # The schema could not read 0x10 and .inf.
        return node.value if unlike and not re.match(r"[-+]?(0[xob]|\.)", node.value) else value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        for key, _ in node.value:
            if key.tag.endswith((":int", ":float", ":bool")):
                key.tag = self.DEFAULT_SCALAR_TAG
        return super().construct_mapping(node, deep)


def text_settings(schema: type, prefix: str = "") -> Iterator[tuple[str, bool]]:
    """Keys of the settings that are text (of a group, with a dot), and whether they are lists."""
    for key, hint in typing.get_type_hints(schema).items():
        if dataclasses.is_dataclass(hint):
            for kind in vars(hint).get("kinds", {"": hint}).values():
                yield from text_settings(kind, f"{prefix}{key}.")
        elif hint in (str, str | None, list[str], list[str] | None):
            yield f"{prefix}{key}", hint not in (str, str | None)
        elif hint == dict[str, str]:
            yield f"{prefix}{key}.", False


def quoted(name: str, arguments: list[str]) -> list[str]:
    """Arguments of script ``name``, with Hydra's quotes around texts, which it takes as they are.

    Without, 2024_11_25 is a number to it, and ~/file an error. Texts that have quotes keep theirs.
    Commas separate the texts of a list, and those that a multirun takes one after the other.
    """
    texts = dict(text_settings(SCHEMAS[name]))
    texts |= {path.name: False for path in CONFIGS.iterdir() if path.is_dir()}
    several = bool({"--multirun", "-m"} & {*arguments})

    def quote(argument: str) -> str:
        key, equals, text = argument.partition("=")
        bare = re.sub(r"^\+*(systems\.[^.]+\.)?", "", key)
        listed = texts.get(bare, texts.get(bare.rpartition(".")[0] + "."))
        if not equals or listed is None or (several and "(" in text):
            return argument
        if listed:
            inside = re.fullmatch(r"\[([^\[\]{}'\"]*)\]", text)
            return f"{key}=[{_in_quotes(inside[1].split(','))}]" if inside else argument
        return f"{key}={_in_quotes(text.split(',') if several else [text])}"

    return [quote(argument) for argument in arguments]


def _in_quotes(texts: list[str]) -> str:
    """The texts with quotes around those that have none."""
    left = r"null|'([^'\\]|\\.)*'|\"([^\"\\]|\\.)*\""
    return ",".join(
        text if re.fullmatch(left, text) else QuotedString(text.strip(), Quote.single).with_quotes()
        for text in texts
    )


def build_config(name: str, composed: DictConfig, overrides: list[str]) -> Any:
    """The dataclass of script ``name`` from its composed config; for ``reproduce`` a list."""
    try:
        if SCHEMAS[name] is schema.ExperimentConfig:
            return _experiment_config(name, composed, overrides)
        return _to_dataclass(name, composed)
    except OmegaConfBaseException as error:
        raise UserError(composition_error(error, name)) from None


def _experiment_config(name: str, composed: DictConfig, overrides: list[str]) -> Any:
    """The chosen system's config; for ``reproduce`` those of all systems and seeds."""
    parsed = OverridesParser.create().parse_overrides(overrides)
    given = schema.flatten({str(one.key_or_group): one.value() for one in parsed})
    for key in given:
        if instead := INSTEAD.get((name, key)):
            raise UserError(f"{name} does not read {key}; give {instead}=... instead.")
    chosen, systems = composed.system, composed.systems
    if chosen in schema.ATTENTION_KINDS and chosen not in systems:
        part = {"model": {"attention": {"kind": chosen}}}
        OmegaConf.update(systems, chosen, part, force_add=True)
    _to_dataclass(name, composed)  # before the merge, which could hide what is not valid
    if name != "reproduce":
        return _with_system(name, composed, chosen, {"seed": composed.seed}, given)
    names = list(systems)
    if "system" in given:
        composed.baseline = given.get("baseline", chosen)
        composed.baselines = {}
        names = list(dict.fromkeys([chosen, composed.baseline]))
    seeds = {system: systems[system].get("seeds", composed.seeds) for system in names}
    if "seeds" in given:
        seeds = dict.fromkeys(names, composed.seeds)
    return [
        _with_system(name, composed, system, {"seed": seed, "seeds": seeds[system]}, given)
        for seed in dict.fromkeys(seed for own in seeds.values() for seed in own)
        for system in names
        if seed in seeds[system]
    ]


def _with_system(
    name: str, composed: DictConfig, system: str, seeds: dict[str, Any], given: dict[str, Any]
) -> Any:
    """The composed config with the settings of one system merged into it.

    Refused where they would override a setting ``given`` on the command line.
    """
    part: Any = OmegaConf.to_container(composed.systems[system], resolve=True)
    merged: Any = OmegaConf.merge(composed, part, seeds | {"system": system})
    for key, value in schema.flatten(part).items():
        kept, asked = (OmegaConf.select(config, key) for config in (merged, composed))
        if key != "seeds" and key in given and kept != asked:
            raise UserError(
                f"{key}={given[key]} would have no effect: system={system} sets it to {value}; "
                f"leave it out, or give systems.{system}.{key}=... instead."
            )
    return _to_dataclass(name, merged)


def _to_dataclass(name: str, composed: DictConfig) -> Any:
    plain = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    return schema.from_json(SCHEMAS[name], plain)


def composition_error(error: Exception, name: str) -> str:
    """One sentence for an error of Hydra or OmegaConf: what is wrong, and what would be valid."""
    given = re.search(r"Could not override '([\w.]+)'", str(error))
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    for cause in causes:
        key, said = getattr(cause, "full_key", None), str(getattr(cause, "msg", ""))
        if isinstance(cause, MissingConfigException) and cause.options:
            group, _, choice = (cause.missing_cfg_file or "").rpartition("/")
            near = schema.nearest(choice, cause.options)
            return f"{group}={choice} is not a valid choice; nearest valid: {near}."
        if isinstance(cause, OverrideParseException):
            return f"{cause.override} cannot be read; write key=value, and a list as 'key=[a,b]'."
        if isinstance(cause, MissingMandatoryValue) and key:
            return f"{key} is not set; give {key}=..."
        if isinstance(cause, ConfigKeyError | ConfigAttributeError) and key:
            return _unknown_key(given[1] if given else key, cause.parent_node, name)
        if isinstance(cause, OmegaConfBaseException) and key:
            if "is not a ListConfig" in said:
                return f"{key} is a list; put brackets around its values: {key}=[...]."
            if isinstance(cause, InterpolationResolutionError | GrammarParseError):
                said = f"{said.splitlines()[0].rstrip('.')}; write \\${{ for the characters ${{"
            return f"{key}: {said.splitlines()[0].rstrip('.')}."
    said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    ours = isinstance(error, HydraException | OmegaConfBaseException)
    return f"{said}." if ours else f"The config cannot be composed: {said}."


def _unknown_key(key: str, group: Any, name: str) -> str:
    if key.partition(".")[0] == "experiment":
        return "The first line of an experiment's file must be # @package _global_; add it."
    while (above := group._get_parent()) is not None:
        group = above
    settings: Any = OmegaConf.to_container(group)
    valid = schema.flatten({k: v for k, v in settings.items() if k not in ("hydra", "systems")})
    near = schema.nearest_keys(key, [one for one in valid if (name, one) not in INSTEAD])
    return f"{key} is not a config key of {name}; nearest valid: {near}."


@contextlib.contextmanager
def exit_status() -> Iterator[None]:
    """Map exceptions and signals to one line and an exit status.

    1 for a UserError, a file that cannot be used, or too little memory; 130 for Ctrl-C, 143 for
    SIGTERM; 0 for a training that SIGTERM stopped with everything saved, and where the reader of
    standard output has gone. Other exceptions pass.
    """
    try:
        # By default SIGTERM would leave temporary files and workers behind. Under torchrun it keeps
        # its default, since a process that waits inside PyTorch would not end.
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL and process_count() == 1:
            signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
        yield
    except UserError as error:
        _fail(str(error))
    except BrokenPipeError:  # the reader of standard output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            _fail(f"{error.filename or 'The disk'} is full; free some space and run this again.")
        if error.filename is None:
            raise
        _fail(f"{error.filename} cannot be used ({error.strerror}); choose another place.")
    except (MemoryError, RuntimeError) as error:
        lacking = re.search("allocate memory|out of memory|ALLOC_FAILED", str(error))
        if not lacking and not isinstance(error, MemoryError):
            raise
        _fail(
            "out of memory; set a smaller training.batch_size (with training.gradient_accumulation "
            "for the same update), decoding.batch_size or model, or free some memory."
        )
    except Interrupted as stop:
        command = shlex.join(sys.orig_argv)
        again = command if process_count() == 1 else "torchrun ..."
        log.info("%s To go on, run the same command again: %s", stop, again)
        sys.exit(stop.status)
    except KeyboardInterrupt:
        sys.exit(130)


def _fail(sentence: str) -> typing.NoReturn:
    """Exit with status 1; of several processes, the first to fail says why."""
    with contextlib.suppress(UserError):  # of variables that are not torchrun's
        if process_count() > 1:
            from seq2seq.training.distributed import claim_report  # imports torch

            if not claim_report():
                sys.exit(1)
    sys.exit(f"error: {sentence}")
