"""How published results came about: models, updates, time and machines, each in a line."""

from collections.abc import Sequence
from typing import Any

from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.given import GIVEN
from seq2seq.evaluation.systems import Gap
from seq2seq.record import describe_environments
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
                f"{progress.get('update', 0):,} updates ({progress.get('epoch', 0)} epochs) in "
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
    """What made the models, or where that is not known, the translations."""
    records = [e.record for e in evaluations if e.record.get("search") != GIVEN]
    return describe_environments([record.get("training") or record for record in records])


def budget(evaluations: Sequence[Evaluation], gaps: Sequence[Gap]) -> list[str]:
    """Whose training was ended by what it was allowed, and whether that makes for equal updates.

    Equal are budgets where all systems of ``gaps`` were ended so, each after as many updates as its
    baseline.
    """
    ended: dict[str, str] = {}
    updates: dict[str, set[int | None]] = {}
    for evaluation in evaluations:
        training = evaluation.record.get("training") or {}
        made = training.get("progress", {}).get("update")
        if (reason := str(training.get("reason"))).startswith("max_"):
            ended[evaluation.system] = reason
        else:
            made = None
        updates.setdefault(str(evaluation.record.get("system")), set()).add(made)
    if not ended:
        return []
    unknown: set[int | None] = {None}
    sides = [(updates.get(g.system, unknown), updates.get(g.baseline, unknown)) for g in gaps]
    equal = all(len(ours) == 1 and ours == theirs != unknown for ours, theirs in sides)
    each = ", ".join(f"{system} ({reason})" for system, reason in ended.items())
    so = (
        "With these it is a comparison at an equal budget."
        if equal
        else "The systems compared did not all make the same number of updates."
    )
    return [
        "Ended by the number of epochs or updates that they were given, not by the rule for when "
        f"learning stops: {each}. {so}"
    ]
