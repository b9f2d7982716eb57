"""Common start of all scripts: compose the config, report errors in one line, exit."""

import contextlib
import errno
import logging
import os
import re
import shlex
import signal
import sys
import typing
from collections.abc import Callable, Iterator
from dataclasses import fields
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
from seq2seq.interruption import Interrupted, process_count

log = logging.getLogger(__name__)

CONFIGS = Path(__file__).resolve().parent.parent / "configs"
SCHEMAS: dict[str, type] = {
    **dict.fromkeys(("prepare", "train", "reproduce"), schema.ReproduceConfig),
    "translate": schema.TranslateConfig,
    "evaluate": schema.EvaluateConfig,
    "compare": schema.CompareConfig,
    "explain": schema.ExplainConfig,
    "serve": schema.ServeConfig,
}
"""Script name -> dataclass that Hydra fills. Experiment files hold the settings of ``reproduce``;
``prepare`` and ``train`` read the subset :class:`~seq2seq.config.TrainConfig`."""
OF_REPRODUCE = set(vars(schema.ReproduceConfig)["__annotations__"]) - {"systems"}
"""Keys that only ``reproduce`` reads."""
SHARED = ("train", "translate", "evaluate")
"""Scripts whose work several processes of torchrun share."""
SEVERAL = {"seed": "seeds", "decoding.beam": "beams"}
"""Key of one value in the other scripts -> key of the list of values in ``reproduce``."""


def launch(name: str, stage: Callable[..., float | None]) -> None:
    """Run ``stage`` with the config that Hydra composes for script ``name``, and exit.

    ``stage`` is called with the configs that :func:`build_config` returns. A number that ``stage``
    returns goes to Hydra's sweepers.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        pass  # the shell may have closed a standard stream; no later file may take its number
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
            return stage(*build_config(name, config, overrides))

    with exit_status():
        if name not in SHARED and process_count() > 1:
            raise UserError(
                f"RANK and WORLD_SIZE={process_count()} are set (by torchrun?), but {name} runs in "
                "one process; unset both, and start it with python."
            )
        try:
            sys.argv = [typed[0], *quoted(typed[1:])]
            run()
        except Exception as error:
            if stage_reached or isinstance(error, BrokenPipeError):
                raise
            raise UserError(composition_error(error, name)) from None


def register_schema(name: str) -> None:
    """Register the dataclasses of script ``name``: Hydra then refuses other keys and types."""
    store = ConfigStore.instance()
    node, hints = OmegaConf.structured(SCHEMAS[name]), typing.get_type_hints(SCHEMAS[name])
    for key, hint in hints.items():
        if typing.get_origin(hint) is dict and key != "systems":
            OmegaConf.set_struct(node[key], False)  # the user chooses these keys
    store.store(name=f"{name}_schema", node=node)
    for kind, corpus in schema.CORPORA.items():
        store.store(name=kind, node=corpus, group="corpus")
    Plugins.instance()  # registers Hydra's own sources
    SourcesRegistry.instance().types["file"] = FileConfigSource


class FileConfigSource(file_config_source.FileConfigSource):
    """Reads YAML files for Hydra; values stay text, and a byte order mark is dropped.

    YAML reads 2024_11_25 as a number, and `no` (Norwegian) as false; here the schema decides.
    Hydra finds a source by the name of its class.
    """

    def load_config(self, config_path: str) -> ConfigResult:
        path = Path(self.path, self._normalize_file_name(config_path))
        text = path.read_text(encoding="utf-8-sig")
        own = config_path.startswith("hydra/")  # Hydra's schemas do not say all types
        config = yaml.load(text, Loader=get_yaml_loader() if own else _AsWritten)
        where, header = f"file://{self.path}", self._get_header_dict(text)
        return ConfigResult(self.provider, where, OmegaConf.create(config or {}), header)


class _AsWritten(get_yaml_loader()):  # type: ignore[misc]
    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        is_text = isinstance(node, yaml.ScalarNode) and not node.tag.endswith(":null")
        return node.value if is_text else super().construct_object(node, deep)


def quoted(arguments: list[str]) -> list[str]:
    """Put Hydra's quotes around the values of a command line.

    Without quotes, Hydra reads 2024_11_25 as a number and refuses ~/file. Commas separate the
    values of a list, and in a multirun the values of the successive runs.
    """
    several = bool({"--multirun", "-m"} & {*arguments})

    def quote(argument: str) -> str:
        key, equals, value = argument.partition("=")
        if not equals or re.match(r"[-~]|\+*hydra[./]|$", key) or (several and "(" in value):
            return argument
        if re.fullmatch(r"\[.*\]|\{.*\}", value, re.DOTALL):
            plain = re.fullmatch(r"\[([^\[\]{}'\"]+)\]", value)
            return f"{key}=[{_in_quotes(plain[1].split(','))}]" if plain else argument
        return f"{key}={_in_quotes(value.split(',') if several else [value])}"

    return [quote(argument) for argument in arguments]


def _in_quotes(values: list[str]) -> str:
    """Join values with commas; quote each one that is neither quoted nor null."""
    left = r"null|'([^'\\]|\\.)*'|\"([^\"\\]|\\.)*\""
    return ",".join(
        text if re.fullmatch(left, text) else QuotedString(text.strip(), Quote.single).with_quotes()
        for text in values
    )


def build_config(name: str, composed: DictConfig, overrides: list[str]) -> tuple[Any, ...]:
    """Build the config of script ``name``; for ``reproduce``, also the list of its TrainConfigs."""
    try:
        if SCHEMAS[name] is not schema.ReproduceConfig:
            return (_to_dataclass(SCHEMAS[name], composed),)
        return _experiment(name, composed, overrides)
    except OmegaConfBaseException as error:
        raise UserError(composition_error(error, name)) from None


def _experiment(name: str, composed: DictConfig, overrides: list[str]) -> tuple[Any, ...]:
    """Build the config of the chosen system.

    For ``reproduce``, build its ReproduceConfig and one TrainConfig per system and seed.
    """
    parsed = OverridesParser.create().parse_overrides(overrides)
    given = schema.flatten({str(one.key_or_group): one.value() for one in parsed})
    for key in given:
        if name == "reproduce" and key in SEVERAL:
            raise UserError(f"{name} does not read {key}; set {SEVERAL[key]}=[...] instead.")
        if name != "reproduce" and key.partition(".")[0] in OF_REPRODUCE:
            raise UserError(f"{key} is a setting of reproduce, not of {name}; remove it.")
    chosen, systems = composed.system, composed.systems
    if chosen in schema.ATTENTION_KINDS and chosen not in systems:
        part = {"model": {"attention": {"kind": chosen}}}
        OmegaConf.update(systems, chosen, part, force_add=True)
    # Before a system is merged, which could hide an invalid value.
    config = _to_dataclass(schema.ReproduceConfig, composed)
    if name != "reproduce":
        return (_to_dataclass(schema.TrainConfig, _with_system(composed, chosen, given)),)
    names = list(systems)
    if "system" in given:
        config.baseline, config.baselines = given.get("baseline", chosen), {}
        names = list(dict.fromkeys([chosen, config.baseline]))
    merged = {system: _with_system(composed, system, given) for system in names}
    seeds = {
        system: _to_dataclass(schema.ReproduceConfig, composed if "seeds" in given else own).seeds
        for system, own in merged.items()
    }
    runs = [
        _to_dataclass(schema.TrainConfig, OmegaConf.merge(merged[system], {"seed": seed}))
        for seed in dict.fromkeys(seed for own in seeds.values() for seed in own)
        for system in names
        if seed in seeds[system]
    ]
    return config, runs


def _with_system(composed: DictConfig, system: str, given: dict[str, Any]) -> DictConfig:
    """Merge the settings of one system into the composed config.

    Refuse a system that would override a setting of the command line (``given``).
    """
    part: Any = OmegaConf.to_container(composed.systems[system], resolve=True)
    part.pop("label", None)  # of reports, not of runs
    merged: Any = OmegaConf.merge(composed, part, {"system": system})
    for key, value in schema.flatten(part).items():
        kept, asked = (OmegaConf.select(config, key) for config in (merged, composed))
        if key != "seeds" and key in given and kept != asked:
            raise UserError(
                f"{key}={given[key]} would have no effect: system={system} sets it to {value}; "
                f"remove it, or set systems.{system}.{key}=... instead."
            )
    return merged


def _to_dataclass(kind: type, composed: Any) -> Any:
    plain: Any = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    return schema.from_json(kind, {field.name: plain[field.name] for field in fields(kind)})


def _keys(name: str, composed: DictConfig) -> list[str]:
    """Return the dotted keys of all settings that script ``name`` reads."""
    read = schema.TrainConfig if name in ("prepare", "train") else SCHEMAS[name]
    groups: Any = OmegaConf.to_container(composed)
    keys = schema.flatten({f.name: groups[f.name] for f in fields(read) if f.name != "systems"})
    return [key for key in keys if name != "reproduce" or key not in SEVERAL]


def composition_error(error: Exception, name: str) -> str:
    """Describe an error of Hydra or OmegaConf in one sentence: the fault and how to fix it."""
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
            return f"{cause.override} cannot be read; write key=value, or 'key=[a,b]' for a list."
        if isinstance(cause, MissingMandatoryValue) and key:
            return f"{key} is not set; set {key}=..."
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
    near = schema.nearest_keys(key, _keys(name, group))
    return f"{key} is not a config key of {name}; nearest valid: {near}."


@contextlib.contextmanager
def exit_status() -> Iterator[None]:
    """Map exceptions and signals to one line and an exit status.

    Status 1: a UserError, a file that cannot be used, a full disk or too little memory. 130:
    Ctrl-C. 143: SIGTERM. 0: SIGTERM stopped a training and everything is saved, or the reader of
    standard output has closed it. Other exceptions pass through.
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
        _fail(f"{error.filename} cannot be used ({error.strerror}); choose another path.")
    except (MemoryError, RuntimeError) as error:
        lacking = re.search("allocate memory|out of memory|ALLOC_FAILED", str(error))
        if not lacking and not isinstance(error, MemoryError):
            raise
        _fail(
            "out of memory; lower training.batch_size (raise training.gradient_accumulation to "
            "keep the update the same) or decoding.batch_size, use a smaller model, or free memory."
        )
    except Interrupted as stop:
        command = shlex.join(sys.orig_argv)
        again = command if process_count() == 1 else "torchrun ..."
        log.info("%s To continue, run the same command again: %s", stop, again)
        sys.exit(stop.status)
    except KeyboardInterrupt:
        sys.exit(130)


def _fail(sentence: str) -> typing.NoReturn:
    """Exit with status 1; only the first process that fails prints the reason."""
    with contextlib.suppress(UserError):  # process_count refuses some variables
        if process_count() > 1:
            from seq2seq.distributed import claim_report  # imports torch

            if not claim_report():
                sys.exit(1)
    sys.exit(f"error: {sentence}")
