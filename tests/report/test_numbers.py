"""What is told anywhere, on page, terminal, Markdown and LaTeX, is what scores.json holds."""

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.page_material import SETTINGS, write_report
from helpers.synthetic_translations import evaluated, translated
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.evaluation.comparison import Gap, compare_systems
from seq2seq.evaluation.significance import DifferenceInDifferences, Interval, PairedComparison
from seq2seq.evaluation.translations import ReferenceScores
from seq2seq.report import tables
from seq2seq.report.figures import length_figure
from seq2seq.report.terminal import summary

BLEU, GROWTH = "BLEU by source length", "Does the gap grow with source length?"


def read(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8").replace("&lt;", "<")


def markdown_lines(text: str) -> list[list[str]]:
    """The cells of each line of Markdown tables."""
    lines = re.findall(r"^\| (?!--)(.*) \|$", text, re.MULTILINE)
    cells = [re.split(r"(?<!\\)\|", line) for line in lines]
    return [[cell.strip().replace("\\|", "|") for cell in line] for line in cells]


def markdown_tables(folder: Path) -> dict[str, list[list[str]]]:
    """Caption -> cells of each line, of table.md."""
    found = re.findall(r"^\*\*(.*)\*\*\n\n((?:\|.*\n)+)", read(folder, "table.md"), re.MULTILINE)
    return {caption: markdown_lines(table) for caption, table in found}


def page_tables(folder: Path) -> dict[str, list[list[str]]]:
    """Caption -> cells of each line, of page.html."""

    def texts(tag: str, part: str) -> list[str]:
        found = re.findall(rf"<{tag}[ >].*?</{tag}>", part)
        return [html.unescape(re.sub("<[a-z/][^>]*>", "", one)).strip() for one in found]

    found = {}
    for table in re.findall("<table>.*?</table>", (folder / "page.html").read_text(), re.DOTALL):
        lines = re.findall("<tr>.*?</tr>", table, re.DOTALL)
        found[texts("caption", table)[0]] = [texts("t[hd]", line) for line in lines]
    return found


def flat(data: object) -> list[float]:
    """The numbers in JSON data, in their order."""
    if isinstance(data, list):
        return [number for part in data for number in flat(part)]
    if isinstance(data, dict):
        return flat([*data.values()])
    return [] if data is None else [data]


def ends(seeds: list[float]) -> list[float]:
    return [min(seeds), max(seeds)] if len(seeds) > 1 else []


def score(row: dict) -> list:
    return [row["bleu"], row["bleu_low"], row["bleu_high"], ends(row["by_seed"])]


def expected(scores: dict) -> dict[str, dict[str, list[float]]]:
    """Caption -> first cell of a line -> its numbers, by scores.json."""
    systems, gaps, found = scores["systems"], scores["gaps"], {BLEU: {}, GROWTH: {}}
    for place, row in enumerate(systems[0]["rows"]):
        if not row["sentences"]:
            continue
        label = row["words"] + " †" * (row["sentences"] < 100)
        rows, paired = ([one["rows"][place] for one in of] for of in (systems, gaps))
        together = paired if len(gaps) < 3 else []
        found[BLEU][label] = flat([row["sentences"], [score(one) for one in rows], together])
        for gap, one in zip(gaps, paired, strict=True) if not together else ():
            caption = f"BLEU of {gap['system']} minus that of {gap['baseline']}"
            found.setdefault(caption, {})[label] = flat(one)
        for key, (caption, _) in tables.DETAILS.items():
            found.setdefault(caption, {})[label] = flat([one[key] for one in rows])
    for gap in gaps:
        grown = gap["difference_in_differences"]
        parts = [grown[part] for part in ("short", "long", "difference")]
        told = [gap["rows"][-1], parts, ends([*grown["by_seed"].values()])]
        found[GROWTH][f"{gap['system']} - {gap['baseline']}"] = flat(told)
    return {caption: lines for caption, lines in found.items() if any(map(any, lines.values()))}


def require_told(cells: list[str], numbers: list[float]) -> None:
    """Require that the numbers in the cells are those given, rounded."""
    found = re.findall(r"([-+]?\d[\d,]*(?:\.(\d+))?)", " ".join(cells))
    assert len(found) == len(numbers), cells
    for (text, decimals), number in zip(found, numbers, strict=True):
        told = float(text.replace(",", ""))
        assert told == pytest.approx(number, abs=0.5001 * 10 ** -len(decimals)), cells


@pytest.mark.parametrize("which", ["report", "pair", "widths"])
def test_every_number_of_every_table_is_that_of_scores_json(which, request):
    folder, comparison = request.getfixturevalue(which)
    scores, told = json.loads(read(folder, "scores.json")), markdown_tables(folder)
    known = expected(scores)
    assert told.keys() == known.keys()
    for caption, lines in known.items():
        assert [line[0] for line in told[caption][1:]] == [*lines]
        for cells in told[caption][1:]:
            require_told(cells[1:], lines[cells[0]])
    names = [system["name"] for system in scores["systems"]]
    assert told[BLEU][0][2 : 2 + len(names)] == names
    for cells, gap in zip(told[GROWTH][1:], scores["gaps"], strict=True):
        grown = gap["difference_in_differences"]
        few = [grown[f"{end}_sentences"] < 100 for end in ("short", "long")]
        assert ["†" in cell for cell in cells[4:7]] == [*few, any(few)]
    assert scores["conclusion"] == tables.conclusion(comparison)
    assert read(folder, "table.md").startswith(f"# {scores['conclusion']}\n")
    assert read(folder, "table.tex") == tables.bleu_table(comparison, 2).latex()


def test_the_page_has_the_same_cells_and_those_of_each_bucket_over_it(report):
    folder, comparison = report
    told, page = markdown_tables(folder), page_tables(folder)
    assert {caption: page.pop(caption) for caption in (BLEU, GROWTH)}.items() <= told.items()
    header, *lines = told[BLEU]
    known = {line[0].removesuffix(" †"): dict(zip(header, line, strict=True)) for line in lines}
    for row, (caption, tip) in zip(comparison.systems[0].buckets, page.items(), strict=True):
        line = known.get(row.words, {})
        assert caption == f"{row.words} words, n = {line.get('n', '0')}"
        for name, score, gap in tip[1:]:
            assert (score, gap) == (line.get(name, "–"), line.get(f"gap {name}", ""))


@pytest.mark.parametrize("which", ["pair", "widths"])
def test_the_terminal_has_the_same_numbers(which, request):
    folder, comparison = request.getfixturevalue(which)
    text = summary({"a/b": comparison})
    lines = markdown_lines(text)
    if which == "widths":
        lines = [*zip(*lines, strict=True)]  # each system has a line
    for cells, known in zip(lines[1:], markdown_tables(folder)[BLEU][1:], strict=True):
        assert cells[0] == known[0]
        for cell, other in zip(cells[1:], known[1:], strict=False):
            assert cell.split()[0] == other.split()[0]  # then come a bar, or an interval
    assert " ".join(tables.conclusion(comparison).split()) in " ".join(text.split())


OVERALL, ALL = (2.0, 1.0, 3.0), r"is \+5.0 .* 30 .* \+1.0 .* 20: 4.0 more .* \+3.9 to \+4.1"
CONCLUSIONS = [  # growth of the gap, long sentences, gap over all sentences, its p, what is said
    ((4.0, 3.9, 4.1), 100, OVERALL, 0.01, ALL),
    ((-4.0, -4.1, -3.9), 100, OVERALL, 0.01, "4.0 less"),
    ((4.0, -0.1, 8.1), 100, OVERALL, 0.01, "no significant change"),
    ((4.0, 3.9, 4.1), 99, OVERALL, 0.05, "additive scores 2.0 BLEU higher than fixed"),
    (None, 0, (-2.0, -3.0, -1.0), 0.05, "2.0 BLEU lower"),
    (None, 0, OVERALL, 0.06, "no significant difference"),
    (None, 0, (2.0, -0.1, 3.0), 0.01, "no significant difference"),
]


@pytest.mark.parametrize(("growth", "long", "overall", "p", "said"), CONCLUSIONS)
def test_the_conclusion_takes_a_side_only_where_the_numbers_do(
    comparison, growth, long, overall, p, said
):
    ends = Interval(5.0, 4.0, 6.0), Interval(1.0, 0.0, 2.0)
    grown = growth and DifferenceInDifferences(Interval(*growth), *ends, long, 100, {})
    gap = Gap("additive", "fixed", [PairedComparison(Interval(*overall), 0.01, p)], grown)
    assert re.search(said, tables.conclusion(replace(comparison, gaps=[gap])))


def test_the_best_system_is_named_and_few_sentences_conclude_nothing(comparison, widths):
    best = max(widths[1].systems, key=lambda system: system.overall.bleu)
    assert tables.conclusion(widths[1]).startswith(f"{best.name}: {best.overall.bleu:.1f} BLEU")
    first, gap = comparison.systems[0], comparison.gaps[0]
    few = replace(first, rows=[replace(first.overall, sentences=99)])
    for gaps in ([], [replace(gap, difference_in_differences=None)]):
        assert "too few" in tables.conclusion(replace(comparison, systems=[few], gaps=gaps))


def test_notes_say_what_applies(report):
    folder, comparison = report
    said = re.findall("^- (.*)$", read(folder, "table.md"), re.MULTILINE)
    (once,) = (note for note in said if "One seed" in note)
    (differ,) = (note for note in said if "`model.attention.kind`" in note)
    for system in comparison.systems:
        assert (system.name in once) == (len(system.seeds) == 1)
        kind = system.first.record.config["model"]["attention"]["kind"]
        assert f"{system.name}: {kind}" in differ
    assert all(signature in said[-1] for signature in comparison.signatures.values())


def test_one_evaluation_has_a_table_of_what_is_known(tmp_path):
    texts = translated({5: 4, 15: 3}, lambda n: 0.9)
    texts = replace(texts, reference_scores=ReferenceScores([-12.0] * 7, [6] * 7))
    for known in (texts, replace(texts, capped=[], reference_scores=None)):
        one = evaluated(tmp_path, known, "x", settings=SETTINGS)
        (system,) = compare_systems([one], None, SETTINGS).systems
        rows = [row.as_json() for row in system.rows if row.sentences]
        for cells, row in zip(tables.evaluation_table(one).rows, rows, strict=True):
            more = [row[key] for key in ("chrf", "brevity_ratio", "capped", "loss", "perplexity")]
            require_told(cells[1:], flat([row["sentences"], score(row), more]))


def test_the_unit_of_length_is_named_wherever_a_length_is(tmp_path):
    for name in ("fixed", "additive"):
        texts = translated({8: 110, 40: 110}, lambda n: 0.9)
        settings = replace(SETTINGS, length_unit="characters")
        evaluated(tmp_path / name, texts, name, settings=settings)
    folder, comparison = write_report([f"{tmp_path}/*"], tmp_path / "report")
    axis = length_figure(comparison).axes[0].get_xlabel()
    pages = [read(folder, name) for name in ("table.md", "page.html")]
    for text in (*pages, summary({"a": comparison}), axis):
        assert "characters" in text
        assert not re.search(r"(?<!of )(?<!all )\b[0-9]+ words|source words", text)


@given(st.floats(-100, 100))
def test_what_is_not_zero_does_not_read_as_zero(value):
    text, equal = tables.signed(value), abs(value) < 1e-9  # but for rounding
    assert (float(text) == 0) == equal
    assert float(text) == pytest.approx(value, abs=0.0501)
    assert text[0] == ("-" if value < 0 and not equal else "+")


@given(st.integers(1, 200_000), st.integers(1, 200_000))
def test_the_least_p_that_trials_can_show_is_said_to_be_one(trials, extreme):
    p, least = min(extreme, trials + 1) / (trials + 1), extreme == 1
    text = tables.p_text(p, trials)
    told = float(text.removeprefix("≤ "))
    assert text.startswith("≤") == least
    assert told >= p * (1 - 1e-6) or not least
    assert told == pytest.approx(p, rel=1 if least else 0.5, abs=0.001 if least else 0.0005)


def test_latex_has_the_cells_of_the_table_and_nothing_that_latex_obeys():
    cells = [["†", "a_1 & 50% \\x{} #~^$"], ["≤ 0.001", "– <|>"]]
    lines = tables.Table("", ["words", "$x"], cells).latex().splitlines()
    assert [lines[2], *lines[4:6]] == [
        r"words & \$x \\",
        r"\dag{} & a\_1 \& 50\% \textbackslash{}x\{\} \#\textasciitilde{}\textasciicircum{}\$ \\",
        r"$\le$ 0.001 & -- \textless{}\textbar{}\textgreater{} \\",
    ]
