"""What compare reads may be altered; what it writes is the same for the same evaluations."""

import functools
import itertools
import json
import shutil
from dataclasses import asdict

import pytest
from helpers.page_material import LABELS, SETTINGS, write_report
from helpers.synthetic_translations import evaluated, translated

from seq2seq.errors import UserError
from seq2seq.record import EvaluationRecord, TrainingRecord
from seq2seq.report import compare

FILES = ["figure.pdf", "figure.svg", "page.html", "scores.json", "table.md", "table.tex"]
TEXTS = translated({5: 20, 40: 20}, lambda n: 0.9)
TRAINING = {
    **asdict(TrainingRecord(system="additive", seed=1, status="finished", training_pairs=9)),
    "parameters": {"total": 5},
    "data_sha256": {"train.source": "0"},
    "command": ["train.py"],
    "earlier_commits": ["1"],
}
VALIDATION = {"kind": "validation", "update": 5, "loss": 1.0, "bleu": 2.0, "bleu_by_length": {}}
RECORD = {
    **asdict(EvaluationRecord(system="additive", corpus="grammar", checkpoint="a/b", maps=[1])),
    "members": [{"seed": 1, "training": TRAINING}],
    "config": {"corpus": {"train_max_words": 30}, "model": {"attention": {"kind": "additive"}}},
    "identity": {"search": {"beam": 5}},
}
DEEP = functools.reduce(lambda inner, _: {"training": inner}, range(400), {})
VALUES = itertools.cycle([None, -1, 0.5, "\x1b[2J", [5], {"a": []}, 10**400, True, "x", [1], DEEP])


def alterations(data):
    """The data with other values, or none, at each place; of a list at the first."""
    if isinstance(data, list):
        yield from ([inner, *data[1:]] for inner in alterations(data[0] if data else None))
    elif isinstance(data, dict):
        for key in data:
            yield {other: data[other] for other in data if other != key}
            others = itertools.chain(itertools.islice(VALUES, 1), alterations(data[key]))
            yield from ({**data, key: other} for other in others)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scores.json", "run.json", "metrics.jsonl"])
def test_an_altered_record_is_read_or_refused_in_one_sentence(name, tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "render_page", lambda *_: b"")
    folder, refused = tmp_path / "run" / "evaluations" / "test", 0
    evaluated(folder, translated({3: 2, 12: 1}, lambda n: 0.8), settings=SETTINGS, **RECORD)
    for file, entry in (("run.json", TRAINING), ("metrics.jsonl", VALIDATION)):
        (tmp_path / "run" / file).write_text(json.dumps(entry) + "\n")
    path = next(tmp_path.rglob(name))
    content = json.loads(path.read_text())
    content.pop("rows", None)  # written for other programs: compare counts them itself
    for altered in [*map(json.dumps, alterations(content)), "{", "[" * 100_000, "[]"]:
        path.write_text(altered)
        try:
            output, _ = write_report([str(folder)], tmp_path / "report", None)
            assert "\x1b" not in (output / "table.md").read_text()
        except UserError:
            refused += 1
    assert (refused > 0) == (name == "scores.json")  # a training that is not there is passed over


def test_each_figure_is_a_file_and_no_name_is_markup(report):
    folder, comparison = report
    assert [system.name for system in comparison.systems] == [*LABELS.values()]
    maps = {path.stem for path in folder.glob("attention-*.svg")}
    assert maps == {"attention-_5___title__..", "attention-_5___title__.._"}
    for name in ("table.md", "table.tex", "page.html"):
        text = (folder / name).read_text(encoding="utf-8")
        assert text.count("</title>") == (name == "page.html")


@pytest.mark.slow
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
    _, comparison = write_report([f"{tmp_path}/fixed", f"{tmp_path}/additive"], tmp_path / "report")
    assert {one.directory.name for one in comparison.evaluations} == {"test-beam5"}
