"""How published results came about: models, updates, time and machines, each in a line."""

from collections.abc import Sequence
from typing import Any

from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.given import GIVEN
from seq2seq.evaluation.systems import Gap, System
from seq2seq.record import describe_environments, describe_machine
from seq2seq.report.tables import counted
from seq2seq.report.training_runs import unfinished


def provenance(evaluations: Sequence[Evaluation]) -> list[str]:
    """How each result came about: model, updates, time, seed; command, hardware, versions."""
    lines = []
    for evaluation in evaluations:
        record = evaluation.record
        if record.get("search") == GIVEN:
            lines.append(f"{record.get('system')}: translations that were given.")
            continue
        training: dict[str, Any] | None = record.get("training")
        if training is None:  # the checkpoint was taken elsewhere without its run
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
            f"{record.get('system')}, seed {record.get('seed')}: "
            f"{record.get('parameters', {}).get('total', 0):,} parameters, {trained}; "
            f"{record.get('sentences_per_second')} sentences/s at this search."
        )
    return [*lines, *commands(evaluations)]


def commands(evaluations: Sequence[Evaluation]) -> list[str]:
    """What made the models; and the translations, where another machine or code did."""
    records = [e.record for e in evaluations if e.record.get("search") != GIVEN]
    trained = [record["training"] for record in records if record.get("training")]
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
    trainings = {
        str(one.directory): (one.system, one.record.get("training") or {}) for one in evaluations
    }
    told = {name for gap in gaps for name in (gap.system, gap.baseline)}
    ended: dict[str, str] = {}
    budgets: dict[str, set[tuple[bool, int | None]]] = {}
    for system in systems:
        if told and system.name not in told:
            continue
        for directory in system.evaluations:
            called, training = trainings[directory]
            reason = str(training.get("reason"))
            cut = reason.startswith("max_")
            if cut:
                ended[called] = reason
            made = training.get("progress", {}).get("update")
            budgets.setdefault(system.name, set()).add((cut, made))
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


def _verdict(budgets: dict[str, set[tuple[bool, int | None]]], gap: Gap, gaps: int) -> str:
    """Whether two systems were given, and used up, the same; nothing where neither was cut."""
    ours, theirs = budgets[gap.system], budgets[gap.baseline]
    if not any(cut for cut, _ in ours | theirs):
        return ""
    pair = "The comparison" if gaps == 1 else f'That of "{gap.system}" with "{gap.baseline}"'
    if len(ours) == 1 and ours == theirs:
        return f"{pair} is one at an equal budget."
    if all(cut for cut, _ in ours | theirs):
        return f"{pair} is one of different numbers of updates."
    return f"{pair} is one of trainings that ended by different rules."
