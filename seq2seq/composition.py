"""Compose the settings of a script: YAML files by Hydra, then the words of a command line.

All values stay text until the dataclasses of :mod:`seq2seq.config` decide their types.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, get_type_hints

import hydra
import yaml
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seq2seq import config as schema
from seq2seq.errors import UserError
from seq2seq.stages import STAGES

HERE = Path(__file__).resolve().parent
CONFIGS = next(filter(Path.is_dir, (HERE / "configs", HERE.parent / "configs")))
"""Folder of the YAML files: in an installed package, or next to the package in the repository."""
SETTINGS = {name: get_type_hints(stage)["config"] for name, stage in STAGES.items()}
"""Script -> dataclass of the settings that it reads."""
GROUPS = ("experiment", "corpus", "tokenization", "model", "decoding")
"""Folders of YAML files; a setting such as model=small chooses one of them."""
SEVERAL = {"seed": "seeds", "decoding": "beams", "decoding.beam": "beams"}
"""Setting that holds one value in other scripts -> setting of ``reproduce`` that holds a list."""


OmegaConf.register_new_resolver(
    "own_name", lambda directory: Path(directory or "own_text").expanduser().resolve().name
)


@contextmanager
def _one_sentence() -> Iterator[None]:
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(f"The settings cannot be composed: {_one_line(error)}.") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


@_one_sentence()
def compose(name: str, words: Iterable[str]) -> tuple[Any, ...]:
    """Build the config of script ``name`` from words like ``key=value``.

    For ``reproduce``, there is also the list of the TrainConfigs of its runs."""
    composed, given, _ = read_settings(name, words)
    if not issubclass(SETTINGS[name], schema.TrainConfig):
        return (_build(SETTINGS[name], composed),)
    # 1. Check all values: merging a system could hide an invalid one.
    config = _build(schema.ReproduceConfig, composed)
    chosen = config.system
    if chosen not in config.systems:
        composed.systems[chosen] = {"model": {"attention": {"kind": chosen}}}
        config = _build(schema.ReproduceConfig, composed)
    if name != "reproduce":
        return (_build(schema.TrainConfig, _with_system(composed, chosen, given)),)
    # 2. Choose the systems.
    systems = list(config.systems)
    if "system" in given:
        config.baseline, config.baselines = given.get("baseline", chosen), {}
        systems = list(dict.fromkeys([chosen, config.baseline]))
    # 3. Merge the settings of each, and build a config for each of its seeds.
    merged = {system: _with_system(composed, system, given) for system in systems}
    seeds = {system: _build(schema.ReproduceConfig, own).seeds for system, own in merged.items()}
    runs = [
        _build(schema.TrainConfig, OmegaConf.merge(merged[system], {"seed": seed}))
        for seed in dict.fromkeys(seed for own in seeds.values() for seed in own)
        for system in systems
        if seed in seeds[system]
    ]
    return config, runs


def _with_system(composed: DictConfig, system: str, given: dict[str, Any]) -> Any:
    """Merge a system's settings into the composed config; it may not override those ``given``."""
    part: Any = OmegaConf.to_container(composed.systems[system])  # ${seed} is that of each run
    part.pop("label", None)  # a setting of reports, not of runs
    if "seeds" in given:
        part.pop("seeds", None)
    own = schema.flatten(part)
    for key, value in own.items():
        if key in given and str(given[key]) != str(value):
            raise UserError(
                f"{key}={given[key]} would have no effect: system={system} sets it to {value}; "
                f"remove this setting, or set systems.{system}.{key}=... instead."
            )
    merged: Any = OmegaConf.merge(composed, part, {"system": system})
    parent = Path(str(OmegaConf.select(merged, "training.init_from"))).expanduser()
    if (parent / "config.json").is_file():
        from seq2seq.checkpoint import read_config  # imports torch

        for key, value in schema.flatten(asdict(read_config(parent))).items():
            set_here = any(f"{key}.".startswith(f"{one}.") for one in (*given, *own))
            if schema.INHERITED.match(key) and not set_here:
                OmegaConf.update(merged, key, value)
    return merged


def _build(kind: type, config: Any) -> Any:
    plain: Any = OmegaConf.to_container(config, resolve=True)
    if kind is schema.TrainConfig:  # the rest are settings of reproduce
        plain = {one.name: plain[one.name] for one in fields(kind) if one.name in plain}
    return schema.check("", plain, kind, strict=False)


@_one_sentence()
def read_settings(name: str, words: Iterable[str]) -> tuple[Any, dict[str, Any], dict[str, list]]:
    """Compose the settings of a script; return them, those of ``words``, and groups' choices."""
    folders, typed = [CONFIGS], dict[str, str]()
    names = ["experiment", "systems", *schema.setting_names(SETTINGS[name])]
    for word in words:
        key, equals, value = word.partition("=")
        if key == "--config-dir":
            folders.append(Path(value).resolve(strict=True))
        elif not equals or key.startswith("-"):
            near = schema.not_a_key(key.strip("-").replace("-", "_"), names)
            raise UserError(f"{word}: settings are written as key=value, without spaces; {near}")
        else:
            typed[key] = value
    choices = _store(_files(folders))
    chosen = {key: value for key, value in typed.items() if key in choices}
    for group, choice in chosen.items():
        schema.require_choice(group, choice, choices[group])
    with hydra.initialize_config_dir(str(HERE), version_base="1.3"):  # all files are in the store
        composed = hydra.compose(name, [f"{key}={value}" for key, value in chosen.items()])
    usual = defaults(schema.ReproduceConfig if "systems" in composed else SETTINGS[name])
    if "corpus" in composed:
        usual["corpus"] = defaults(schema.CORPORA[composed.corpus.kind])
    config: Any = OmegaConf.merge(usual, composed)
    OmegaConf.set_struct(config, False)
    given = dict[str, Any](chosen)
    for word, text in typed.items():
        key = word.lstrip("+")
        first, _, rest = key.partition(".")
        if name == "reproduce" and key in SEVERAL:
            raise UserError(f"reproduce does not read {key}; set {SEVERAL[key]}=[...] instead.")
        if first not in names:
            raise UserError(schema.not_a_key(key, names))
        if first == "systems" and rest and word == key:  # +systems.NAME adds a system
            schema.require_choice("systems", rest.partition(".")[0], config.systems)
        if key not in chosen:
            given[key] = read_value(text)
            OmegaConf.update(config, key, given[key], merge=given[key] != {})
    return config, schema.flatten(given), choices


class _Value(yaml.BaseLoader):
    """Loader of a value of the command line: all but null is text, and * begins a pattern."""

    fetch_alias = yaml.BaseLoader.fetch_plain


class _File(yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader):  # type: ignore[misc]
    """Loader of a file: 2024_11_25 is no number, and no is Norwegian; a key stands there once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        mapping = super().construct_mapping(node, deep=deep)
        if len(mapping) < len(node.value):
            raise yaml.YAMLError(f"a key stands there twice {node.start_mark}")
        return mapping


for _loader in (_Value, _File):
    _loader.add_implicit_resolver("null", re.compile("(~|null|Null|NULL|)$"), ["~", "n", "N", ""])
    _loader.add_constructor("null", lambda loader, node: None)


def read_value(text: str) -> Any:
    """Read a value of the command line: null, text, 'text', [a, b] or {name: a}."""
    if text[:1] + text[1:][-1:] in ("[]", "{}", "''", '""'):
        try:
            return yaml.load(text, _Value)
        except yaml.YAMLError as error:
            raise UserError(
                f"{text} cannot be read ({error.problem}); put texts in quotes."
            ) from None
    return None if text == "null" else text


def _files(folders: list[Path]) -> tuple[tuple[str, Path, int], ...]:
    """Group, path and time of each YAML file; those of later folders replace earlier ones."""
    places = [(group, folder / group) for folder in folders for group in GROUPS]
    files = [(group, path) for group, place in places for path in sorted(place.glob("*.yaml"))]
    files += [("", path) for path in CONFIGS.glob("*.yaml")]
    return tuple((group, path, path.stat().st_mtime_ns) for group, path in files)


@lru_cache(maxsize=1)
def _store(files: tuple[tuple[str, Path, int], ...]) -> dict[str, list[str]]:
    """Register all YAML files with Hydra; return the choices of each group."""
    store, choices = ConfigStore.instance(), {group: list[str]() for group in GROUPS}
    for kind in schema.CORPORA:
        choices["corpus"].append(kind)
        store.store(kind, {"kind": kind}, "corpus")
    for group, path, _ in files:
        try:
            content = yaml.load(path.read_text(encoding="utf-8-sig"), _File) or {}
            package = "_global_" if group == "experiment" else None
            store.store(path.stem, content, group or None, package)
        except Exception as error:
            raise UserError(f"{path} cannot be read: {_one_line(error)}.") from None
        choices.setdefault(group, []).append(path.stem)
    return choices


def defaults(kind: type) -> dict[str, Any]:
    """Return the defaults of a dataclass of settings, and of its groups, as nested JSON."""
    found, hints = dict[str, Any](), get_type_hints(kind)
    for one in fields(kind):
        if is_dataclass(hints[one.name]):
            found[one.name] = defaults(hints[one.name])
        elif one.default is not MISSING:
            found[one.name] = one.default
        elif one.default_factory is not MISSING:
            found[one.name] = one.default_factory()
    return found
