"""What compare writes: parts that agree, the same bytes for the same evaluations, no leftovers."""

import csv
import dataclasses
import json
import re
import shutil
from pathlib import Path

import pytest
from helpers.page_material import SETTINGS, material
from helpers.synthetic_translations import evaluated, translated, two_seeds

from seq2seq.config import CompareConfig
from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import Comparison, compare_systems
from seq2seq.evaluation.folder import read_evaluation
from seq2seq.evaluation.translations import AttentionMap
from seq2seq.report.compare import alignment_tables, compare
from seq2seq.report.findings import conclusion, findings
from seq2seq.report.tables import bleu_table

FILES = ["figure.pdf", "figure.png", "figure.svg", "page.html", "scores.json"]
FILES += ["table.csv", "table.md", "table.tex"]
SCORE = {"links": 8, "sure": 4, "aer": 0.125, "precision": 0.5, "recall": 0.75}
ALIGNMENT = {"shifts": dict.fromkeys(("-1", "0", "1"), SCORE), "diagonal": SCORE}


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> list[str]:
    qualities = {"fixed": lambda n: 0.9 - n / 60, "additive": lambda n: 0.9}
    made = two_seeds(tmp_path_factory.mktemp("runs"), qualities, {5: 20, 40: 20})
    return [str(evaluation.directory) for evaluation in made]


def run(folders: list[str], output: Path, baseline: str = "fixed") -> Comparison:
    return compare(
        CompareConfig(
            evaluations=folders, output=str(output), evaluation=SETTINGS, baseline=baseline
        )
    )


def test_the_report_is_written_and_its_parts_agree(tmp_path, folders):
    written = tmp_path / "new" / "report"
    returned = run(folders, written)
    assert sorted(path.name for path in written.iterdir()) == FILES
    table = (written / "table.md").read_text(encoding="utf-8")
    numbers = json.loads((written / "scores.json").read_text(encoding="utf-8"))
    compared = compare_systems([read_evaluation(Path(f)) for f in folders], "fixed", SETTINGS)
    for system, stored in zip(compared.systems, numbers["systems"], strict=True):
        assert stored["rows"] == [dataclasses.asdict(row) for row in system.rows]
    assert numbers["gaps"][0]["rows"][-1] == dataclasses.asdict(compared.gaps[0].rows[-1])
    assert numbers["findings"] == findings(compared)
    assert all(f"- {finding}\n" in table for finding in numbers["findings"])
    assert f"![{conclusion(compared)}](figure.svg)" in table
    header, *rows = csv.reader((written / "table.csv").read_text(encoding="utf-8").splitlines())
    assert header == ["system", "source words", "n", "BLEU", "low", "high"]
    assert [(name, label, *map(float, cells)) for name, label, *cells in rows] == [
        (system.name, row.words, row.sentences, row.bleu, row.bleu_low, row.bleu_high)
        for system in compared.systems
        for row in system.rows
        if row.sentences
    ]
    assert (written / "table.tex").read_text(encoding="utf-8") == bleu_table(compared).latex()
    assert (written / "figure.pdf").read_bytes().startswith(b"%PDF")
    assert [system.rows for system in returned.systems] == [s.rows for s in compared.systems]


def test_a_pattern_names_many_folders_and_their_order_changes_no_byte(tmp_path, folders):
    root = Path(folders[0]).parent.parent
    run([f"{root}/*/[12]"], tmp_path / "one")
    run(folders[::-1], tmp_path / "other")
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


@pytest.mark.slow
def test_what_models_said_is_drawn_and_files_of_an_earlier_comparison_go(tmp_path, folders):
    folder = tmp_path / "a"
    maps = [AttentionMap(0, ["a", "b"], ["A"], [[0.25, 0.75]])]
    texts = dataclasses.replace(translated({5: 20, 40: 20}, lambda n: 0.8), maps=maps)
    evaluated(folder, texts, "with $5/..", 1)
    evaluated(tmp_path / "b", texts, "with $5_..", 1)
    (folder / "alignment.json").write_text(json.dumps(ALIGNMENT))
    run([*folders, str(folder), str(tmp_path / "b")], tmp_path / "report")
    assert "| with $5/.., seed 1 | 0.125 |" in (tmp_path / "report" / "table.md").read_text()
    drawn = sorted(path.name for path in (tmp_path / "report").glob("attention-*.png"))
    assert drawn == ["attention-with__5_...png", "attention-with__5_.._.png"]
    (tmp_path / "report" / "attention-mine.png").write_text("the user's own")
    run(folders, tmp_path / "report")
    left = sorted(path.name for path in (tmp_path / "report").iterdir())
    assert left == ["attention-mine.png", *FILES]


def test_alignments_of_two_experiments_are_told_apart(tmp_path):
    texts, evaluations = translated({5: 3}, lambda n: 0.8), []
    for name in ("one", "two"):
        evaluations.append(evaluated(tmp_path / name, texts, "attention", 1, experiment=name))
        (tmp_path / name / "alignment.json").write_text(json.dumps(ALIGNMENT))
    (table,) = alignment_tables(compare_systems(evaluations, None, SETTINGS))
    assert [row[0] for row in table.rows] == ["one/attention, seed 1", "two/attention, seed 1"]


@pytest.mark.slow
def test_labels_are_the_names_in_all_that_is_written(tmp_path, folders):
    labels = {"fixed": "one vector", "additive": "with attention"}
    output = tmp_path / "report"
    config = CompareConfig(
        evaluations=folders, output=str(output), evaluation=SETTINGS, labels=labels,
        baseline="additive", baselines={"fixed": "additive"},
    )  # fmt: skip
    (gap,) = compare(config).gaps
    assert (gap.system, gap.baseline) == ("one vector", "with attention")
    for name in ("table.md", "table.tex", "table.csv", "page.html"):
        text = (output / name).read_text(encoding="utf-8")
        assert all(label in text for label in labels.values())
        assert "additive" not in text
    for wrong, key in (({"fixed": "x", "additive": "x"}, "x"), ({"fixed": "additive"}, "additive")):
        with pytest.raises(UserError, match=f"called '{key}'"):
            compare(dataclasses.replace(config, labels=wrong))
    with pytest.raises(UserError, match=r"labels=fixt .* fixed"):
        compare(dataclasses.replace(config, labels={"fixt": "x"}))


@pytest.mark.slow
def test_models_that_were_asked_have_all_figures(tmp_path):
    evaluations = material(tmp_path / "material")
    run([str(one.directory) for one in evaluations], tmp_path / "report")
    names = {path.stem for path in (tmp_path / "report").glob("*.svg")}
    assert names == {
        "figure", "focus", "loss-by-position",
        "attention-additive", "attention-__title___dot_",
    }  # fmt: skip
    page = (tmp_path / "report" / "page.html").read_text(encoding="utf-8")
    titles = re.findall("<summary>(.*)</summary>\n<figure>", page)
    said = re.findall('<img alt="([^"]*)"', page)
    assert len({*titles, *said}) == 2 * (len(names) - 1)
    assert all("additive" in text or "title" in text for text in said)


def test_a_refusal_writes_nothing(tmp_path, folders):
    missing = shutil.copytree(folders[0], tmp_path / "copy")
    (missing / "counts.npz").unlink()
    for named, baseline, key in (
        ([], "fixed", "evaluations"),
        (folders, "additiv", "additiv"),
        ([*folders, str(tmp_path / "nowhere")], "fixed", "nowhere"),
        ([str(missing)], "fixed", "counts.npz"),
    ):
        with pytest.raises(UserError, match=key):
            run(named, tmp_path / "report", baseline)
    assert not (tmp_path / "report").exists()
    mine = shutil.copytree(folders[0], tmp_path / "mine")
    with pytest.raises(UserError, match=f"output={mine}"):
        run(folders, mine)
    assert read_evaluation(mine).rows == read_evaluation(Path(folders[0])).rows
