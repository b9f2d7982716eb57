"""What is said of the budgets of systems that are compared holds for their trainings."""

from pathlib import Path

import pytest

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.folder import Evaluation, write_evaluation
from seq2seq.evaluation.scores import Translations
from seq2seq.evaluation.systems import compare_systems
from seq2seq.report.provenance import budget, commands, provenance

SETTINGS = EvaluationConfig(length_buckets=[2], bootstrap=100)
EQUAL = "The comparison is one at an equal budget."
NUMBERS = "The comparison is one of different numbers of updates."
RULES = "The comparison is one of trainings that ended by different rules."
UNKNOWN = (
    "The comparison may be one at an equal budget or not: of a training it is not known how it "
    "ended, or it has not."
)


def evaluated(
    folder: Path,
    system: str,
    reason: str | None,
    updates: int,
    seed: int = 1,
    status: str = "finished",
    experiment: str = "toy",
) -> Evaluation:
    training = {"status": status, "reason": reason, "progress": {"update": updates}}
    record = {"experiment": experiment, "system": system, "seed": seed, "training": training}
    texts = Translations(["a", "b c"], ["v", "w x"], ["v", "w w"], [False] * 2)
    return write_evaluation(folder / f"{system}-{seed}", texts, SETTINGS, record)


def said_of(evaluations: list[Evaluation], baseline: str, **own: str) -> list[str]:
    compared = compare_systems(evaluations, baseline, SETTINGS, own)
    return budget(evaluations, compared.systems, compared.gaps)


@pytest.mark.parametrize(
    ("trainings", "verdict"),
    [
        ([("max_epochs=2", 9), ("max_epochs=2", 9)], EQUAL),
        ([("max_epochs=2", 9), ("max_updates=8", 8)], NUMBERS),
        ([("max_epochs=2", 9), ("patience=5", 7)], RULES),
        ([("max_epochs=2", 9), ("patience=5", 9)], RULES),  # would have gone on, or not
        ([("max_epochs=2", 9), (None, 9)], UNKNOWN),
        ([("patience=5", 7), ("patience=5", 8)], None),
    ],
)
def test_equal_are_budgets_that_ended_both_after_as_many_updates(tmp_path, trainings, verdict):
    evaluations = [
        evaluated(tmp_path, f"s{number}", *training) for number, training in enumerate(trainings)
    ]
    lines = said_of(evaluations, "s0")
    assert len(lines) == (verdict is not None)
    assert all(line.endswith(f". {verdict}") for line in lines)


def test_who_translated_is_said_where_it_is_not_who_trained(tmp_path):
    texts = Translations(["a", "b c"], ["v", "w x"], ["v", "w w"], [False] * 2)
    hardware = {"processor": "Abacus 3", "threads": "2", "torch": "9.9"}
    made = {"hardware": hardware, "git_commit": "0" * 40, "command": ["train.py", "a=1"]}
    lines = {}
    for name, changed in (("same", {}), ("other", {"git_commit": "1" * 40, "git_modified": True})):
        now = {**made, "command": ["evaluate.py", "b=2"], **changed}
        evaluation = write_evaluation(tmp_path / name, texts, SETTINGS, {**now, "training": made})
        lines[name] = commands([evaluation])
    (trained,) = lines["same"]
    assert "train.py a=1" in trained
    assert lines["other"] == [trained, lines["other"][1]]
    assert lines["other"][1].startswith("Translated: Command: `python scripts/evaluate.py b=2`.")
    assert lines["other"][1].endswith("code `1111111111` (modified).")


def test_all_seeds_of_a_system_are_meant(tmp_path):
    evaluations = [
        evaluated(tmp_path, system, "max_epochs=2", updates, seed)
        for system, seed, updates in [("a", 1, 9), ("a", 2, 8), ("b", 1, 9)]
    ]
    assert said_of(evaluations, "b")[0].endswith(NUMBERS)


def test_each_is_held_against_its_own_baseline(tmp_path):
    """The study's pairs differ in how long sentences may be, and so in updates."""
    trainings = {
        "no_30": ("patience=5", 5),
        "with_30": ("max_epochs=2", 7),
        "no_50": ("max_epochs=2", 9),
        "with_50": ("max_epochs=2", 9),
    }
    evaluations = [evaluated(tmp_path, name, *said) for name, said in trainings.items()]
    (line,) = said_of(evaluations, "no_50", with_30="no_30")
    assert line.endswith(
        'That of "with_50" with "no_50" is one at an equal budget. '
        'That of "with_30" with "no_30" is one of trainings that ended by different rules.'
    )
    assert "no_30, seed 1" not in line


def test_a_summary_tells_of_the_systems_it_shows(tmp_path):
    evaluations = [
        evaluated(tmp_path, name, "max_epochs=2", 9) for name in ("fixed", "additive", "other")
    ]
    compared = compare_systems(evaluations, "fixed", SETTINGS)
    (line,) = budget(evaluations, compared.systems, compared.gaps[:1])
    assert "other" not in line
    assert line.endswith(EQUAL)


def test_systems_of_one_name_from_two_experiments_are_told_apart(tmp_path):
    evaluations = [
        evaluated(tmp_path / name, "a", reason, 9, experiment=name)
        for name, reason in (("one", "max_epochs=2"), ("two", "max_updates=9"))
    ]
    compared = compare_systems(evaluations, None, SETTINGS)
    (line,) = budget(evaluations, compared.systems, compared.gaps)
    assert "stops: one/a, seed 1 (max_epochs=2), two/a, seed 1 (max_updates=9). " in line
    assert [text.partition(":")[0] for text in provenance(evaluations, compared.systems)[:2]] == [
        "one/a, seed 1",
        "two/a, seed 1",
    ]


def test_a_training_that_is_not_over_has_not_ended(tmp_path):
    evaluations = [
        evaluated(tmp_path, "a", "max_epochs=2", 9),
        evaluated(tmp_path, "b", "max_epochs=2", 9, status="running"),
    ]
    (line,) = said_of(evaluations, "a")
    assert line.endswith(UNKNOWN)
    assert "b, seed 1" not in line


def test_one_system_is_no_comparison(tmp_path):
    (line,) = said_of([evaluated(tmp_path, "a", "max_epochs=2", 9)], "a")
    assert line.endswith("learning stops: a, seed 1 (max_epochs=2).")
