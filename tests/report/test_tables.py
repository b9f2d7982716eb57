import csv
import io
from dataclasses import replace

from synthetic_translations import evaluated, translated

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.lengths import score_texts
from seq2seq.evaluation.scores import ReferenceScores
from seq2seq.evaluation.significance import PairedComparison
from seq2seq.evaluation.systems import compare_systems
from seq2seq.report.numbers import p_text
from seq2seq.report.tables import (
    comparison_csv,
    comparison_markdown,
    detail_table,
    heading,
    scores_markdown,
    unknown_words_markdown,
)


def markdown_rows(text: str, table: int) -> list[list[str]]:
    """The cells of the numbered table, header first, rule left out."""
    tables, current = [], []
    for line in [*text.split("\n"), ""]:
        if line.startswith("|"):
            current.append([cell.strip() for cell in line.strip("|").split(" | ")])
        elif current:
            tables.append([current[0], *current[2:]])
            current = []
    return tables[table]


def test_csv_holds_the_comparisons_numbers_exactly(comparison):
    lines = list(csv.DictReader(io.StringIO(comparison_csv(comparison))))
    assert len(lines) == 2 * 8
    read = {(line["system"], line["words"]): line for line in lines}
    for system in comparison.systems:
        for row in system.rows:
            line = read[system.name, row.words]
            for name in ("bleu", "bleu_low", "bleu_high", "chrf", "brevity_ratio", "capped"):
                value = getattr(row, name)
                assert line[name] == ("" if value is None else str(value))
            unpenalised = row.unpenalised
            assert line["bleu_unpenalised"] == ("" if unpenalised is None else str(unpenalised))
            assert int(line["sentences"]) == row.sentences
            if row.sentences:
                assert float(line["bleu_seed_low"]) == min(row.by_seed)
                assert float(line["bleu_seed_high"]) == max(row.by_seed)
    for row in comparison.gaps[0].rows:
        line = read["additive", row.words]
        assert line["baseline"] == "fixed"
        for name in ("gap", "gap_low", "gap_high", "p_bootstrap", "p_randomization"):
            assert line[name] == (str(getattr(row.paired, name)) if row.paired else "")
            assert read["fixed", row.words][name] == ""


def test_csv_tells_the_two_tests_apart(comparison):
    (gap,) = comparison.gaps
    overall = replace(gap.overall, paired=PairedComparison(1.0, 0.5, 1.5, 0.125, 0.25))
    changed = replace(comparison, gaps=[replace(gap, overall=overall)])
    *_, line = csv.DictReader(io.StringIO(comparison_csv(changed)))
    assert (line["p_bootstrap"], line["p_randomization"]) == ("0.125", "0.25")


def test_markdown_shows_the_comparisons_numbers(comparison):
    text = comparison_markdown(comparison, ["A finding."])
    assert text.startswith("# BLEU by source length: grammar · test · beam5\n\n- A finding.\n")
    header, *rows = markdown_rows(text, 0)
    assert header == [
        "source words", "n", "BLEU fixed", "BLEU additive",
        "gap additive", "p bootstrap", "p randomisation",
    ]  # fmt: skip
    assert [row[0] for row in rows] == [
        "1-10", "11-20", "21-30 †", "31-40", "41-50 †", "51-60 †", "61+ †", "all",
    ]  # fmt: skip
    fixed, additive = comparison.systems
    gap = comparison.gaps[0]
    for cells, ours, theirs, against in zip(rows, additive.rows, fixed.rows, gap.rows, strict=True):
        assert cells[1] == str(ours.sentences)
        if not ours.sentences:
            assert cells[2:] == ["–"] * 5
            continue
        for cell, row in ((cells[2], theirs), (cells[3], ours)):
            assert cell == (
                f"{row.bleu:.1f} [{row.bleu_low:.1f}, {row.bleu_high:.1f}] "
                f"({min(row.by_seed):.1f} to {max(row.by_seed):.1f})"
            )
        paired = against.paired
        assert cells[4] == f"{paired.gap:+.1f} [{paired.gap_low:+.1f}, {paired.gap_high:+.1f}]"
        trials = comparison.settings.bootstrap
        assert cells[5:] == [
            p_text(p, trials) for p in (paired.p_bootstrap, paired.p_randomization)
        ]
    header, *details = markdown_rows(text, 1)
    assert header[1:] == [
        "chrF fixed", "chrF additive", "brevity fixed", "brevity additive",
        "unpenalised BLEU fixed", "unpenalised BLEU additive",
        "hit the cap fixed", "hit the cap additive",
    ]  # fmt: skip
    assert details[0][1] == f"{fixed.rows[0].chrf:.1f}"


def test_each_detail_stands_below_its_system(comparison):
    systems = [
        replace(
            system,
            overall=replace(
                system.overall,
                chrf=10.0 + place,
                ter=20.0 + place,
                brevity_ratio=0.5 + place,
                unpenalised=40.0 + place,
                capped=30.0 + place,
            ),
        )
        for place, system in enumerate(comparison.systems)
    ]
    rows = markdown_rows(detail_table(replace(comparison, systems=systems)), 0)
    assert dict(zip(rows[0], rows[-1], strict=True)) == {
        "source words": "all",
        **{"chrF fixed": "10.0", "chrF additive": "11.0"},
        **{"TER fixed": "20.0", "TER additive": "21.0"},
        **{"brevity fixed": "0.50", "brevity additive": "1.50"},
        **{"unpenalised BLEU fixed": "40.0", "unpenalised BLEU additive": "41.0"},
        **{"hit the cap fixed": "30.0", "hit the cap additive": "31.0"},
    }


def test_notes_say_what_applies(comparison):
    text = comparison_markdown(comparison, [])
    assert comparison.signatures.bleu in text
    assert comparison.signatures.chrf in text
    assert "95% bootstrap interval" in text
    assert "means over seeds" in text
    assert "† fewer than 100 sentences" in text
    assert "empty source" not in text
    assert "configurations differ" not in text
    changed = replace(
        comparison,
        empty_sources=1,
        config_differences={"model.attention.kind": {"fixed": ["fixed"], "additive": ["additive"]}},
    )
    text = comparison_markdown(changed, [])
    assert "The first row includes 1 empty source line." in text
    assert "differ in `model.attention.kind` (fixed: fixed, additive: additive)." in text


def test_one_system_has_no_gap_columns(comparison):
    alone = replace(comparison, systems=comparison.systems[:1], gaps=[])
    text = comparison_markdown(alone, [])
    assert "gap" not in text.lower()
    assert len(comparison_csv(alone).split("\n")) == 1 + 8 + 1


def test_a_name_with_a_bar_stays_in_its_cell(comparison):
    named = replace(comparison.systems[0], name="a|b")
    text = comparison_markdown(replace(comparison, systems=[named], gaps=[]), [])
    assert "BLEU a\\|b" in text


def test_heading_says_what_is_known(comparison):
    assert heading(comparison) == "grammar · test · beam5"
    assert heading(replace(comparison, corpus=None, search=None)) == "test"
    assert heading(replace(comparison, corpus=None, test_set=None, search=None)) == "test set"


def test_the_table_of_one_evaluation():
    scores = score_texts(
        translated({5: 120, 15: 30}, lambda n: 0.9), EvaluationConfig(bootstrap=100)
    )
    text = scores_markdown(scores)
    header, *rows = markdown_rows(text, 0)
    assert header == ["source words", "n", "BLEU", "chrF", "brevity", "hit the cap"]
    first = scores.buckets[0]
    assert rows[0] == [
        "1-10",
        "120",
        f"{first.bleu:.1f} [{first.bleu_low:.1f}, {first.bleu_high:.1f}]",
        f"{first.chrf:.1f}",
        f"{first.brevity_ratio:.2f}",
        "0",
    ]
    assert rows[6] == ["61+ †", "0", "–", "–", "–", "0"]
    assert rows[-1][0] == "all"
    assert scores.signatures.bleu in text


def test_columns_appear_where_they_hold_something():
    texts = translated({5: 4, 15: 3}, lambda n: 0.9)
    settings = EvaluationConfig(bootstrap=100, ter=True)
    said = ReferenceScores([-12.0] * 7, [6] * 7, [True] * 5 + [False] * 2)
    scores = score_texts(replace(texts, reference_scores=said), settings)
    text = scores_markdown(scores)
    header, *rows = markdown_rows(text, 0)
    assert header == [
        "source words", "n", "BLEU", "chrF", "TER", "brevity", "hit the cap", "loss", "perplexity",
    ]  # fmt: skip
    assert rows[0][4] == f"{scores.buckets[0].ter:.1f}"
    assert rows[0][7:] == ["2.000", "7.39"]
    assert rows[4][7:] == ["–", "–"]
    assert rows[-2][0] == "all †"
    assert rows[-1][:2] == ["no unknown words †", "5"]
    assert scores.signatures.ter in text
    assert "Loss: negative log-likelihood" in text

    given = scores_markdown(score_texts(replace(texts, capped=[]), EvaluationConfig(bootstrap=100)))
    assert markdown_rows(given, 0)[0] == ["source words", "n", "BLEU", "chrF", "brevity"]
    assert "cap" not in given


def test_table_1_has_all_sentences_and_those_of_known_words(tmp_path):
    texts = translated({5: 4, 15: 3}, lambda n: 0.9)
    said = ReferenceScores([-12.0] * 7, [6] * 7, [True] * 5 + [False] * 2)
    pair = [
        evaluated(tmp_path / search, replace(texts, reference_scores=scores), "x", search=search)
        for search, scores in (("beam5", said), ("beam5-no-unk", said))
    ]
    header, row = markdown_rows(unknown_words_markdown([(pair[0], pair[1])]), 0)
    assert header == ["test set, search", "n", "All", "n known", "No UNK"]
    known = pair[1].scores.known
    assert row[:2] + row[3:4] == ["test, beam5", "7", "5"]
    assert row[4] == f"{known.bleu:.1f} [{known.bleu_low:.1f}, {known.bleu_high:.1f}]"
    said = replace(said, known=[True] * 7)
    whole = evaluated(tmp_path / "whole", replace(texts, reference_scores=said), "x")
    row = markdown_rows(unknown_words_markdown([(whole, whole)]), 0)[1]
    assert row[3] == "7"
    assert row[4] == row[2]


def test_a_comparison_shows_ter_and_what_nobody_knows(tmp_path):
    texts = translated({5: 4, 15: 3}, lambda n: 0.9)
    ours = evaluated(tmp_path / "ours", texts, "ours")
    given = evaluated(tmp_path / "given", replace(texts, capped=[]), "given", None, search="given")
    settings = EvaluationConfig(bootstrap=100, ter=True)
    comparison = compare_systems([ours, given], "ours", settings)
    header, row, *_ = markdown_rows(comparison_markdown(comparison, []), 1)
    shown = dict(zip(header, row, strict=True))
    assert shown["TER ours"] == shown["TER given"] == f"{comparison.systems[0].rows[0].ter:.1f}"
    assert (shown["hit the cap ours"], shown["hit the cap given"]) == ("0", "–")
    lines = list(csv.DictReader(io.StringIO(comparison_csv(comparison))))
    assert float(lines[0]["ter"]) == comparison.systems[0].rows[0].ter
    assert lines[8]["capped"] == ""
