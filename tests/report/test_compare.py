"""What compare writes: the same bytes for the same evaluations, the user's names, no leftovers."""

import shutil

import pytest
from helpers.page_material import LABELS, write_report
from helpers.synthetic_translations import evaluated, translated

from seq2seq.errors import UserError

FILES = ["figure.pdf", "figure.svg", "page.html", "scores.json", "table.md", "table.tex"]
TEXTS = translated({5: 20, 40: 20}, lambda n: 0.9)


def test_each_figure_is_a_file_and_no_name_is_markup(report):
    folder, comparison = report
    assert [system.name for system in comparison.systems] == [*LABELS.values()]
    for form in ("svg", "pdf"):
        assert {path.stem for path in folder.glob(f"*.{form}")} == {
            "figure", "attention-_5___title__..", "attention-_5___title__.._",
        }  # fmt: skip
    for name in ("table.md", "table.tex", "page.html"):
        text = (folder / name).read_text(encoding="utf-8")
        assert text.count("</title>") == (name == "page.html")
    assert text.count('<img alt="Attention maps: $5|&lt;/title&gt;') == 2


def test_earlier_files_go_and_the_order_of_folders_changes_no_byte(report, pair, tmp_path):
    again, root = shutil.copytree(report[0], tmp_path / "again"), pair[0].parent
    (again / "attention-mine.png").write_text("the user's own")
    write_report([f"{root}/*/2", f"{root}/*/1"], again)
    assert sorted(path.name for path in again.iterdir()) == ["attention-mine.png", *FILES]
    for name in FILES:
        assert (again / name).read_bytes() == (pair[0] / name).read_bytes()


@pytest.mark.parametrize(
    ("settings", "gaps"),
    [
        ({"labels": {"b": "B"}}, [("a", "B"), ("c", "B")]),
        ({"baselines": {"a": "c"}, "labels": {"a": "A", "c": "C"}}, [("A", "C")]),
    ],
)
def test_baselines_are_those_of_the_settings_or_else_of_the_experiment(tmp_path, settings, gaps):
    for system in "abc":
        evaluated(tmp_path / system, TEXTS, system, config={"baseline": "b", "system": system})
    _, found = write_report([f"{tmp_path}/?"], tmp_path / "report", None, **settings)
    assert [(gap.system, gap.baseline) for gap in found.gaps] == gaps


def test_run_folders_stand_for_their_evaluations(tmp_path):
    for run in ("fixed", "additive"):
        for name in ("test-beam5", "test-greedy"):
            evaluated(tmp_path / run / "evaluations" / name, TEXTS, run)
    runs = [f"{tmp_path}/fixed", f"{tmp_path}/additive"]
    for named in (runs, [runs[0], f"{runs[1]}/evaluations/test-beam5"]):
        _, comparison = write_report(named, tmp_path / "report")
        assert {one.directory.name for one in comparison.evaluations} == {"test-beam5"}
    for run in runs:
        shutil.copytree(f"{run}/evaluations/test-beam5", f"{run}/evaluations/news-beam5")
    with pytest.raises(UserError, match="news-beam5, test-beam5"):
        write_report(runs, tmp_path / "report")
