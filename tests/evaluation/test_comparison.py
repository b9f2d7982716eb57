"""Systems side by side: names, order and baselines; rows and gaps that follow from the texts."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from helpers.synthetic_translations import evaluated, two_seeds

from seq2seq.config import EvaluationConfig
from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import arrange, compare_systems
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.scores import METRICS
from seq2seq.evaluation.translations import Translations
from seq2seq.record import EvaluationRecord, Member, TrainingRecord

SETTINGS = EvaluationConfig(bootstrap=100)
GIVEN = {"seed": None, "experiment": None, "corpus": None, "search": "given", "test_set": "x.en"}


@pytest.fixture(scope="module")
def evaluations(tmp_path_factory) -> list[Evaluation]:
    """Two systems with two seeds each."""
    qualities = {"fixed": lambda length: 0.95 - length / 60, "additive": lambda length: 0.95}
    return two_seeds(tmp_path_factory.mktemp("runs"), qualities, {5: 30, 15: 30, 40: 20})


def named(evaluation: Evaluation, system: str, **record: object) -> Evaluation:
    """The same translations under another name."""
    return replace(evaluation, record=replace(evaluation.record, system=system, **record))


def test_rows_are_those_of_the_evaluations_and_gaps_their_differences(evaluations):
    comparison = compare_systems(evaluations, "fixed", SETTINGS)
    seeds = {system.name: system.seeds for system in comparison.systems}
    assert list(seeds.items()) == [("fixed", [1, 2]), ("additive", [1, 2])]
    (gap,), (baseline, system) = comparison.gaps, comparison.systems
    for number, (theirs, ours) in enumerate(zip(baseline.rows, system.rows, strict=True)):
        found = gap.rows[number]
        if ours.sentences:
            assert ours.by_seed == [one.rows[number].bleu for one in evaluations[2:]]
            assert theirs.bleu_low <= theirs.bleu <= theirs.bleu_high
            assert found.gap.value == pytest.approx(ours.bleu - theirs.bleu)
            assert found.gap.low <= found.gap.value <= found.gap.high
        else:
            assert found is None
    growth = gap.difference_in_differences
    assert growth.difference.low > 0
    assert np.mean([*growth.by_seed.values()]) == pytest.approx(growth.difference.value)
    assert [row.words for row in baseline.buckets] == ["1-10", "11-20", "21-30", "31-40"]
    lines = [np.flatnonzero(members).tolist() for members in comparison.members]
    assert lines == [[*range(30)], [*range(30, 60)], [], [*range(60, 80)]]


def test_the_order_of_the_evaluations_decides_the_default_baseline_alone(evaluations, monkeypatch):
    monkeypatch.setitem(METRICS, "bleu", replace(METRICS["bleu"], count=dict))  # counts are read
    comparison = compare_systems(evaluations, "fixed", SETTINGS)
    assert compare_systems(evaluations[::-1], "fixed", SETTINGS) == comparison
    assert compare_systems(evaluations[::-1], None, SETTINGS).gaps[0].baseline == "additive"


def test_a_gap_does_not_depend_on_other_systems(evaluations):
    others = [named(evaluations[0], "fixed-30"), named(evaluations[2], "additive-30")]
    own = {"additive-30": "fixed-30"}
    comparison = compare_systems([*evaluations, *others], "fixed", SETTINGS, own)
    assert comparison.gaps[1] == compare_systems(others, "fixed-30", SETTINGS).gaps[0]


def test_names_tell_systems_apart(evaluations):
    def names(*compared: Evaluation) -> list[str]:
        return [system.name for system in compare_systems(compared, None, SETTINGS).systems]

    one = named(evaluations[0], "a", search="beam5", experiment="short")
    assert names(one, named(one, "a", search="greedy")) == ["a (beam5)", "a (greedy)"]
    assert names(one, named(one, "a", experiment="long")) == ["short/a", "long/a"]
    assert names(replace(one, record=EvaluationRecord())) == [one.directory.name]


def test_given_text_does_not_change_the_names_of_systems(evaluations):
    other = named(evaluations[0], "other", **GIVEN)
    for order in ([*evaluations, other], [other, *evaluations]):
        comparison = compare_systems(order, "fixed", SETTINGS)
        assert [system.name for system in comparison.systems] == ["fixed", "additive", "other"]
        described = comparison.corpus, comparison.test_set, comparison.search
        assert described == ("grammar", "test", "beam5")
    assert compare_systems([other], None, SETTINGS).test_set == "x.en"


def test_evaluations_are_compared_as_they_were_scored(tmp_path):
    """Models decide for given text; a setting decides for all."""
    sides = ["汉" * 45, "汉"], ["你好。", "a"], ["你好。", "b"]
    texts = Translations(*(side * 20 for side in sides), [])
    scored = SETTINGS.for_languages("zh", "zh")
    ours = evaluated(tmp_path / "ours", texts, "ours", settings=scored)
    other = evaluated(tmp_path / "given", texts, "given", **GIVEN)
    chosen = replace(SETTINGS, tokenize="char", length_unit="words")
    for settings, tokenize, buckets in (
        (SETTINGS, "zh", ["1-20", "41-60", "all"]),
        (chosen, "char", ["1-10", "all"]),
    ):
        comparison = compare_systems([other, ours], "ours", settings)
        assert f"tok:{tokenize}" in comparison.signatures["BLEU"]
        first, second = comparison.systems
        assert first.rows == second.rows
        assert [row.words for row in first.rows if row.sentences] == buckets


def test_what_does_not_go_together_is_refused(evaluations):
    one, texts = evaluations[0], evaluations[0].texts
    shorter = {key: column[:-1] for key, column in vars(texts).items() if column}
    for changes, line in (
        ({"sources": [*texts.sources[:3], "other", *texts.sources[4:]]}, 4),
        ({"references": [*texts.references[:-1], "other"]}, len(texts)),
        ({"more_references": [texts.references]}, 1),
        (shorter, len(texts)),
    ):
        other = replace(one, texts=replace(texts, **changes))
        with pytest.raises(UserError, match=f" line {line};"):
            compare_systems([one, other], None, SETTINGS)
    for other, said in ((one, "fixed with seed 1"), (named(one, "fixed", **GIVEN), "system fixed")):
        with pytest.raises(UserError, match=said):
            compare_systems([*evaluations, other], None, SETTINGS)


def test_a_system_and_its_baseline_stand_side_by_side():
    for names in itertools.permutations(["a-30", "a-50", "f-30", "f-50"]):
        order, against = arrange(names, "f-50", {"a-30": "f-30"})
        assert order == ["f-50", "a-50", "f-30", "a-30"]
        assert against == {"a-50": "f-50", "a-30": "f-30"}
    assert sorted(arrange([*"abc"], "a", {"b": "c", "c": "b"})[0]) == [*"abc"]


def test_config_differences(evaluations):
    def run(name: str, kind: str, rate: float = 0.1, precision: str = "fp32", **record: object):
        config = {"system": name, "corpus": {"directory": f"/{name}"}, "rate": rate}
        config |= {"model": {"kind": kind, "size": 8}, "training": {"precision": "auto"}}
        training = TrainingRecord(precision=precision)
        return named(evaluations[0], name, config=config, training=training, **record)

    both = [Member(system="additive"), Member(system="fixed")]  # the config is the first one's
    kinds = {"model.kind": {"fixed": ["fixed"], "additive": ["additive"]}}
    rates = {"rate": {"fixed": [0.1], "additive": [0.1, 0.2]}}
    precisions = {"training.precision": {"fixed": ["fp32"], "x": ["bf16"]}}
    additive, faster = run("additive", "additive"), run("additive", "additive", 0.2, seed=2)
    for others, expected in (
        ([additive, named(evaluations[0], "given", **GIVEN)], kinds),
        ([additive, faster], kinds | rates),
        ([run("x", "fixed", precision="bf16")], precisions),
        ([run("both", "additive", members=both)], {}),
    ):
        compared = [run("fixed", "fixed"), *others]
        assert compare_systems(compared, None, SETTINGS).config_differences == expected
