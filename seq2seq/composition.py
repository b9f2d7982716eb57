"""Compose configs from YAML files and settings with Hydra, for the scripts and for Python."""

import inspect
import re
import typing
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import hydra
import yaml
from hydra._internal.core_plugins import file_config_source
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.plugins.config_source import ConfigResult
from omegaconf import OmegaConf, errors
from omegaconf._utils import get_yaml_loader

from seq2seq import config as schema
from seq2seq.errors import UserError

HERE = Path(__file__).resolve().parent
CONFIGS = next(
    folder / "configs" for folder in (HERE, HERE.parent) if (folder / "configs").is_dir()
)
"""Folder of the YAML files: in an installed package, or next to the package in the repository."""
SCHEMAS: dict[str, type] = {
    **dict.fromkeys(("prepare", "train", "reproduce"), schema.ReproduceConfig),
    "translate": schema.TranslateConfig,
    "evaluate": schema.EvaluateConfig,
    "compare": schema.CompareConfig,
}
"""Script name -> dataclass that Hydra fills.

For ``prepare`` and ``train``, it is the dataclass of ``reproduce``, because all three use the same
experiment files. ``prepare`` and ``train`` read only the settings of
:class:`~seq2seq.config.TrainConfig`."""
OF_REPRODUCE = set(inspect.get_annotations(schema.ReproduceConfig)) - {"systems"}
"""Keys that ``reproduce`` reads, but neither ``train`` nor ``prepare``."""
READ = SCHEMAS | dict.fromkeys(("prepare", "train"), schema.TrainConfig)
"""Script name -> dataclass of the settings that the script reads."""
IN_QUOTES = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
SENTENCES = ("prefix",)
"""Settings whose value is text as it is typed, brackets and quotes included."""
REMEDIES = {
    "converted to Integer": "set a whole number",
    "converted to Float": "set a number",
    "not a valid bool": "set true or false",
    "is not Optional": "set a value, not null",
    "Cannot convert 'list'": "set one value, without brackets",
    "Interpolation": r"write \${ for the characters ${",
    "at input '${": r"write \${ for the characters ${",
}
"""Part of what OmegaConf says of a wrong value -> how to fix it."""
SEVERAL = {"seed": "seeds", "decoding": "beams", "decoding.beam": "beams"}
"""Setting that holds one value in other scripts -> setting of ``reproduce`` that holds a list."""


def compose(name: str, settings: list[str]) -> tuple[Any, ...]:
    """Compose the config of script ``name`` as :func:`build_config` returns it.

    ``settings`` are words of its command line, ``key=value``. UserError if a setting is unknown or
    wrong.
    """
    register_schema(name)
    settings, outer = quoted(settings), GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()  # the caller may be a program of Hydra itself
    try:
        with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
            composed = hydra.compose(name, overrides=settings)
    except Exception as error:
        raise UserError(composition_error(error, name)) from None
    finally:
        GlobalHydra.instance().hydra = outer
    return build_config(name, composed, settings)


def register_schema(name: str) -> None:
    """Register the dataclasses of script ``name``, so that Hydra refuses other keys and types."""
    store = ConfigStore.instance()
    node, hints = OmegaConf.structured(SCHEMAS[name]), typing.get_type_hints(SCHEMAS[name])
    for key, hint in hints.items():
        if typing.get_origin(hint) is dict and key != "systems":
            OmegaConf.set_struct(node[key], False)  # the user chooses these keys
    store.store(name=f"{name}_schema", node=node)
    for kind, corpus in schema.CORPORA.items():
        store.store(name=kind, node=corpus, group="corpus")
    OmegaConf.register_new_resolver("own_name", _own_name, replace=True)
    Plugins.instance()  # registers Hydra's own sources
    SourcesRegistry.instance().types["file"] = FileConfigSource


def _own_name(directory: str | None) -> str:
    """Name of the user's text: the name of its folder."""
    return Path(directory or "own_text").expanduser().resolve().name


class FileConfigSource(file_config_source.FileConfigSource):
    """Reads YAML files for Hydra; values stay text, and a byte order mark is dropped.

    YAML would read 2024_11_25 as a number, and `no` (Norwegian) as false; here the schema decides
    the type. The class has the name of Hydra's own class, because Hydra accepts no other name.
    """

    def load_config(self, config_path: str) -> ConfigResult:
        path = Path(self.path, self._normalize_file_name(config_path))
        text = path.read_text(encoding="utf-8-sig")
        own = config_path.startswith("hydra/")  # Hydra's own schemas leave some types open
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
        if key.lstrip("+") in SENTENCES:
            return f"{key}={QuotedString(value, Quote.single).with_quotes()}"
        if re.fullmatch(r"\[.*\]|\{.*\}", value, re.DOTALL):
            inner = value[1:-1]
            parts = re.findall(rf"(?:{IN_QUOTES}|[^,'\"])+", inner)
            pairs = [part.partition(":") for part in parts]
            if re.search(r"[\[\]{}]", inner) or ",".join(parts) != inner:
                return argument
            if value[0] == "[":
                return f"{key}=[{_in_quotes(parts)}]"
            named = [f"{name}:{_in_quotes([of])}" for name, colon, of in pairs if colon]
            return f"{key}={{{','.join(named)}}}" if len(named) == len(parts) else argument
        return f"{key}={_in_quotes(value.split(',') if several else [value])}"

    return [quote(argument) for argument in arguments]


def _in_quotes(values: list[str]) -> str:
    """Join values with commas; quote each one that is neither quoted nor null."""
    return ",".join(
        text
        if re.fullmatch(f"null|{IN_QUOTES}", text)
        else QuotedString(text, Quote.single).with_quotes()
        for text in map(str.strip, values)
    )


def build_config(name: str, composed: Any, overrides: list[str]) -> tuple[Any, ...]:
    """Build the config of script ``name``; for ``reproduce``, also the list of its TrainConfigs."""
    valid = {field.name for field in fields(SCHEMAS[name])}
    if unknown := next((str(key) for key in composed if key not in valid), None):
        # Hydra accepts +unknown=value.
        raise UserError(schema.not_a_key(unknown, _keys(name, composed)))
    try:
        if SCHEMAS[name] is not schema.ReproduceConfig:
            return (_to_dataclass(SCHEMAS[name], composed),)
        return _experiment(name, composed, overrides)
    except errors.OmegaConfBaseException as error:
        raise UserError(composition_error(error, name)) from None


def _experiment(name: str, composed: Any, overrides: list[str]) -> tuple[Any, ...]:
    """Build the TrainConfig of the chosen system.

    For ``reproduce``, build the ReproduceConfig, and a TrainConfig for each system and seed.
    """
    parsed = OverridesParser.create().parse_overrides(overrides)
    typed = {str(one.key_or_group): one.value() for one in parsed}
    given = schema.flatten(typed)
    for key, value in (typed | given).items():
        if name == "reproduce" and key in SEVERAL:
            read = f"{SEVERAL[key]}=[...]"
            raise UserError(f"{name} does not read {key}={value}; set {read} instead.")
        if name != "reproduce" and key.partition(".")[0] in OF_REPRODUCE:
            raise UserError(f"{key} is a setting of reproduce, not of {name}; remove it.")
        if value == {}:
            raise UserError(f"{key}={{}} removes nothing; to remove its entries, write ~{key}.")
        if key == "corpus.kind":
            raise UserError(f"corpus.kind={value} does not choose a corpus; set corpus={value}.")
    chosen, systems = composed.system, composed.systems
    if chosen in schema.ATTENTION_KINDS and chosen not in systems:
        part = {"model": {"attention": {"kind": chosen}}}
        OmegaConf.update(systems, chosen, part, force_add=True)
    # Check the values now, because merging a system could hide an invalid one.
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


def _with_system(composed: Any, system: str, given: dict[str, Any]) -> Any:
    """Merge the settings of one system into the composed config.

    Refuse a system that would override a setting of the command line (``given``).
    """
    part: Any = OmegaConf.to_container(composed.systems[system])  # ${seed} is that of each run
    part.pop("label", None)  # a setting of reports, not of runs
    merged = OmegaConf.merge(composed, part, {"system": system})
    own = {*given, *schema.flatten(part)}
    parent = Path(str(OmegaConf.select(merged, "training.init_from"))).expanduser() / "config.json"
    for key, value in schema.flatten(_read(parent)).items() if parent.is_file() else ():
        if schema.INHERITED.match(key) and not any(f"{key}.".startswith(f"{of}.") for of in own):
            OmegaConf.update(merged, key, value)
    for key, value in schema.flatten(part).items():
        kept, asked = (OmegaConf.select(config, key) for config in (merged, composed))
        if key != "seeds" and key in given and kept != asked:
            raise UserError(
                f"{key}={given[key]} would have no effect: system={system} sets it to {value}; "
                f"remove this setting, or set systems.{system}.{key}=... instead."
            )
    return merged


def _read(config: Path) -> dict[str, Any]:
    """Settings of a run or checkpoint folder."""
    from seq2seq.checkpoint import read_config  # imports torch

    return asdict(read_config(config.parent))


def _to_dataclass(kind: type, composed: Any) -> Any:
    plain: Any = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    return schema.from_json(kind, {f.name: plain[f.name] for f in fields(kind) if f.name in plain})


def _keys(name: str, composed: Any) -> list[str]:
    """Return the dotted keys of all settings that script ``name`` reads."""
    groups: Any = OmegaConf.to_container(composed)
    read = [field.name for field in fields(READ[name]) if field.name != "systems"]
    keys = schema.flatten({key: groups[key] for key in read})
    return [key for key in keys if name != "reproduce" or key not in SEVERAL]


def composition_error(error: Exception, name: str) -> str:
    """Describe why a config cannot be composed: the fault in a sentence and, if known, the fix."""
    given = re.search(r"Could not override '([\w.]+)'", str(error))
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    for cause in causes:
        key, said = getattr(cause, "full_key", None), str(getattr(cause, "msg", ""))
        if isinstance(cause, MissingConfigException) and cause.options:
            group, _, choice = (cause.missing_cfg_file or "").partition("/")
            near = schema.nearest(choice, cause.options)
            return f"{group}={choice} is not a valid choice; valid, nearest first: {near}."
        if isinstance(cause, OverrideParseException):
            way = """key=value, 'key=["a","b"]' for a list, or 'key={name: "a"}' for names"""
            return f"{cause.override} cannot be read; write {way}."
        if isinstance(cause, errors.MissingMandatoryValue) and key:
            return f"{key} is not set; set {key}=..."
        if isinstance(cause, errors.ConfigKeyError | errors.ConfigAttributeError) and key:
            return _unknown_key(given[1] if given else key, key, cause.parent_node, name)
        if isinstance(cause, errors.OmegaConfBaseException) and key:
            if "is not a ListConfig" in said:
                return f"{key} is a list; put brackets around its values: {key}=[...]."
            if "Invalid type assigned" in said:
                return f"{key} is a group of settings; set {key}.NAME=VALUE."
            remedies = [remedy for part, remedy in REMEDIES.items() if part in said]
            return "; ".join([f"{key}: {said.splitlines()[0].rstrip('.')}", *remedies[:1]]) + "."
        if lacking := re.search(r"Could not load '([^']+)'", str(cause)):
            return f"There is no file {lacking[1]}.yaml in {CONFIGS}; set another name."
    said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    ours = isinstance(error, HydraException | errors.OmegaConfBaseException)
    return f"{said}." if ours else f"The config cannot be composed: {said}."


def _unknown_key(typed: str, key: str, group: Any, name: str) -> str:
    """Refuse ``key``, for which Hydra looked in ``group`` when it read the setting ``typed``."""
    if key.partition(".")[0] == "experiment":
        return "experiment holds no settings; its file must begin with # @package _global_."
    while (above := group._get_parent()) is not None:
        group = above
    valid = _keys(name, group)
    of_system = re.sub(r"^systems\.[^.]+\.?", "", key)
    known = [one for one in ("label", "seeds", *valid) if f"{one}.".startswith(f"{of_system}.")]
    if of_system != key and (known or not of_system):
        return f"{key} is not in the experiment; to add a setting, write +systems.NAME.KEY=VALUE."
    return schema.not_a_key(typed, valid)
