import random
from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from synthetic_translations import evaluated, translated

from seq2seq.config import EvaluationConfig
from seq2seq.errors import UserError
from seq2seq.evaluation.lengths import score_texts
from seq2seq.evaluation.systems import compare_systems

SETTINGS = EvaluationConfig(bootstrap=100)
LENGTHS = {5: 30, 15: 30, 40: 20}


def good(length: int) -> float:
    return 0.95


def forgetful(length: int) -> float:
    return 0.95 - length / 60


@pytest.fixture
def evaluations(tmp_path):
    """Two systems with two seeds each."""
    return [
        evaluated(tmp_path / name / str(seed), translated(LENGTHS, quality, seed), name, seed)
        for name, quality in (("fixed", forgetful), ("additive", good))
        for seed in (1, 2)
    ]


def test_a_systems_score_is_the_mean_over_its_seeds(evaluations):
    comparison = compare_systems(evaluations, "fixed", SETTINGS)
    assert [system.name for system in comparison.systems] == ["fixed", "additive"]
    for system, ours in zip(comparison.systems, (evaluations[:2], evaluations[2:]), strict=True):
        assert system.seeds == [1, 2]
        for index, row in enumerate(system.buckets):
            each = [evaluation.scores.buckets[index] for evaluation in ours]
            assert row.by_seed == [score.bleu for score in each if score.bleu is not None]
            if row.sentences:
                assert row.bleu == pytest.approx(np.mean([score.bleu for score in each]))
                assert row.chrf == pytest.approx(np.mean([score.chrf for score in each]))
                assert row.bleu_low <= row.bleu <= row.bleu_high


def test_with_one_seed_the_comparison_repeats_the_evaluations_numbers(tmp_path):
    evaluations = []
    for silent, (name, quality) in enumerate((("fixed", forgetful), ("additive", good)), start=1):
        texts = translated({5: 100, 15: 99}, quality)
        hypotheses = [""] * silent + texts.hypotheses[silent:]
        texts = replace(texts, hypotheses=hypotheses, capped=[not said for said in hypotheses])
        evaluations.append(evaluated(tmp_path / name, texts, name))
    comparison = compare_systems(evaluations, None, SETTINGS)
    shared = attrgetter(
        *("words", "sentences", "few", "bleu", "bleu_low", "bleu_high"),
        *("chrf", "brevity_ratio", "unpenalised", "capped"),
    )
    for system, evaluation in zip(comparison.systems, evaluations, strict=True):
        scores = evaluation.scores
        for row, score in zip(system.rows, [*scores.buckets, scores.overall], strict=True):
            assert shared(row) == shared(score)
        assert [row.few for row in system.rows] == [False, *[True] * 6, False]
    assert [system.overall.capped for system in comparison.systems] == [1, 2]
    assert [system.buckets[0].brevity_ratio for system in comparison.systems] == [0.99, 0.98]


def test_gaps_are_differences_of_the_rows(evaluations):
    comparison = compare_systems(evaluations, "fixed", SETTINGS)
    (gap,) = comparison.gaps
    assert (gap.system, gap.baseline) == ("additive", "fixed")
    baseline, system = comparison.systems
    for row, ours, theirs in zip(gap.rows, system.rows, baseline.rows, strict=True):
        if row.sentences:
            assert row.paired.gap == pytest.approx(ours.bleu - theirs.bleu)
            assert row.paired.gap_low <= row.paired.gap <= row.paired.gap_high
        else:
            assert row.paired is None
    assert gap.difference_in_differences.low > 0


def test_the_order_of_the_evaluations_does_not_matter(evaluations):
    comparison = compare_systems(evaluations, "fixed", SETTINGS)
    shuffled = list(evaluations)
    random.Random(1).shuffle(shuffled)
    assert shuffled != evaluations
    assert compare_systems(shuffled, "fixed", SETTINGS) == comparison


def test_the_first_named_system_is_the_default_baseline(evaluations):
    assert compare_systems(evaluations[::-1], None, SETTINGS).gaps[0].baseline == "additive"


def test_one_system_alone_is_described_without_a_gap(evaluations):
    assert compare_systems(evaluations[:1], None, SETTINGS).gaps == []


def test_a_folder_without_a_record_goes_by_its_name(tmp_path):
    texts = translated({5: 10}, good)
    evaluation = replace(evaluated(tmp_path / "marian-beam5", texts, "x"), record={})
    comparison = compare_systems([evaluation], None, SETTINGS)
    assert comparison.systems[0].name == "marian-beam5"
    assert comparison.systems[0].seeds == [None]
    assert (comparison.corpus, comparison.test_set, comparison.search) == (None, None, None)


def test_searches_and_experiments_that_differ_become_part_of_the_name(tmp_path):
    texts = translated({5: 10}, good)
    beam = evaluated(tmp_path / "a", texts, "additive", search="beam5", experiment="short")
    greedy = evaluated(tmp_path / "b", texts, "additive", search="greedy", experiment="short")
    longer = evaluated(tmp_path / "c", texts, "additive", search="beam5", experiment="long")
    names = [s.name for s in compare_systems([beam, greedy], None, SETTINGS).systems]
    assert names == ["additive (beam5)", "additive (greedy)"]
    names = [s.name for s in compare_systems([beam, longer], None, SETTINGS).systems]
    assert names == ["short/additive", "long/additive"]


def test_ensembles_of_other_seeds_are_systems_of_their_own(tmp_path):
    texts = translated({5: 10}, good)
    pairs = [
        evaluated(
            tmp_path / f"{first}", texts, "ensemble2", None, members=[{"seed": first}, {"seed": 9}]
        )
        for first in (1, 2)
    ]
    assert [s.name for s in compare_systems(pairs[:1], None, SETTINGS).systems] == ["ensemble2"]
    assert [s.name for s in compare_systems(pairs, None, SETTINGS).systems] == [
        "ensemble2 (seeds 1, 9)",
        "ensemble2 (seeds 2, 9)",
    ]


def given(directory, texts, system: str, **record: object):
    record = {"experiment": None, "corpus": None, "search": "given", "test_set": "x.en", **record}
    return evaluated(directory, replace(texts, capped=[]), system, None, **record)


def test_text_that_was_given_stands_beside_systems_without_changing_their_names(evaluations):
    texts = translated(LENGTHS, good, seed=9)
    other = given(evaluations[0].directory.parent / "other", texts, "other")
    config = {"model": {"attention": {"kind": "fixed"}}}
    ours = [replace(e, record={**e.record, "config": config}) for e in evaluations]
    for order in ([*ours, other], [other, *ours]):
        comparison = compare_systems(order, "fixed", SETTINGS)
        assert [system.name for system in comparison.systems] == ["fixed", "additive", "other"]
        assert (comparison.corpus, comparison.test_set, comparison.search) == (
            "grammar",
            "test",
            "beam5",
        )
        assert comparison.config_differences == {}
        assert comparison.systems[2].overall.capped is None
    alone = compare_systems([other], None, SETTINGS)
    assert (alone.test_set, alone.search) == ("x.en", "given")


def test_text_that_was_given_is_no_seed_of_a_system_of_that_name(tmp_path, evaluations):
    other = given(tmp_path / "given", translated(LENGTHS, good, seed=9), "fixed")
    assert refusal([*evaluations, other]) == (
        f"{tmp_path / 'given'} is text that was given and {tmp_path / 'fixed' / '1'} is not, but "
        "both are of system fixed; evaluate the given text again under another system=NAME."
    )


def test_ter_is_compared_where_it_is_asked_for(tmp_path):
    evaluations = [
        evaluated(tmp_path / str(seed), translated({5: 10}, good, seed), "fixed", seed)
        for seed in (1, 2)
    ]
    assert compare_systems(evaluations, "fixed", SETTINGS).systems[0].overall.ter is None
    settings = replace(SETTINGS, ter=True)
    comparison = compare_systems(evaluations, "fixed", settings)
    expected = [score_texts(e.texts, settings).overall.ter for e in evaluations]
    assert comparison.systems[0].overall.ter == pytest.approx(np.mean(expected))
    assert comparison.signatures.ter is not None


def test_gaps_and_intervals_are_of_text_cut_as_asked_for(tmp_path):
    """Commas and a full stop are tokens of their own, all of them right, to 13a alone."""
    evaluations = []
    for name, quality in (("fixed", forgetful), ("additive", good)):
        texts = translated(LENGTHS, quality)
        for side in ("hypotheses", "references"):
            glued = [line.replace(" ", ", ") + "." for line in getattr(texts, side)]
            texts = replace(texts, **{side: glued})
        evaluations.append(evaluated(tmp_path / name, texts, name))
    gaps = {}
    for tokenize in ("none", "13a"):
        comparison = compare_systems(evaluations, "fixed", replace(SETTINGS, tokenize=tokenize))
        theirs, ours = (
            BLEU(tokenize=tokenize).corpus_score(one.texts.hypotheses, [one.texts.references]).score
            for one in evaluations
        )
        gaps[tokenize] = comparison.gaps[0].overall.paired.gap
        assert gaps[tokenize] == pytest.approx(ours - theirs)
        for system in comparison.systems:
            assert system.overall.bleu_low < system.overall.bleu < system.overall.bleu_high
    assert gaps["none"] > gaps["13a"] + 5


def refusal(evaluations, baseline=None) -> str:
    with pytest.raises(UserError) as refused:
        compare_systems(evaluations, baseline, SETTINGS)
    return str(refused.value)


def test_other_sources_or_references_are_refused(tmp_path):
    texts = translated({5: 10}, good)
    one = evaluated(tmp_path / "one", texts, "one")
    sources = [*texts.sources[:3], "something else", *texts.sources[4:]]
    other = evaluated(tmp_path / "other", replace(texts, sources=sources), "other")
    assert refusal([one, other]) == (
        f"The sources of {tmp_path / 'one'} and {tmp_path / 'other'} differ, first at line 4; "
        "compare evaluations of the same test set."
    )
    references = [*texts.references[:-1], "something else"]
    other = evaluated(tmp_path / "other", replace(texts, references=references), "other")
    assert refusal([one, other]).startswith("The references of ")
    assert "first at line 10;" in refusal([one, other])


def test_test_sets_of_other_sizes_are_refused(tmp_path):
    one = evaluated(tmp_path / "one", translated({5: 10}, good), "one")
    other = evaluated(tmp_path / "other", translated({5: 11}, good), "other")
    assert refusal([one, other]) == (
        f"{tmp_path / 'one'} has 10 sentences and {tmp_path / 'other'} has 11; "
        "compare evaluations of the same test set."
    )


def test_one_system_and_seed_twice_is_refused(tmp_path, evaluations):
    texts = translated(LENGTHS, good)
    again = evaluated(tmp_path / "again", texts, "fixed", 1)
    assert refusal([*evaluations, again]) == (
        f"{tmp_path / 'fixed' / '1'} and {tmp_path / 'again'} are both of system fixed "
        "with seed 1; name one of them only."
    )
    seedless = [evaluated(tmp_path / name, texts, "fixed", None) for name in ("p", "q")]
    assert "are both of system fixed without a seed; name one" in refusal(seedless)


def test_an_unknown_baseline_is_refused_with_the_nearest(evaluations):
    assert refusal(evaluations, "fixt") == (
        "baseline=fixt is none of the systems compared; nearest valid: fixed."
    )


def test_a_system_may_have_a_baseline_of_its_own(evaluations, tmp_path):
    others = [
        evaluated(tmp_path / name, translated(LENGTHS, quality, 3), name, 1)
        for name, quality in (("fixed-30", forgetful), ("additive-30", good))
    ]
    own = {"additive-30": "fixed-30"}
    comparison = compare_systems([*evaluations, *others], "fixed", SETTINGS, own)
    assert [(gap.system, gap.baseline) for gap in comparison.gaps] == [
        ("additive", "fixed"),
        ("additive-30", "fixed-30"),
    ]
    alone = compare_systems(others, "fixed-30", SETTINGS)
    assert comparison.gaps[1] == alone.gaps[0]


@pytest.mark.parametrize("own", [{"additive": "fixt"}, {"addditive": "fixed"}])
def test_a_baseline_of_its_own_must_be_among_the_systems(evaluations, own):
    with pytest.raises(UserError, match="none of the systems compared; nearest valid: "):
        compare_systems(evaluations, "fixed", SETTINGS, own)


def test_what_others_are_compared_with_is_compared_itself_where_it_is_named(evaluations, tmp_path):
    wide = evaluated(tmp_path / "wide", translated(LENGTHS, forgetful, 4), "wide", 1)
    systems = [*evaluations, wide]
    for own, gaps in (
        ({"additive": "wide"}, [("additive", "wide")]),
        ({"additive": "wide", "wide": "fixed"}, [("additive", "wide"), ("wide", "fixed")]),
    ):
        comparison = compare_systems(systems, "fixed", SETTINGS, own)
        assert [(gap.system, gap.baseline) for gap in comparison.gaps] == gaps


@pytest.mark.parametrize(
    ("own", "way"),
    [
        ({"additive": "additive"}, "additive -> additive"),
        ({"additive": "fixed", "fixed": "additive"}, "additive -> fixed -> additive"),
    ],
)
def test_baselines_that_go_round_in_a_circle_are_refused(evaluations, own, way):
    with pytest.raises(UserError, match=rf"baselines leads from additive back .*\({way}\)"):
        compare_systems(evaluations, "fixed", SETTINGS, own)
