"""Tables show the numbers of a comparison, rounded honestly, and notes what applies."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.synthetic_translations import evaluated, translated
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.comparison import compare_systems
from seq2seq.evaluation.translations import ReferenceScores
from seq2seq.report.tables import (
    Table,
    bleu_table,
    detail_tables,
    evaluation_table,
    gap_tables,
    growth_table,
    half_length_table,
    heading,
    markdown_table,
    notes,
    p_text,
    score_text,
    signed,
    with_interval,
)


def test_the_table_of_bleu_and_gaps(comparison):
    table = bleu_table(comparison)
    assert table.columns == [
        "source words", "n", "fixed", "additive",
        "gap additive", "p bootstrap", "p randomisation",
    ]  # fmt: skip
    assert [row[0] for row in table.rows] == ["1-10", "11-20", "21-30 †", "31-40", "all"]
    fixed, additive = comparison.systems
    gap = comparison.gaps[0]
    rows = zip(additive.rows, fixed.rows, gap.rows, strict=True)
    known = [row for row in rows if row[0].sentences]
    for cells, (ours, theirs, paired) in zip(table.rows, known, strict=True):
        assert cells[1:4] == [str(ours.sentences), score_text(theirs), score_text(ours)]
        assert f"{ours.bleu:.1f} [{ours.bleu_low:.1f}, {ours.bleu_high:.1f}] (" in cells[3]
        assert cells[4] == with_interval(paired.gap)
        p = paired.p_bootstrap, paired.p_randomization
        assert cells[5:] == [p_text(one, 100) for one in p]
    alone = replace(comparison, systems=comparison.systems[:1], gaps=[])
    assert bleu_table(alone).columns == ["source words", "n", "fixed"]


def test_own_text_has_the_name_of_its_experiment_and_its_languages(tmp_path):
    origin = {"corpus": "files", "experiment": "my_text"}
    origin["config"] = {"corpus": {"source": "en", "target": "de"}}
    one = evaluated(tmp_path, translated({5: 3}, lambda length: 1), "attention", **origin)
    comparison = compare_systems([one], None, EvaluationConfig(bootstrap=100))
    assert heading(comparison) == "my_text · en to de · test · beam5"
    origin["experiment"] = "other"
    for language, shared in (("de", "en to de · test · beam5"), ("fr", "test · beam5")):
        origin["config"] = {"corpus": {"source": "en", "target": language}}
        other = evaluated(tmp_path / language, translated({5: 3}, lambda length: 1), "b", **origin)
        both = compare_systems([one, other], None, EvaluationConfig(bootstrap=100))
        assert heading(both) == shared


def test_many_gaps_have_tables_of_their_own(widths, comparison):
    assert len(bleu_table(widths).columns) == 2 + 5
    assert gap_tables(comparison) == []
    for table, gap in zip(gap_tables(widths), widths.gaps, strict=True):
        assert gap.system in table.caption
        assert table.rows[0][1].startswith(with_interval(gap.rows[0].gap))
        assert [row[0] for row in table.rows] == ["1-10", "21-30 †", "31-40", "all"]
    for cells, gap in zip(growth_table(widths).rows, widths.gaps, strict=True):
        growth = gap.difference_in_differences
        found = [with_interval(one) for one in (growth.short, growth.long, growth.difference)]
        assert [cells[0], *cells[4:]] == [f"{gap.system} - width-32", *found, "–"]
    seeds = comparison.gaps[0].difference_in_differences.by_seed.values()
    assert growth_table(comparison).rows[0][-1] == f"{min(seeds):+.1f} to {max(seeds):+.1f}"
    gaps = [replace(gap, difference_in_differences=None) for gap in widths.gaps]
    assert growth_table(replace(widths, gaps=gaps)).rows[0][4:] == ["–"] * 4


@pytest.mark.parametrize(
    ("short", "long", "marked"), [(100, 99, [5, 6]), (99, 100, [4, 6]), (100, 100, [])]
)
def test_a_gap_over_few_sentences_is_marked(widths, short, long, marked):
    growth = widths.gaps[0].difference_in_differences
    growth = replace(growth, short_sentences=short, long_sentences=long)
    gaps = [replace(widths.gaps[0], difference_in_differences=growth)]
    (cells,) = growth_table(replace(widths, gaps=gaps)).rows
    assert [place for place, cell in enumerate(cells) if "†" in cell] == marked


def test_the_half_length_is_read_off_the_curve_of_lengths_with_enough_sentences(comparison):
    fixed, _ = comparison.systems
    lengths = zip((5, 12, 25, 31), fixed.buckets, strict=True)
    words, scores = zip(*((n, row.bleu) for n, row in lengths if not row.few), strict=True)
    half = np.interp(scores[0] / 2, scores[::-1], words[::-1])
    assert fixed.half_length.value == pytest.approx(half)
    table = half_length_table(comparison)
    assert table.rows[0][1].startswith(f"{half:.1f} [")
    assert table.rows[1] == ["additive", "∞ [∞, ∞]"]


def test_each_other_score_has_a_table(comparison):
    details = {"chrf": 11.0, "brevity_ratio": 3.0, "unpenalised": 44.0}
    details |= {"capped": 5.0, "loss": 1.25}
    systems = [
        replace(system, rows=[replace(row, scores=row.scores | details) for row in system.rows])
        for system in comparison.systems
    ]
    tables = detail_tables(replace(comparison, systems=systems))
    assert [{cell for row in table.rows for cell in row[1:]} for table in tables] == [
        {"11.0"}, {"3.00"}, {"44.0"}, {"5.0"}, {"1.250"},
    ]  # fmt: skip
    rows = [replace(row, scores=row.scores | {"capped": None}) for row in systems[1].rows]
    given = replace(comparison, systems=[systems[0], replace(systems[1], rows=rows)])
    assert detail_tables(given)[3].rows[0][1:] == ["5.0", "–"]


def test_notes_say_what_applies(comparison, monkeypatch):
    text = " ".join(notes(comparison))
    for part in (*comparison.signatures.values(), "95%", "100 resamples", "†: fewer than 100"):
        assert part in text
    for part in ("differ", "One seed", "max_pieces"):
        assert part not in text
    fixed, additive = comparison.systems
    changed = replace(
        comparison,
        systems=[fixed, replace(additive, evaluations=additive.evaluations[:1])],
        config_differences={"model.attention.kind": {"fixed": ["fixed"], "additive": ["dot", 1]}},
    )
    monkeypatch.setattr(comparison.systems[1].first.record, "cut_sources", 3)
    text = " ".join(notes(changed))
    assert "One seed: additive." in text
    assert "additive: 3 of 350 sources" in text
    assert "`model.attention.kind` (fixed: fixed, additive: dot or 1)" in text


def test_a_markdown_table_is_aligned_and_keeps_bars_in_their_cells():
    assert markdown_table(["a|b", "n"], [["x\ny", "10"]]) == (
        "| a\\|b |  n |\n| ---- | -: |\n| x y  | 10 |\n"
    )
    assert markdown_table(["a", "n"], [["x", "1"]]).splitlines()[1] == "| -- | -: |"  # not "| : |"


def test_latex_has_the_cells_of_the_table_and_nothing_that_latex_obeys():
    cells = [["†", "a_1 & 50% \\x{} #~^$"], ["≤ 0.001", "∞ – <|>"]]
    assert Table("", ["words", "$x"], cells).latex().splitlines() == [
        r"\begin{tabular}{lr}",
        r"\hline",
        r"words & \$x \\",
        r"\hline",
        r"\dag{} & a\_1 \& 50\% \textbackslash{}x\{\} \#\textasciitilde{}\textasciicircum{}\$ \\",
        r"$\le$ 0.001 & $\infty$ -- \textless{}\textbar{}\textgreater{} \\",
        r"\hline",
        r"\end{tabular}",
    ]


def test_the_table_of_one_evaluation_has_columns_that_hold_something(tmp_path):
    texts = translated({5: 4, 15: 3}, lambda n: 0.9)
    said = ReferenceScores([-12.0] * 7, [6] * 7)
    settings = EvaluationConfig(bootstrap=100)
    whole = evaluated(tmp_path, replace(texts, reference_scores=said), "x", settings=settings)
    table = evaluation_table(whole)
    assert table.columns == [
        "source words", "n", "BLEU", "chrF", "brevity", "hit the cap", "loss", "perplexity",
    ]  # fmt: skip
    first, *_ = compare_systems([whole], None, whole.settings).systems[0].rows
    assert table.rows[0] == [
        "1-10 †", "4", score_text(first), f"{first.chrf:.1f}",
        f"{first.brevity_ratio:.2f}", "0", "2.000", "7.39",
    ]  # fmt: skip
    assert [row[0] for row in table.rows] == ["1-10 †", "11-20 †", "all †"]
    given = evaluated(tmp_path, replace(texts, capped=[]), "x")
    assert evaluation_table(given).columns == ["source words", "n", "BLEU", "chrF", "brevity"]


@given(st.floats(-100, 100))
def test_what_is_not_zero_does_not_read_as_zero(value):
    equal = abs(value) < 1e-9  # but for rounding
    assert (float(signed(value)) == 0) == equal
    assert float(signed(value)) == pytest.approx(value, abs=0.0501)
    assert signed(value)[0] == ("-" if value < 0 and not equal else "+")


@pytest.mark.parametrize(
    ("p", "trials", "text"),
    [
        (1 / 1001, 1000, "≤ 0.001"),
        (1.0, 1000, "1.000"),
        (1 / 100_001, 100_000, "≤ 1e-05"),
        (3 / 100_001, 100_000, "3e-05"),
    ],
)
def test_the_least_p_that_trials_can_show_is_said_to_be_one(p, trials, text):
    assert p_text(p, trials) == text


@given(st.integers(1, 200_000))
def test_at_most_is_never_said_of_less(trials):
    least = 1 / (trials + 1)
    assert float(p_text(least, trials).removeprefix("≤ ")) >= least * (1 - 1e-6)
