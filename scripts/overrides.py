"""What a command line says, before it becomes a config: overrides that are put right or refused."""

from collections.abc import Mapping, Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob
from omegaconf import DictConfig

from seq2seq.errors import UserError

KIND = "model.attention.kind"
ALIKE = (
    *("seed", "beams", "decoding", "evaluation", "test_texts"),
    *("baseline", "baselines", "name", "output"),
)
"""What all systems of a comparison have in common, or they could not be compared."""


def keys(override: str) -> set[str]:
    """The dotted keys that an override sets, also where it sets several by a dictionary.

    Raises Hydra's OverrideParseException for what is no override.
    """

    def walk(key: str, value: object) -> set[str]:
        if not isinstance(value, Mapping):
            return {key}
        return {leaf for name, one in value.items() for leaf in walk(f"{key}.{name}", one)}

    parsed = OverridesParser.create().parse_overrides([override])[0]
    return walk(parsed.key_or_group, parsed.value())


def with_kind_as_system(overrides: list[str], composed: DictConfig) -> list[str]:
    """Where no system is chosen, ``model.attention.kind=K`` asks for one that differs in it.

    It is called K, and takes the place of the system that is trained by default, unless others are
    compared with that; or it is the one that has just this kind already.
    """
    given = dict(override.lstrip("+").partition("=")[::2] for override in overrides)
    kind, default = given.get(KIND, "").strip("'\""), composed.system
    if not kind or "system" in given or f"{KIND}={kind}" in composed.systems[default]:
        return overrides
    others = [override for override in overrides if override.lstrip("+").partition("=")[0] != KIND]
    for name, settings in composed.systems.items():
        if list(settings) == [f"{KIND}={kind}"]:
            return [*others, f"system={name}"]
    kept = [own for own in composed.systems[default] if own.partition("=")[0] != KIND]
    settings = [f"{KIND}={kind}", *kept]
    compared = {composed.baseline, *composed.baselines, *composed.baselines.values()}
    replaced = [] if default in compared else [f"~systems.{default}"]
    return [*others, *replaced, f"+systems.{kind}={settings}", f"system={kind}"]


def refuse_overruled(overrides: list[str], decided: list[str], reason: str) -> None:
    """Refuse an override that what comes after it would silently undo."""
    later = {key for other in decided for key in (keys(other) if "=" in other else {other})}
    for override in overrides:
        if override not in decided and keys(override) & later:
            raise UserError(f"{override} would have no effect: {reason}; leave it out.")


def refuse_empty(overrides: list[str]) -> None:
    """Refuse ``key={}``, which Hydra merges into what is there, so that nothing changes."""
    for override in overrides:
        parsed = OverridesParser.create().parse_overrides([override])[0]
        if parsed.value() == {} and not parsed.is_delete():
            raise UserError(
                f"{override} would have no effect: what it names is added to what is there; take "
                f"single entries away by ~{parsed.key_or_group}.NAME."
            )


def refuse_unlike(systems: Mapping[str, Sequence[str]]) -> None:
    """Refuse systems that would be searched, scored or kept in ways of their own."""
    for name, settings in systems.items():
        for override in settings:
            key = override.lstrip("+").partition("=")[0]
            if key.partition(".")[0] in ALIKE:
                raise UserError(
                    f"systems.{name} sets {key}, but reproduce compares systems that have it in "
                    "common; set it for the whole experiment."
                )


def sample_jobs(overrides: list[str]) -> list[list[str]]:
    """Overrides of a few of the jobs of a multirun, in which each value of each sweep occurs.

    Of ``seed=1,2 system=a,b,c`` these are the jobs 1-a, 2-a, 1-b and 1-c, since of all there may be
    very many. What is drawn (``interval``) is left out. There are none where only Hydra knows what
    a sweep stands for (``glob``).
    Raises Hydra's OverrideParseException for what is no override.
    """
    choices = []
    parsed = OverridesParser.create().parse_overrides(overrides)
    for one, text in zip(parsed, overrides, strict=True):
        if text.startswith(("hydra.", "hydra/")):
            continue
        if isinstance(one.value(), Glob):
            return []
        if not one.is_sweep_override():
            choices.append([text])
        elif one.is_discrete_sweep():
            key = one.get_key_element()
            choices.append([f"{key}={value}" for value in one.sweep_string_iterator()])
    choices = [values for values in choices if values]  # a range can be empty
    first = [values[0] for values in choices]
    others = [
        [*first[:index], value, *first[index + 1 :]]
        for index, values in enumerate(choices)
        for value in values[1:]
    ]
    return [first, *others]
