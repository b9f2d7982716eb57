"""How published results came about: models, updates, time and machines, each in a line."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.systems import Gap, System
from seq2seq.record import describe_environments, describe_machine
from seq2seq.report.numbers import counted
from seq2seq.report.training_runs import trainings_of, unfinished


def provenance(evaluations: Sequence[Evaluation], systems: Sequence[System] = ()) -> list[str]:
    """How each result came about: model, updates, time, seed; command, hardware, versions.

    ``systems`` are those of a comparison, which may call an evaluation more than its record does.
    """
    names = {str(evaluation.directory): evaluation.system for evaluation in evaluations}
    names |= _names(systems)
    lines = []
    for evaluation in evaluations:
        record = evaluation.record
        if evaluation.given:
            lines.append(f"{record.get('system')}: translations that were given.")
            continue
        training: dict[str, Any] | None = record.get("training")
        if members := record.get("members"):
            trained = "made of " + "; ".join(map(_member, members))
        elif training is None:  # the checkpoint was taken elsewhere without its run
            trained = "how it was trained is not recorded"
        else:
            progress = training.get("progress", {})
            trained = (
                f"{counted(progress.get('update', 0), 'update')} "
                f"({counted(progress.get('epoch', 0), 'epoch')}) in "
                f"{progress.get('seconds', 0.0) / 60:.1f} minutes, best after "
                f"{progress.get('best_update', 0):,}{unfinished(training)}"
            )
        lines.append(
            f"{names[str(evaluation.directory)]}: "
            f"{record.get('parameters', {}).get('total', 0):,} parameters, {trained}; "
            f"{record.get('sentences_per_second')} sentences/s at this search."
        )
    return [*lines, *commands(evaluations)]


def _names(systems: Sequence[System]) -> dict[str, str]:
    """Folder of an evaluation -> what a comparison calls it."""
    return {
        directory: system.name + ("" if seed is None else f", seed {seed}")
        for system in systems
        for seed, directory in zip(system.seeds, system.evaluations, strict=True)
    }


def _member(member: dict[str, Any]) -> str:
    update = member.get("update")
    after = "" if update is None else f" after {counted(update, 'update')}"
    return f"{member.get('system')}, seed {member.get('seed')}{after}"


def commands(evaluations: Sequence[Evaluation]) -> list[str]:
    """What made the models; and the translations, where another machine or code did."""
    records = [e.record for e in evaluations if not e.given]
    trained = [training for record in records for training in trainings_of(record)]
    told = [record for record in records if record.get("hardware")]
    translated = [record for record in told if not _same_making(record)]
    return [
        *describe_environments(trained),
        *(f"Translated: {line}" for line in describe_environments(translated)),
    ]


def _same_making(record: dict[str, Any]) -> bool:
    """Whether machine and code of a training are those of its evaluation, too."""
    training: dict[str, Any] = record.get("training") or {}
    return describe_machine(training) == describe_machine(record)


def budget(
    evaluations: Sequence[Evaluation], systems: Sequence[System], gaps: Sequence[Gap]
) -> list[str]:
    """Whose training was ended by what it was allowed; which gaps are at an equal budget, then.

    Of the systems of ``gaps``, or of all where there is no gap. At an equal budget are two systems
    that were both ended so, after as many updates in all of their seeds.
    """
    trainings = {str(one.directory): one.record.get("training") or {} for one in evaluations}
    names = _names(systems)
    told = {name for gap in gaps for name in (gap.system, gap.baseline)}
    ended: dict[str, str] = {}
    budgets: dict[str, set[_Budget]] = {}
    for system in systems:
        if told and system.name not in told:
            continue
        for directory in system.evaluations:
            training = trainings[directory]
            reason = None if unfinished(training) else training.get("reason")
            cut = None if reason is None else str(reason).startswith("max_")
            if cut:
                ended[names[directory]] = str(reason)
            made = training.get("progress", {}).get("update")
            budgets.setdefault(system.name, set()).add(_Budget(cut, made))
    if not ended:
        return []
    each = ", ".join(f"{called} ({reason})" for called, reason in ended.items())
    verdicts = dict.fromkeys(_verdict(budgets, gap, len(gaps)) for gap in gaps)
    return [
        " ".join(
            [
                "Ended by the number of epochs or updates that they were given, not by the rule "
                f"for when learning stops: {each}.",
                *filter(None, verdicts),
            ]
        )
    ]


class _Budget(NamedTuple):
    cut: bool | None
    """Whether a limit ended the training; None where it is not over, or nobody knows."""
    updates: int | None


def _verdict(budgets: dict[str, set[_Budget]], gap: Gap, gaps: int) -> str:
    """Whether two systems were given, and used up, the same; nothing where neither was cut."""
    ours, theirs = budgets[gap.system], budgets[gap.baseline]
    if not any(one.cut for one in ours | theirs):
        return ""
    pair = "The comparison" if gaps == 1 else f'That of "{gap.system}" with "{gap.baseline}"'
    if any(one.cut is None for one in ours | theirs):
        return (
            f"{pair} may be one at an equal budget or not: of a training it is not known how it "
            "ended, or it has not."
        )
    if len(ours) == 1 and ours == theirs:
        return f"{pair} is one at an equal budget."
    if all(one.cut for one in ours | theirs):
        return f"{pair} is one of different numbers of updates."
    return f"{pair} is one of trainings that ended by different rules."
