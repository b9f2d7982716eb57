"""The conclusion takes a side only where the numbers do."""

import re
from dataclasses import replace

import pytest
from helpers.page_material import SETTINGS, page_of
from helpers.synthetic_translations import evaluated, translated

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.comparison import compare_systems
from seq2seq.evaluation.significance import Interval
from seq2seq.report.figures import length_figure
from seq2seq.report.tables import (
    bleu_table,
    conclusion,
    evaluation_table,
    growth_table,
    half_length_table,
    notes,
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


def test_few_sentences_show_nothing(tmp_path):
    comparison = compared(tmp_path, 0.5, 0.95, {5: 49, 40: 50})
    assert comparison.gaps[0].rows[-1].gap.low > 10
    assert "too few" in conclusion(comparison)
    assert "99 sentences are too few" in conclusion(replace(comparison, gaps=[]))


def test_equal_systems_do_not_differ(tmp_path):
    comparison = compared(tmp_path, 0.8, 0.8, {5: 110, 31: 110})
    assert "no significant change" in conclusion(comparison)
    assert "no significant difference" in conclusion(changed(comparison, None))


def test_an_advantage_on_long_sentences_is_told_with_its_numbers(comparison):
    found, said = comparison.gaps[0].difference_in_differences, conclusion(comparison)
    assert said.startswith("additive minus fixed is ")
    for interval in (found.short, found.long):
        assert f"{interval.value:+.1f}" in said
    ends = f"{found.difference.low:+.1f} to {found.difference.high:+.1f}"
    assert f": {found.difference.value:.1f} more on long sentences (95% interval {ends})." in said


@pytest.mark.parametrize(
    ("difference", "side"), [(4, "4.0 more"), (-4, "4.0 less"), (0.02, "0.02 more")]
)
def test_the_side_of_a_change_with_length_is_named_however_small(comparison, difference, side):
    interval = Interval(difference, difference - 0.01, difference + 0.01)
    grown = replace(comparison.gaps[0].difference_in_differences, difference=interval)
    assert f": {side} on long sentences" in conclusion(changed(comparison, grown))


def test_where_the_two_tests_disagree_no_side_is_taken(comparison):
    for p, significant in ((0.06, False), (0.05, True)):
        said = conclusion(changed(comparison, None, p_randomization=p))
        assert ("no significant" in said) != significant


def test_without_enough_long_sentences_the_conclusion_is_the_gap_whichever_side_it_has(comparison):
    growth = comparison.gaps[0].difference_in_differences
    size = f"{comparison.gaps[0].rows[-1].gap.value:.1f} BLEU"
    for unknown in (None, replace(growth, long_sentences=99)):
        said = conclusion(changed(comparison, unknown))
        assert said.startswith(f"additive scores {size} higher than fixed (95% interval ")
    turned = compare_systems(comparison.evaluations, "additive", comparison.settings)
    assert f"fixed scores {size} lower than additive" in conclusion(changed(turned, None))
    small = changed(comparison, None, gap=Interval(0.02, 0.01, 0.04))
    assert "scores 0.02 BLEU higher than" in conclusion(small)


def test_of_several_systems_the_best_is_named(widths):
    best = max(widths.systems, key=lambda system: system.overall.bleu)
    assert conclusion(widths) == f"{best.name}: {best.overall.bleu:.1f} BLEU, best of 5 systems."


def test_the_unit_of_length_is_named_wherever_a_length_is(tmp_path):
    settings = EvaluationConfig(bootstrap=100, length_unit="characters")
    texts = translated({8: 110, 40: 110}, lambda n: 0.9)  # words of two letters
    pairs = [evaluated(tmp_path / n, texts, n, settings=settings) for n in ("fixed", "additive")]
    comparison = compare_systems(pairs, "fixed", EvaluationConfig(bootstrap=100))
    assert length_figure(comparison).axes[0].get_xlabel() == "Source length (characters)"
    page = page_of(comparison).decode()
    assert "61-80 characters, n = 110" in page
    assert "<h3>16 characters " in page
    tables = [bleu_table(comparison), growth_table(comparison), half_length_table(comparison)]
    assert tables[0].columns[0] == evaluation_table(pairs[0]).columns[0] == "source characters"
    assert [row[0] for row in tables[0].rows[:-1]] == ["1-20", "61-80"]
    said = [conclusion(comparison), *notes(comparison)]
    said += [" ".join(table.columns) for table in tables]
    assert sum("characters" in text for text in said) == 4
    assert not any(re.search(r"[0-9] (source )?words|source words", text) for text in said)
