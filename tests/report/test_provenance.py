"""What is said of the budgets of systems that are compared holds for their trainings."""

from pathlib import Path

import pytest

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.folder import Evaluation, write_evaluation
from seq2seq.evaluation.scores import Translations
from seq2seq.evaluation.systems import compare_systems
from seq2seq.report.provenance import budget

SETTINGS = EvaluationConfig(edges=[2], bootstrap=100)
EQUAL = "With these it is a comparison at an equal budget."
UNEQUAL = "The systems compared did not all make the same number of updates."


def evaluated(folder: Path, system: str, reason: str | None, updates: int) -> Evaluation:
    training = {"reason": reason, "progress": {"update": updates}}
    record = {"experiment": "toy", "system": system, "seed": 1, "training": training}
    texts = Translations(["a", "b c"], ["v", "w x"], ["v", "w w"], [False] * 2)
    return write_evaluation(folder / system, texts, SETTINGS, record)


@pytest.mark.parametrize(
    ("trainings", "said"),
    [
        ([("max_epochs=2", 9), ("max_epochs=2", 9)], EQUAL),
        ([("max_epochs=2", 9), ("max_updates=8", 8)], UNEQUAL),
        ([("max_epochs=2", 9), ("patience=5", 7)], UNEQUAL),
        ([("max_epochs=2", 9), ("patience=5", 9)], UNEQUAL),  # would have gone on, or not
        ([("max_epochs=2", 9), (None, 9)], UNEQUAL),
        ([("patience=5", 7), ("patience=5", 8)], None),
    ],
)
def test_equal_are_budgets_that_ended_both_after_as_many_updates(tmp_path, trainings, said):
    evaluations = [
        evaluated(tmp_path, f"s{number}", *training) for number, training in enumerate(trainings)
    ]
    lines = budget(evaluations, compare_systems(evaluations, "s0", SETTINGS).gaps)
    assert [line.split(". ")[-1] for line in lines] == ([said] if said else [])


def test_each_is_held_against_its_own_baseline(tmp_path):
    """The study's pairs differ in how long sentences may be, and so in updates."""
    evaluations = [
        evaluated(tmp_path, system, "max_epochs=2", updates)
        for system, updates in [("no-30", 7), ("with-30", 7), ("no-50", 9), ("with-50", 9)]
    ]
    against = {"with-30": "no-30", "with-50": "no-50"}
    own = compare_systems(evaluations, "no-50", SETTINGS, against).gaps
    assert [gap.system for gap in own] == ["with-30", "with-50"]
    assert budget(evaluations, own)[0].endswith(EQUAL)
    across = compare_systems(evaluations, "no-50", SETTINGS).gaps
    assert budget(evaluations, across)[0].endswith(UNEQUAL)
