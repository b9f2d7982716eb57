"""Evaluations one below the other: the same test set by several searches, or by several models."""

from collections.abc import Sequence
from typing import Any

from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.lengths import Scores
from seq2seq.record import describe_environments
from seq2seq.report.numbers import or_dash, percent
from seq2seq.report.tables import escaped, interval_text, markdown_table, signature_note
from seq2seq.report.training_runs import trainings_of, unfinished


def score_list_markdown(evaluations: Sequence[Evaluation]) -> str:
    """A row for each evaluation, in the order given; below it signatures, commands, hardware."""
    # By the settings of the first, all of them: the note below speaks for every row.
    settings = evaluations[0].scores.settings
    scores = [evaluation.scored_with(settings) for evaluation in evaluations]
    rows = [_row(*one) for one in zip(evaluations, scores, strict=True)]
    header = ["system", "parameters", "search", "BLEU", "chrF", "brevity", "sentences/s"]
    signed = scores[0].signatures
    notes = [
        f"Brackets: {percent(settings.confidence)} bootstrap interval over the sentences "
        f"({settings.bootstrap:,} resamples), the trained models held fixed.",
        signature_note(signed.bleu, signed.chrf),
        *_trained(evaluations),
        *describe_environments([evaluation.record for evaluation in evaluations]),
    ]
    return markdown_table(header, rows) + "\n" + "\n".join(f"- {note}" for note in notes)


def _trained(evaluations: Sequence[Evaluation]) -> list[str]:
    """What made the models; those whose training was cut short stand apart."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for evaluation in evaluations:
        for run in trainings_of(evaluation.record):
            groups.setdefault(unfinished(run), []).append(run)
    return [
        f"Trained{state}: {line}"
        for state, runs in groups.items()
        for line in describe_environments(runs)
    ]


def _row(evaluation: Evaluation, scores: Scores) -> list[str]:
    record, overall = evaluation.record, scores.overall
    speed = record.get("sentences_per_second")
    parameters = record.get("parameters", {}).get("total")
    return [
        escaped(evaluation.system),
        or_dash(parameters, 0),
        escaped(str(record.get("search"))),
        interval_text(overall),
        f"{overall.chrf:.1f}",
        f"{overall.brevity_ratio:.2f}",
        or_dash(speed, 0),
    ]
