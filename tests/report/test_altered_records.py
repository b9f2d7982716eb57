"""What ``compare`` reads may be altered in any place: it is read, or refused in one sentence."""

import copy
import functools
import hashlib
import json
import operator
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.page_material import SETTINGS
from helpers.synthetic_translations import translated

from seq2seq.config import CompareConfig, check
from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import compare_systems
from seq2seq.evaluation.folder import read_evaluation, write_evaluation
from seq2seq.evaluation.translations import AttentionMap, ReferenceScores, Translations
from seq2seq.record import EvaluationRecord
from seq2seq.report import compare
from seq2seq.report.training_runs import training_notes, training_runs, training_table

TRAINING = {
    "experiment": "trial", "system": "additive", "seed": 1, "status": "finished", "reason": "max_",
    "precision": "bf16", "progress": {"update": 9, "best_update": 5, "epoch": 1, "seconds": 60.0},
    "parameters": {"total": 5}, "training_pairs": 9, "data_sha256": {"train.source": "0"},
    "command": ["train.py"], "git_commit": "0", "git_modified": False, "earlier_commits": ["1"],
    "hardware": {"device": "cpu", "processor": "x", "threads": "1", "torch": "2"},
}  # fmt: skip
CONFIG = {"corpus": {"train_max_words": 30}, "model": {"attention": {"kind": "additive"}}}
RECORD = {
    **TRAINING, "training": TRAINING, "members": [{"seed": 1, "training": TRAINING}], "maps": [1],
    "config": CONFIG, "corpus": "grammar", "test_set": "test", "search": "beam5",
    "checkpoint": "a/b", "identity": {"search": {"beam": 5}},
}  # fmt: skip
DELETED = object()
VALUES = [None, -1, 0.5, "\x1b[2J", [5], {"a": []}, 10**400, True, DELETED]
DEEP = functools.reduce(lambda inner, _: {"training": inner}, range(400), {})


def whole(folder: Path) -> Path:
    """An evaluation folder with every part."""
    words = translated({3: 2, 12: 1}, lambda n: 0.8)
    maps = [AttentionMap(0, ["a", "b"], ["A"], [[0.25, 0.75]])]
    scores = ReferenceScores([-7.5] * 3, [2] * 3)
    columns = {**vars(words), "maps": maps, "reference_scores": scores}
    write_evaluation(folder, Translations(**columns), SETTINGS, check("", RECORD, EvaluationRecord))
    return folder


def places(data: object, *way: object) -> Iterator[tuple[object, ...]]:
    """The way to each member of JSON data; of a list its first member stands for all."""
    members = data if isinstance(data, dict) else [0] if isinstance(data, list) and data else ()
    for member in members:
        yield (*way, member)
        yield from places(data[member], *way, member)


def reseal(folder: Path) -> None:
    """Make the digests agree, as one who alters a file on purpose would."""
    scores = json.loads((folder / "scores.json").read_text())
    for name in scores["sha256"]:
        scores["sha256"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "scores.json").write_text(json.dumps(scores))


def alterations(data: object) -> Iterator[object]:
    """The data with another value, or none, at each place."""
    for number, way in enumerate(places(data)):
        for value in VALUES[number % 9 :: 5]:
            altered = copy.deepcopy(data)
            parent = functools.reduce(operator.getitem, way[:-1], altered)
            parent[way[-1]] = value
            if value is DELETED:
                del parent[way[-1]]
            yield altered


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scores.json", "sentences.json"])
def test_an_altered_record_is_read_or_refused(name, tmp_path, monkeypatch):
    folder = whole(tmp_path / "evaluation")
    monkeypatch.setattr(compare, "render", lambda lay_out, **_: {"svg": bytes(lay_out() is None)})
    monkeypatch.setattr(compare, "render_page", lambda *_: b"")
    table = tmp_path / "report" / "table.md"
    config = CompareConfig(evaluations=[str(folder)], output=str(table.parent), evaluation=SETTINGS)
    content = json.loads((folder / name).read_text())
    content.pop("rows", None)  # written for other programs: compare counts them itself
    refused = read = 0
    for altered in alterations(content):
        (folder / name).write_text(json.dumps(altered))
        if name == "sentences.json":
            reseal(folder)
        try:
            compare.compare(config)
            assert "\x1b" not in table.read_text()
            read += 1
        except UserError:
            refused += 1
    assert refused > read  # most have another type


def test_a_record_of_great_depth_is_refused(tmp_path):
    folder = whole(tmp_path)
    scores = json.loads((folder / "scores.json").read_text())
    (folder / "scores.json").write_text(json.dumps({**scores, "record": {**RECORD, **DEEP}}))
    with pytest.raises(UserError, match="damaged"):
        read_evaluation(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run.json", "metrics.jsonl"])
@pytest.mark.parametrize("value", ["x", [1], None, {"a": "x"}])
def test_an_altered_training_is_shown_or_passed_over(name, value, tmp_path):
    run = tmp_path / "run"
    folder = whole(run / "evaluations" / "test-beam5")
    entry = {"kind": "validation", "update": 5, "loss": 1.0, "bleu": 2.0, "bleu_by_length": {}}
    files = {"run.json": TRAINING, "metrics.jsonl": entry}
    comparison = compare_systems([read_evaluation(folder)], None, SETTINGS)
    for key in files[name]:
        for file, content in files.items():
            altered = {**content, key: value} if file == name else content
            (run / file).write_text(json.dumps(altered) + "\n")
        runs = training_runs(comparison)
        assert training_table(runs).rows
        assert training_notes(comparison, runs)
