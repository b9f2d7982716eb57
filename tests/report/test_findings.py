from dataclasses import replace

import pytest
from synthetic_translations import evaluated, translated

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.systems import compare_systems
from seq2seq.report.findings import curve_in_words, findings, gap_in_words, growth_in_words

LONG_AND_SHORT = {5: 110, 31: 110}


@pytest.fixture
def compared(tmp_path):
    """Compare a baseline and a system of given qualities by length."""

    def run(baseline, system, lengths=None, seeds=(1, 2)):
        lengths = lengths or LONG_AND_SHORT
        evaluations = [
            evaluated(tmp_path / "f", translated(lengths, baseline, seeds[0]), "fixed"),
            evaluated(tmp_path / "a", translated(lengths, system, seeds[1]), "additive"),
        ]
        return compare_systems(evaluations, "fixed", EvaluationConfig(bootstrap=200))

    return run


def test_a_curve_that_falls(compared):
    comparison = compared(lambda n: 1 - n / 60, lambda n: 0.95)
    fixed, additive = comparison.systems
    first, last = fixed.buckets[0].bleu, fixed.buckets[3].bleu
    change = f"{last - first:+.1f}, 95% interval {fixed.trend.low:+.1f} to {fixed.trend.high:+.1f}"
    assert curve_in_words(fixed, 0.95) == (
        f"fixed: BLEU falls from {first:.1f} on sources of 1-10 words to {last:.1f} on sources "
        f"of 31-40 words ({change}); it is first less than half of that at 31-40 words (in 95% of "
        "resamples, too)."
    )
    assert curve_in_words(additive, 0.95).endswith("counts as neither a fall nor a rise.")


def test_the_first_length_at_which_half_is_lost_is_said(compared):
    lengths = {5: 110, 15: 110, 25: 20, 35: 110, 45: 110}  # of 25 words there are too few
    comparison = compared(lambda n: 1 - n / 50, lambda n: 1 - n / 200, lengths)
    fixed, additive = comparison.systems
    half = fixed.buckets[0].bleu / 2
    believable = [row for row in fixed.buckets if row.sentences >= 100]
    assert believable[1].bleu > half > believable[2].bleu > believable[3].bleu
    said = curve_in_words(fixed, 0.95)
    among = "among the lengths of at least 100 sentences"
    assert f"; {among} it is first less than half of that at 31-40 words (" in said
    last = f"{additive.buckets[4].bleu:.1f} on sources of 41-50 words ("
    assert last in curve_in_words(additive, 0.95)
    assert "half" not in curve_in_words(additive, 0.95)


@pytest.mark.parametrize(
    ("ends", "luck"),
    [
        (("21-30", "41-50"), "(95% interval 21-30 to 41-50)"),
        (("31-40", None), "(95% interval 31-40 to never)"),
        (("31-40", "31-40"), "(in 95% of resamples, too)"),
    ],
)
def test_how_sure_the_length_is_at_which_half_is_lost(compared, ends, luck):
    fixed = compared(lambda n: 1 - n / 60, lambda n: 0.95).systems[0]
    told = replace(fixed.trend, half="31-40", half_from=ends[0], half_to=ends[1])
    said = curve_in_words(replace(fixed, trend=told), 0.95)
    assert said.endswith(f"first less than half of that at 31-40 words {luck}.")


def test_a_curve_that_rises(compared):
    comparison = compared(lambda n: 0.5 + n / 100, lambda n: 1.0)
    assert "fixed: BLEU rises from " in curve_in_words(comparison.systems[0], 0.95)


def test_a_test_set_of_one_length_has_no_curve(compared):
    comparison = compared(lambda n: 0.9, lambda n: 1.0, {5: 10})
    assert curve_in_words(comparison.systems[1], 0.95) == (
        "additive: BLEU is 100.0 on sources of 1-10 words, which are all of them: no curve by "
        "length."
    )
    assert growth_in_words(comparison.gaps[0], 0.95) == (
        "Whether a gap grows with the length of the source cannot be said: that takes sources of "
        "up to 20 words and of more than 30, and one of the two is missing in the test set."
    )


def test_what_the_test_set_lacks_is_said_once_for_all_gaps(compared):
    comparison = compared(lambda n: 0.9, lambda n: 1.0, {5: 10})
    (gap,) = comparison.gaps
    said = findings(replace(comparison, gaps=[gap, replace(gap, system="other"), gap]))
    assert [sentence.startswith("Whether a gap grows") for sentence in said] == [
        *([False] * 5),
        True,
    ]


def test_few_sentences_are_no_curve(compared):
    comparison = compared(lambda n: 0.9, lambda n: 1.0, {5: 200, 40: 3})
    assert curve_in_words(comparison.systems[0], 0.95).endswith(
        "but only one length at most has 100 sentences: too few to see a curve."
    )
    assert growth_in_words(comparison.gaps[0], 0.95).endswith(
        "with fewer than 100 sentences on a side, too few to conclude from."
    )


def test_an_advantage_on_long_sentences(compared):
    gap = compared(lambda n: 1 - n / 60, lambda n: 0.95).gaps[0]
    found = gap.difference_in_differences
    short = f"{found.short_gap:+.1f} [{found.short_low:+.1f}, {found.short_high:+.1f}]"
    long = f"{found.long_gap:+.1f} [{found.long_low:+.1f}, {found.long_high:+.1f}]"
    assert growth_in_words(gap, 0.95) == (
        f'"additive" minus "fixed" is {short} BLEU up to 20 source words (n = 110) '
        f"and {long} above 30 (n = 110): difference in differences "
        f"{found.value:+.1f} (95% interval {found.low:+.1f} to {found.high:+.1f}); "
        '"additive" stands better against "fixed" on long sources than on short ones.'
    )
    paired = gap.overall.paired
    assert gap_in_words(gap, 0.95) == (
        f'Over all 220 sentences "additive" is {paired.gap:.1f} BLEU above "fixed" '
        f"(95% interval {paired.gap_low:+.1f} to {paired.gap_high:+.1f})."
    )


def test_a_disadvantage_on_long_sentences(compared):
    gap = compared(lambda n: 0.95, lambda n: 1 - n / 60).gaps[0]
    assert 'BLEU below "fixed"' in gap_in_words(gap, 0.95)
    assert growth_in_words(gap, 0.95).endswith(
        '"additive" stands worse against "fixed" on long sources than on short ones.'
    )


def test_identical_systems_are_a_null_and_read_as_one(compared):
    gap = compared(lambda n: 0.8, lambda n: 0.8, seeds=(1, 1)).gaps[0]
    assert gap_in_words(gap, 0.95) == (
        'Over all 220 sentences "additive" differs from "fixed" by +0.0 BLEU (95% interval +0.0 '
        "to +0.0): no difference that this test set can show."
    )
    assert growth_in_words(gap, 0.95).endswith(
        "the interval covers 0, so this does not show that the gap depends on length."
    )


def test_of_few_sentences_no_side_is_taken(compared):
    gap = compared(lambda n: 0.5, lambda n: 0.9, {5: 49, 40: 50}).gaps[0]
    assert gap.overall.paired.gap_low > 10
    assert gap_in_words(gap, 0.95).endswith("fewer than 100 sentences, too few to conclude from.")


def test_where_the_two_tests_disagree_no_side_is_taken(compared):
    gap = compared(lambda n: 0.5, lambda n: 0.9).gaps[0]
    for p, sure in ((0.06, False), (0.05, True)):
        paired = replace(gap.overall.paired, p_randomization=p)
        said = gap_in_words(replace(gap, overall=replace(gap.overall, paired=paired)), 0.95)
        assert said.endswith("no difference is claimed.") == (not sure)
        assert (' BLEU above "fixed" (' in said) == sure


def test_seeds_show_their_own_range(comparison):
    gap = comparison.gaps[0]
    values = gap.difference_in_differences.by_seed.values()
    expected = f"; {min(values):+.1f} to {max(values):+.1f} over 2 seeds)"
    assert expected in growth_in_words(gap, 0.95)


def test_more_than_one_hypothesis_cut_in_a_hundred_is_pointed_out(comparison):
    baseline, system = comparison.systems

    def said(capped: float) -> str:
        cut = replace(baseline, overall=replace(baseline.overall, capped=capped))
        return findings(replace(comparison, systems=[cut, system]))[-1]

    assert said(0) == said(3.5) == findings(comparison)[-1]
    assert said(4) == (
        "fixed: the search cut 4 (the mean over seeds) of 350 hypotheses at its length limit."
    )
    assert said(12345.5).startswith("fixed: the search cut 12,345.5 (the mean over seeds) of 350")
