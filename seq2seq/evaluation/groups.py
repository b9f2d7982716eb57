"""Which evaluations are of one system, and what it is called beside others."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from seq2seq.config import nearest
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import GIVEN, Evaluation

_NUMBERS = re.compile(r"([0-9]+)")


def group_by_system(
    evaluations: Sequence[Evaluation],
) -> dict[str, dict[int | None, Evaluation]]:
    """System -> seed -> evaluation, seeds rising.

    Where experiments or searches differ, they become a part of the name; so do the seeds of several
    models as one, where others of the name have other seeds. Text that was given has none of these,
    and keeps the name that it was given.

    Raises:
        UserError: two evaluations are of one system and seed, or a system that was given has the
            name of another.
    """
    several_experiments = len(_all_said(evaluations, "experiment")) > 1
    several_searches = len(_all_said(evaluations, "search")) > 1
    without_seed = Counter(_said(e, "system") for e in evaluations if _seed(e) is None)
    groups: dict[str, dict[int | None, Evaluation]] = {}
    for evaluation in evaluations:
        name = _said(evaluation, "system") or evaluation.directory.resolve().name
        if several_experiments and (experiment := _said(evaluation, "experiment")):
            name = f"{experiment}/{name}"
        if several_searches and (search := _said(evaluation, "search")) and search != GIVEN:
            name = f"{name} ({search})"
        seed = _seed(evaluation)
        members = evaluation.record.get("members") or []
        if seed is None and members and without_seed[_said(evaluation, "system")] > 1:
            name = f"{name} (seeds {', '.join(str(one.get('seed')) for one in members)})"
        group = groups.setdefault(name, {})
        if seed in group:
            which = "without a seed" if seed is None else f"with seed {seed}"
            raise UserError(
                f"{group[seed].directory} and {evaluation.directory} are both of system {name} "
                f"{which}; name one of them only."
            )
        group[seed] = evaluation
    for name, group in groups.items():
        given = [e.directory for e in group.values() if e.given]
        others = [e.directory for e in group.values() if not e.given]
        if given and others:
            raise UserError(
                f"{given[0]} is text that was given and {others[0]} is not, but both are of system "
                f"{name}; evaluate the given text again under another system=NAME."
            )
    return {
        name: dict(sorted(group.items(), key=lambda item: (item[0] is not None, item[0] or 0)))
        for name, group in groups.items()
    }


def _seed(evaluation: Evaluation) -> int | None:
    seed = evaluation.record.get("seed")
    return seed if isinstance(seed, int) else None


def baseline_first(groups: Mapping[str, Any], baseline: str | None) -> list[str]:
    """The names of ``groups``: the baseline, None for the first, then the others by name.

    Numbers in names are ordered as numbers: width-64 before width-128.

    Raises:
        UserError: no group has that name.
    """
    names = list(groups)
    first = names[0] if baseline is None else baseline
    if first not in groups:
        raise UserError(
            f"baseline={baseline} is none of the systems compared; "
            f"nearest valid: {nearest(first, names)}."
        )
    return [first, *sorted((name for name in names if name != first), key=_by_numbers)]


def _by_numbers(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _NUMBERS.split(name)]


def compared_with(names: Sequence[str], baselines: Mapping[str, str]) -> dict[str, str]:
    """System -> the system it is measured against.

    Left out are the first, and those that others are measured against without being named as a
    system to be measured themselves.

    Args:
        names: all systems, first the one that the others are measured against by default.
        baselines: where that is another one.

    Raises:
        UserError: ``baselines`` names a system that there is not, or leads from a system back to
            itself.
    """
    for name in (name for pair in baselines.items() for name in pair):
        if name not in names:
            raise UserError(
                f"baselines names {name}, which is none of the systems compared; "
                f"nearest valid: {nearest(name, names)}."
            )
    for start in baselines:
        way = [start]
        while (further := baselines.get(way[-1])) is not None:
            if further in way:
                raise UserError(
                    f"baselines leads from {start} back to {further} "
                    f"({' -> '.join([*way, further])}); each system is measured against one that "
                    "stands by itself in the end."
                )
            way.append(further)
    alone = {names[0], *baselines.values()} - set(baselines)
    return {name: baselines.get(name, names[0]) for name in names if name not in alone}


def pairs_together(names: Sequence[str], against: Mapping[str, str]) -> list[str]:
    """``names`` with each system that stands by itself before all that lead back to it.

    So the two of a pair are columns side by side. Where all lead back to one system, and within
    what leads back to each, the order stays.

    Args:
        names: all systems, the baseline first.
        against: system -> the system it is measured against, of :func:`compared_with`.
    """

    def origin(name: str) -> str:
        return origin(against[name]) if name in against else name

    return sorted(names, key=lambda name: (names.index(origin(name)), name in against))


def agreed(evaluations: Sequence[Evaluation], key: str) -> str | None:
    """What the records say under ``key``; None where they do not say or do not agree.

    Text that was given has no say beside translations by a model: it does not know the corpus, and
    knows the test set by the name of a file.
    """
    voters = [e for e in evaluations if not e.given] or evaluations
    said = {_said(evaluation, key) for evaluation in voters}
    return said.pop() if len(said) == 1 else None


def _all_said(evaluations: Sequence[Evaluation], key: str) -> set[str | None]:
    return {_said(evaluation, key) for evaluation in evaluations if not evaluation.given}


def _said(evaluation: Evaluation, key: str) -> str | None:
    value = evaluation.record.get(key)
    return value if isinstance(value, str) and value else None
