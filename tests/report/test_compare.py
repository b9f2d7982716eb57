"""What compare writes: parts that agree, the same bytes for the same evaluations, no leftovers."""

import dataclasses
import json
import re
import shutil
from pathlib import Path

import pytest
from helpers.page_material import SETTINGS
from helpers.synthetic_translations import evaluated, translated, two_seeds

from seq2seq.config import CompareConfig
from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import Comparison, compare_systems
from seq2seq.evaluation.folder import read_evaluation
from seq2seq.report.compare import compare
from seq2seq.report.tables import bleu_table, conclusion

FILES = ["figure.pdf", "figure.svg", "page.html", "scores.json", "table.md", "table.tex"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> list[str]:
    qualities = {"fixed": lambda n: 0.9 - n / 60, "additive": lambda n: 0.9}
    made = two_seeds(tmp_path_factory.mktemp("runs"), qualities, {5: 20, 40: 20})
    return [str(evaluation.directory) for evaluation in made]


def run(folders: list[str], output: Path, baseline: str | None = "fixed", **more) -> Comparison:
    more |= {"baseline": baseline, "evaluation": SETTINGS}
    return compare(CompareConfig(evaluations=folders, output=str(output), **more))


@pytest.fixture(scope="module")
def report(tmp_path_factory, folders) -> Path:
    """What compare writes of ``folders``."""
    output = tmp_path_factory.mktemp("new") / "report"
    run(folders, output)
    return output


@pytest.fixture(scope="module")
def labelled(tmp_path_factory, evaluations) -> tuple[Path, Comparison]:
    """What compare writes of models that were asked all they can say; with labels."""
    root = tmp_path_factory.mktemp("labelled")
    shutil.copytree(evaluations[0].directory.parents[1], root / "runs")
    other = evaluations[-1].record.system
    labels = {"fixed": "one vector", "additive": "with $5/..", other: "with $5_.."}
    named = {"labels": labels, "baselines": {"fixed": other}}
    return root / "report", run([f"{root}/runs/*/*"], root / "report", "additive", **named)


def test_the_report_is_written_and_its_parts_agree(report, folders):
    assert sorted(path.name for path in report.iterdir()) == FILES
    table = (report / "table.md").read_text(encoding="utf-8")
    numbers = json.loads((report / "scores.json").read_text(encoding="utf-8"))
    compared = compare_systems([read_evaluation(Path(f)) for f in folders], "fixed", SETTINGS)
    for system, stored in zip(compared.systems, numbers["systems"], strict=True):
        assert stored["rows"] == [row.as_json() for row in system.rows]
    assert numbers["gaps"][0]["rows"][-1] == dataclasses.asdict(compared.gaps[0].rows[-1])
    assert numbers["conclusion"] == conclusion(compared)
    assert table.startswith(f"# {conclusion(compared)}\n")
    assert f"![{conclusion(compared)}](figure.svg)" in table
    assert (report / "table.tex").read_text(encoding="utf-8") == bleu_table(compared).latex()
    assert (report / "figure.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_labels_are_the_names_in_all_that_is_written(labelled):
    output, comparison = labelled
    labels = [system.name for system in comparison.systems]
    assert labels == ["with $5/..", "with $5_..", "one vector"]  # the baseline first
    (gap,) = comparison.gaps
    assert (gap.system, gap.baseline) == ("one vector", "with $5_..")
    for name in ("table.md", "table.tex", "page.html"):
        text = (output / name).read_text(encoding="utf-8").replace("\\", "")  # as LaTeX has "\\$"
        assert all(label in text for label in labels)
        assert "additive" not in text


@pytest.mark.slow
def test_models_that_were_asked_have_all_figures(labelled):
    output, _ = labelled
    names = {path.stem for path in output.glob("*.svg")}
    maps = {"attention-with__5_..", "attention-with__5_.._"}
    assert names == {"figure", *maps} == {path.stem for path in output.glob("*.pdf")}
    page = (output / "page.html").read_text(encoding="utf-8")
    titles = re.findall("<summary>(.*)</summary>\n<figure>", page)
    said = re.findall('<img alt="([^"]*)"', page)
    assert titles == said
    assert len(titles) == len(maps)
    assert all("with $5" in text for text in said)


@pytest.mark.slow
def test_files_of_an_earlier_comparison_go_and_the_order_of_folders_changes_no_byte(
    tmp_path, folders, report, labelled
):
    again = shutil.copytree(labelled[0], tmp_path / "again")
    (again / "attention-mine.png").write_text("the user's own")
    root = Path(folders[0]).parent.parent
    run([f"{root}/*/2", f"{root}/*/1"], again)
    assert sorted(path.name for path in again.iterdir()) == ["attention-mine.png", *FILES]
    for name in FILES:
        assert (again / name).read_bytes() == (report / name).read_bytes()


def test_the_experiment_says_which_system_is_the_baseline(tmp_path):
    config = {"baseline": "fixed", "model": {"attention": {"kind": "fixed"}}}
    for number, system in enumerate(("additive", "fixed")):
        texts = translated({5: 20, 40: 20}, lambda n: 0.9)
        evaluated(tmp_path / str(number), texts, system, config={**config, "system": system})
    for labels in ({}, {"fixed": "one vector"}):
        found = run([f"{tmp_path}/?"], tmp_path / "report", None, labels=labels)
        assert [gap.baseline for gap in found.gaps] == [labels.get("fixed", "fixed")]


def test_run_folders_stand_for_their_evaluations(tmp_path):
    for system in ("fixed", "additive"):
        for name in ("test-beam5", "test-greedy"):
            folder = tmp_path / system / "evaluations" / name
            evaluated(folder, translated({5: 20, 40: 20}, lambda n: 0.9), system)
    runs = [str(tmp_path / system) for system in ("fixed", "additive")]
    mixed = [runs[0], f"{runs[1]}/evaluations/test-beam5"]
    for named in (runs, mixed):
        folders = {e.directory.name for e in run(named, tmp_path / "report").evaluations}
        assert folders == {"test-beam5"}
    for system in runs:
        shutil.copytree(f"{system}/evaluations/test-beam5", f"{system}/evaluations/news-beam5")
    with pytest.raises(UserError, match="news-beam5, test-beam5"):
        run(runs, tmp_path / "report")


def test_a_strangers_name_is_text_in_every_file(tmp_path):
    texts = translated({5: 20, 40: 20}, lambda n: 0.9)
    evaluated(tmp_path / "0", texts, "<img src=x onerror=alert(1)>")
    run([f"{tmp_path}/?"], tmp_path / "report", None)
    assert "<img" not in (tmp_path / "report" / "table.md").read_text()


def test_a_refusal_writes_nothing(tmp_path, folders):
    missing = shutil.copytree(folders[0], tmp_path / "copy")
    (missing / "hypotheses.txt").unlink()
    for named, more, key in (
        (folders, {"baseline": "additiv"}, "additiv"),
        ([*folders, str(tmp_path / "nowhere")], {}, "nowhere"),
        ([str(missing)], {}, "hypotheses.txt"),
        (folders, {"labels": {"fixed": "x", "additive": "x"}}, "called 'x'"),
        (folders, {"labels": {"fixed": "additive"}}, "called 'additive'"),
        (folders, {"labels": {"fixt": "x"}}, r"labels=fixt .* fixed"),
    ):
        with pytest.raises(UserError, match=key):
            run(named, tmp_path / "report", **more)
    assert not (tmp_path / "report").exists()
    mine = shutil.copytree(folders[0], tmp_path / "mine")
    with pytest.raises(UserError, match=f"output={mine}"):
        run(folders, mine)
    assert read_evaluation(mine).rows == read_evaluation(Path(folders[0])).rows
