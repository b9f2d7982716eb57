import csv
import dataclasses
import io
import json

import pytest
from synthetic_translations import evaluated, translated

from seq2seq.config import CompareConfig, EvaluationConfig
from seq2seq.errors import UserError
from seq2seq.evaluation.scores import AttentionMap
from seq2seq.report.comparison import compare

SETTINGS = EvaluationConfig(bootstrap=100)
FILES = ("comparison.json", "figure.png", "figure.svg", "page.html", "table.csv", "table.md")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    made = []
    for name, quality in {"fixed": lambda n: 0.9 - n / 60, "additive": lambda n: 0.9}.items():
        for seed in (1, 2):
            directory = root / name / f"seed-{seed}"
            evaluated(directory, translated({5: 20, 40: 20}, quality, seed), name, seed)
            made.append(str(directory))
    return made


def run(folders, output, baseline="fixed"):
    return compare(
        CompareConfig(
            evaluations=folders, output=str(output), evaluation=SETTINGS, baseline=baseline
        )
    )


def test_the_report_is_written_and_its_parts_agree(tmp_path, folders):
    report = run(folders, tmp_path / "new" / "report")
    written = tmp_path / "new" / "report"
    assert report.directory == written
    assert sorted(path.name for path in written.iterdir()) == list(FILES)
    assert (written / "table.md").read_text(encoding="utf-8") == report.markdown

    numbers = json.loads((written / "comparison.json").read_text(encoding="utf-8"))
    assert numbers["findings"] == report.findings
    assert numbers["systems"] == [dataclasses.asdict(s) for s in report.comparison.systems]
    table = list(csv.DictReader(io.StringIO((written / "table.csv").read_text(encoding="utf-8"))))
    in_json = {
        (system["name"], row["words"]): row
        for system in numbers["systems"]
        for row in (*system["buckets"], system["overall"])
    }
    for line in table:
        row = in_json[line["system"], line["words"]]
        for name in ("bleu", "bleu_low", "bleu_high", "chrf"):
            assert line[name] == ("" if row[name] is None else repr(row[name]))
            if name == "bleu" and row[name] is not None:
                assert f"{row[name]:.1f} [" in report.markdown
    for finding in report.findings:
        assert f"- {finding}\n" in report.markdown


def test_of_each_system_that_attends_a_few_maps_are_drawn(tmp_path, folders):
    weights = AttentionMap(0, ["a", "b"], ["A"], [[0.25, 0.75]])
    attends = tmp_path / "a"
    texts = dataclasses.replace(translated({5: 20, 40: 20}, lambda n: 0.8), maps=[weights])
    evaluated(attends, texts, "with $5/..", 1)
    run([*folders, str(attends)], tmp_path / "report")
    drawn = sorted(path.name for path in (tmp_path / "report").glob("attention-*"))
    assert drawn == ["attention-with__5_...png", "attention-with__5_...svg"]

    (tmp_path / "report" / "attention-mine.png").write_text("the user's own")
    run(folders, tmp_path / "report")  # without the one that attends
    left = sorted(path.name for path in (tmp_path / "report").iterdir())
    assert left == ["attention-mine.png", *FILES]


def test_the_order_of_the_folders_changes_no_byte(tmp_path, folders):
    run(folders, tmp_path / "one")
    run(folders[::-1], tmp_path / "other")
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_no_folders_are_refused(tmp_path):
    with pytest.raises(UserError) as refused:
        run([], tmp_path / "report")
    assert str(refused.value) == (
        "evaluations is empty; name the evaluation folders to compare, "
        "such as evaluations=[first/folder,second/folder]."
    )


def test_a_refusal_writes_nothing(tmp_path, folders):
    with pytest.raises(UserError, match="baseline=additiv is none of the systems compared"):
        run(folders, tmp_path / "report", baseline="additiv")
    with pytest.raises(UserError, match="There is no evaluation folder"):
        run([*folders, str(tmp_path / "nowhere")], tmp_path / "report")
    assert not (tmp_path / "report").exists()
