"""Systems side by side: names, order and baselines; rows and gaps that follow from the texts."""

import itertools
import random
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
LENGTHS = {5: 30, 15: 30, 40: 20}


@pytest.fixture(scope="module")
def evaluations(tmp_path_factory) -> list[Evaluation]:
    """Two systems with two seeds each."""
    qualities = {"fixed": lambda length: 0.95 - length / 60, "additive": lambda length: 0.95}
    return two_seeds(tmp_path_factory.mktemp("evaluations"), qualities, LENGTHS)


def named(evaluation: Evaluation, system: str, seed: int | None = 1, **record) -> Evaluation:
    """The same translations under another name."""
    return replace(
        evaluation, record=replace(evaluation.record, system=system, seed=seed, **record)
    )


def test_rows_are_those_of_the_evaluations_and_gaps_their_differences(evaluations):
    comparison = compare_systems(evaluations, "fixed", SETTINGS)
    seeds = {system.name: system.seeds for system in comparison.systems}
    assert seeds == {"fixed": [1, 2], "additive": [1, 2]}
    for system, ours in zip(comparison.systems, (evaluations[:2], evaluations[2:]), strict=True):
        for index, row in enumerate(system.rows):
            if row.sentences:
                assert row.by_seed == [one.rows[index].bleu for one in ours]
    (gap,) = comparison.gaps
    baseline, system = comparison.systems
    for paired, ours, theirs in zip(gap.rows, system.rows, baseline.rows, strict=True):
        if ours.sentences:
            assert paired.gap.value == pytest.approx(ours.bleu - theirs.bleu)
            assert paired.gap.low <= paired.gap.value <= paired.gap.high
        else:
            assert paired is None
    assert gap.difference_in_differences.difference.low > 0
    assert [row.words for row in baseline.buckets] == ["1-10", "11-20", "21-30", "31-40"]
    lengths = np.repeat(list(LENGTHS), list(LENGTHS.values()))
    for members, length in zip(comparison.members, (5, 15, 25, 40), strict=True):
        np.testing.assert_array_equal(members, lengths == length)
    alone = compare_systems(evaluations[:1], None, SETTINGS)
    scores = [row.scores for row in alone.systems[0].rows]
    assert scores == [row.scores for row in evaluations[0].rows]
    assert alone.gaps == []


def test_the_order_of_the_evaluations_decides_the_default_baseline_alone(evaluations, monkeypatch):
    monkeypatch.setitem(METRICS, "bleu", replace(METRICS["bleu"], count=dict))  # counts are read
    comparison = compare_systems(evaluations, "fixed", SETTINGS)
    shuffled = random.Random(1).sample(evaluations, 4)
    assert shuffled != evaluations
    assert compare_systems(shuffled, "fixed", SETTINGS) == comparison
    assert compare_systems(evaluations[::-1], None, SETTINGS).gaps[0].baseline == "additive"


def systems(evaluations, *arguments) -> list[str]:
    return [s.name for s in compare_systems(evaluations, None, SETTINGS, *arguments).systems]


def test_names_tell_systems_apart(evaluations):
    one = named(evaluations[0], "a", search="beam5", experiment="short")
    assert systems([one, named(one, "a", search="greedy")]) == ["a (beam5)", "a (greedy)"]
    assert systems([one, named(one, "a", experiment="long")]) == ["short/a", "long/a"]
    nameless = replace(one, record=EvaluationRecord())
    assert systems([nameless]) == [one.directory.name]
    pairs = [
        named(one, "ensemble2", None, members=[Member(seed=seed), Member(seed=9)])
        for seed in (1, 2)
    ]
    assert systems(pairs[:1]) == ["ensemble2"]
    assert systems(pairs) == ["ensemble2 (seeds 1, 9)", "ensemble2 (seeds 2, 9)"]
    greedy = named(pairs[0], "ensemble2", None, search="greedy")
    assert systems([pairs[0], greedy]) == ["ensemble2 (beam5)", "ensemble2 (greedy)"]


def test_given_text_does_not_change_the_names_of_systems(evaluations):
    given = {"experiment": None, "corpus": None, "search": "given", "test_set": "x.en"}
    other = named(evaluations[0], "other", None, **given)
    for order in ([*evaluations, other], [other, *evaluations]):
        comparison = compare_systems(order, "fixed", SETTINGS)
        assert [system.name for system in comparison.systems] == ["fixed", "additive", "other"]
        described = comparison.corpus, comparison.test_set, comparison.search
        assert described == ("grammar", "test", "beam5")
    alone = compare_systems([other], None, SETTINGS)
    assert (alone.test_set, alone.search) == ("x.en", "given")
    with pytest.raises(UserError, match="system fixed"):
        compare_systems([*evaluations, named(other, "fixed", None, **given)], None, SETTINGS)


def test_evaluations_are_compared_as_they_were_scored(tmp_path):
    """Models decide for given text; a setting decides for all."""
    texts = Translations(["汉" * 45, "汉"], ["你好。", "a"], ["你好。", "b"], [])
    scored = EvaluationConfig(bootstrap=100).for_languages("zh", "zh")
    ours = evaluated(tmp_path / "ours", texts, "ours", settings=scored)
    given = evaluated(tmp_path / "given", texts, "given", None, search="given")
    comparison = compare_systems([given, ours], "ours", SETTINGS)
    assert "tok:zh" in comparison.signatures["BLEU"]
    rows = comparison.systems[0].rows
    assert [row.words for row in rows if row.sentences] == ["1-20", "41-60", "all"]
    assert comparison.systems[1].rows == rows
    chosen = EvaluationConfig(bootstrap=100, tokenize="char", length_unit="words")
    comparison = compare_systems([given, ours], "ours", chosen)
    assert "tok:char" in comparison.signatures["BLEU"]
    assert [row.words for row in comparison.systems[1].buckets] == ["1-10"]


def test_what_does_not_go_together_is_refused(evaluations):
    one = evaluations[0]
    for side in ("sources", "references"):
        lines = getattr(one.texts, side)
        changed = replace(one.texts, **{side: [*lines[:3], "other", *lines[4:]]})
        with pytest.raises(UserError, match=f"{side} .* line 4;"):
            compare_systems([one, replace(one, texts=changed)], None, SETTINGS)
    more = replace(one.texts, more_references=[one.texts.references])
    with pytest.raises(UserError, match=r"references .* line 1;"):
        compare_systems([one, replace(one, texts=more)], None, SETTINGS)
    columns = {key: column[:-1] for key, column in vars(one.texts).items() if column}
    shorter = replace(one, texts=replace(one.texts, **columns))
    with pytest.raises(UserError, match=f"sources .* line {len(one.texts)};"):
        compare_systems([one, shorter], None, SETTINGS)
    with pytest.raises(UserError, match="fixed with seed 1"):
        compare_systems([*evaluations, one], None, SETTINGS)
    with pytest.raises(UserError, match=r"baseline=fixt .* fixed"):
        compare_systems(evaluations, "fixt", SETTINGS)


def test_a_system_and_its_baseline_stand_side_by_side():
    for names in itertools.permutations(["a-30", "a-50", "f-30", "f-50"]):
        order, against = arrange(names, "f-50", {"a-30": "f-30"})
        assert order == ["f-50", "a-50", "f-30", "a-30"]
        assert against == {"a-50": "f-50", "a-30": "f-30"}
    names = ["wide-256", "wide-64", "wide-128", "x-128", "x-64"]
    order, against = arrange(names, "wide-64", {"x-128": "wide-128", "wide-128": "wide-64"})
    assert order == ["wide-64", "wide-128", "wide-256", "x-64", "x-128"]  # numbers as numbers
    assert against["wide-128"] == "wide-64"
    assert "wide-128" not in arrange(names, "wide-64", {"x-128": "wide-128"})[1]
    assert arrange([*"abcd", "first"], "first", {"a": "b", "b": "c"})[0] == ["first", *"dcab"]
    assert sorted(arrange(["a", "b", "c"], "a", {"b": "c", "c": "b"})[0]) == ["a", "b", "c"]
    with pytest.raises(UserError, match="zebra"):
        arrange(["a", "b"], "a", {"b": "zebra"})


def test_a_gap_does_not_depend_on_other_systems(evaluations):
    others = [named(evaluations[0], "fixed-30"), named(evaluations[2], "additive-30")]
    own = {"additive-30": "fixed-30"}
    comparison = compare_systems([*evaluations, *others], "fixed", SETTINGS, own)
    assert comparison.gaps[1] == compare_systems(others, "fixed-30", SETTINGS).gaps[0]


def test_config_differences(evaluations):
    def run(name: str, kind: str, seed: int = 1, rate: float = 0.1, precision: str = "float32"):
        config = {
            "system": name,
            "seed": seed,
            "corpus": {"directory": f"/{name}"},
            "model": {"attention": {"kind": kind, "size": 8}},
            "training": {"learning_rate": rate, "precision": "auto"},
        }
        training = TrainingRecord(precision=precision)
        return named(evaluations[0], name, seed, config=config, training=training)

    def found(*runs):
        return compare_systems(runs, None, SETTINGS).config_differences

    fixed, additive = run("fixed", "fixed"), run("additive", "additive")
    kinds = {"model.attention.kind": {"fixed": ["fixed"], "additive": ["additive"]}}
    assert found(fixed, additive) == kinds
    assert found(fixed, run("same", "fixed")) == {}
    other = run("additive", "additive", 2, 0.2)
    rates = {"fixed": [0.1], "additive": [0.1, 0.2]}
    assert found(fixed, additive, other)["training.learning_rate"] == rates
    precisions = {"fixed": ["float32"], "narrow": ["bfloat16"]}
    narrow = run("narrow", "fixed", precision="bfloat16")
    assert found(fixed, narrow) == {"training.precision": precisions}
    given = named(evaluations[0], "given", None, search="given")
    assert found(fixed, additive, given) == kinds
    members = [Member(system="additive"), Member(system="fixed")]  # its config is the first one's
    assert found(fixed, named(additive, "both", members=members)) == {}
