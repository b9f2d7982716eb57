"""Findings take a side only where the numbers do."""

import math
import re
from dataclasses import replace

import pytest
from helpers.page_material import SETTINGS, page_of
from helpers.synthetic_translations import evaluated, translated

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.comparison import compare_systems
from seq2seq.evaluation.significance import Interval
from seq2seq.report.findings import (
    conclusion,
    curve_in_words,
    findings,
    gap_in_words,
    growth_in_words,
    headline,
)
from seq2seq.report.length_figure import length_figure
from seq2seq.report.tables import (
    bleu_table,
    evaluation_table,
    growth_table,
    half_length_table,
    notes,
    score_csv,
    with_interval,
)


def compared(folder, baseline, system, lengths):
    """Compare a baseline and a system of given qualities at all lengths."""
    qualities = {"fixed": baseline, "additive": system}
    evaluations = [
        evaluated(folder / name, translated(lengths, lambda n, q=quality: q), name)
        for name, quality in qualities.items()
    ]
    return compare_systems(evaluations, "fixed", SETTINGS)


def changed(comparison, difference_in_differences, **overall):
    """The comparison with another growth of its gap and another gap over all sentences."""
    (found,) = comparison.gaps
    rows = [*found.rows[:-1], replace(found.rows[-1], **overall)]
    found = replace(found, rows=rows, difference_in_differences=difference_in_differences)
    return replace(comparison, gaps=[found])


def gap(comparison) -> str:
    return gap_in_words(comparison.gaps[0], comparison.sentences, 0.95)


def growth(comparison) -> str:
    return growth_in_words(comparison.gaps[0], SETTINGS)


def test_a_curve_falls_rises_or_neither(comparison):
    fixed, additive = comparison.systems
    falls = curve_in_words(fixed, SETTINGS)
    assert "falls" in falls
    assert with_interval(fixed.trend.change) in falls
    assert additive.trend.change.low < 0 < additive.trend.change.high
    assert "no significant change" in curve_in_words(additive, SETTINGS)
    rising = replace(fixed, trend=replace(fixed.trend, change=Interval(9.0, 1.0, 12.0)))
    assert "BLEU rises" in curve_in_words(rising, SETTINGS)
    for half, said in (
        (Interval(28.4, 26.6, math.inf), "28 words (95% interval 27 to never)"),
        (Interval(math.inf, 26.6, math.inf), "])."),
    ):
        trend = replace(fixed.trend, half_length=half)
        assert said in curve_in_words(replace(fixed, trend=trend), SETTINGS)


def test_few_sentences_show_nothing(tmp_path):
    comparison = compared(tmp_path, 0.5, 0.95, {5: 49, 40: 50})
    assert comparison.gaps[0].rows[-1].gap.low > 10
    assert "no curve" in curve_in_words(comparison.systems[0], SETTINGS)
    assert "too few" in gap(comparison)
    assert "too few" in headline(comparison)
    assert growth(comparison).startswith("Fewer than 100")
    assert "99 sentences are too few" in headline(replace(comparison, gaps=[]))


def test_a_test_set_without_long_sentences_cannot_answer(tmp_path):
    comparison = compared(tmp_path, 0.9, 1.0, {5: 10})
    (found,) = comparison.gaps
    said = findings(replace(comparison, gaps=[found, replace(found, system="other")]))
    assert sum("cannot be tested" in sentence for sentence in said) == 1


def test_equal_systems_do_not_differ(tmp_path):
    comparison = compared(tmp_path, 0.8, 0.8, {5: 110, 31: 110})
    assert "no significant difference (p = 1)" in gap(comparison)
    assert growth(comparison).startswith("No significant change of the gap")
    assert "no significant" in conclusion(comparison)


def test_an_advantage_on_long_sentences_is_named_with_its_numbers(comparison):
    found = comparison.gaps[0].difference_in_differences
    said = growth(comparison)
    assert said.startswith("additive helps more on long sentences: additive minus fixed is ")
    for interval in (found.short, found.long, found.difference):
        assert with_interval(interval) in said
    assert f"is {with_interval(comparison.gaps[0].rows[-1].gap)} BLEU." in gap(comparison)
    assert "no significant" not in gap(comparison)
    for system in comparison.systems:
        (row,) = (row for row in system.buckets if row.words == "31-40")
        assert f"{system.name} {row.bleu:.1f}" in headline(comparison)
    assert f"{found.difference.value:.1f} more" in conclusion(comparison)
    ends = f"{found.difference.low:+.1f} to {found.difference.high:+.1f}"
    assert ends in conclusion(comparison)


@pytest.mark.parametrize(
    ("short", "long", "helps"),
    [(1, 5, "more"), (5, 1, "less"), (-5, -1, None), (-1, 5, None), (-1, -5, None), (5, -1, None)],
)
def test_a_system_helps_only_where_it_gains_on_short_and_long_sentences(
    comparison, short, long, helps
):
    ends = (Interval(value, value - 0.5, value + 0.5) for value in (short, long, long - short))
    named = dict(zip(("short", "long", "difference"), ends, strict=True))
    grown = replace(comparison.gaps[0].difference_in_differences, **named)
    said = growth(changed(comparison, grown))
    assert ("helps" in said) == (helps is not None)
    assert f"{helps or ('better' if long > short else 'worse')} on long sentences" in said
    side = "more" if long > short else "less"
    assert f" {side} on long sentences" in conclusion(changed(comparison, grown))


def test_where_the_two_tests_disagree_no_side_is_taken(comparison):
    for p, significant in ((0.06, False), (0.05, True)):
        shown = changed(comparison, None, p_randomization=p)
        for said in (gap(shown), headline(shown), conclusion(shown)):
            assert ("no significant" in said) != significant


@pytest.mark.parametrize(("p", "shown"), [(0.002, False), (0.56, True)])
def test_a_p_value_that_contradicts_the_verdict_is_left_out(comparison, p, shown):
    said = gap(changed(comparison, None, gap=Interval(8.0, -3.9, 21.1), p_randomization=p))
    assert "no significant difference" in said
    assert (f"p = {p}" in said) == shown


def test_a_small_significant_difference_does_not_read_as_none(comparison):
    small = Interval(0.02, 0.01, 0.04)
    grown = replace(comparison.gaps[0].difference_in_differences, difference=small)
    assert ": 0.02 more" in conclusion(changed(comparison, grown))
    assert "scores 0.02 BLEU higher than" in headline(changed(comparison, None, gap=small))


def test_the_side_of_a_difference_is_named_also_when_it_is_turned_over(comparison):
    turned = compare_systems(comparison.evaluations, "additive", comparison.settings)
    lower = f"fixed scores {-turned.gaps[0].rows[-1].gap.value:.1f} BLEU lower than additive"
    assert lower in headline(changed(turned, None))


def test_the_headline_without_a_long_bucket_of_enough_sentences_is_the_gap(comparison):
    few = [
        replace(s, rows=[*(replace(row, sentences=60) for row in s.buckets), s.overall])
        for s in comparison.systems
    ]
    title = f"scores {comparison.gaps[0].rows[-1].gap.value:.1f} BLEU higher than fixed"
    assert title in headline(replace(comparison, systems=few))
    assert title in headline(changed(comparison, None))


def test_more_than_one_hypothesis_cut_in_a_hundred_is_pointed_out(comparison):
    baseline, system = comparison.systems

    def last(capped: float) -> str:
        rows = [*baseline.rows[:-1], replace(baseline.overall, capped=capped)]
        return findings(replace(comparison, systems=[replace(baseline, rows=rows), system]))[-1]

    assert last(0) == last(3.5) == findings(comparison)[-1]
    assert "cut 4 of 350 hypotheses" in last(4)
    assert "decoding.max_ratio" in last(4)


def test_sources_that_were_cut_are_told_of_the_systems_that_cut_them(comparison):
    def told(*cuts: int) -> list[str]:
        systems = []
        for system, cut in zip(comparison.systems, cuts, strict=True):
            record = replace(system.first.record, cut_sources=cut)
            evaluations = [replace(system.first, record=record)]
            systems.append(replace(system, evaluations=evaluations))
        return [s for s in findings(replace(comparison, systems=systems)) if "max_pieces" in s]

    baseline, system = (one.name for one in comparison.systems)
    assert told(0, 0) == []
    assert [s.partition(" of 350")[0] for s in told(0, 3)] == [f"{system}: 3"]
    assert [s.partition(" of 350")[0] for s in told(3, 3)] == [f"{baseline}, {system}: 3"]
    assert len(told(2, 3)) == 2


def test_the_unit_of_length_is_named_wherever_a_length_is(tmp_path):
    settings = EvaluationConfig(bootstrap=100, length_unit="characters")
    texts = translated({8: 110, 40: 110}, lambda n: 0.9)  # words of two letters
    pairs = [evaluated(tmp_path / n, texts, n, settings=settings) for n in ("fixed", "additive")]
    comparison = compare_systems(pairs, "fixed", EvaluationConfig(bootstrap=100))
    assert length_figure(comparison).axes[0].get_xlabel() == "Source length (characters)"
    page = page_of(comparison).decode()
    assert "61-80 characters, n = 110" in page
    assert "<h3>16 characters " in page
    tables = [bleu_table(comparison), growth_table(comparison), *half_length_table(comparison)]
    assert tables[0].columns[0] == evaluation_table(pairs[0]).columns[0] == "source characters"
    assert [row[0] for row in tables[0].rows[:-1]] == ["1-20", "61-80"]
    said = [*findings(comparison), conclusion(comparison), headline(comparison)]
    said += [*notes(comparison), *(" ".join(table.columns) for table in tables)]
    said += [score_csv(comparison)]
    assert sum("characters" in text for text in said) > 5
    assert not any(re.search(r"[0-9] (source )?words|source words", text) for text in said)
