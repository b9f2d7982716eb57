"""What ``compare`` reads may be altered in any place: it is read, or refused in one sentence."""

import functools
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from helpers.page_material import SETTINGS, write_report
from helpers.synthetic_translations import evaluated, translated

from seq2seq.errors import UserError
from seq2seq.evaluation.translations import AttentionMap, ReferenceScores
from seq2seq.files import file_digest
from seq2seq.report import compare

TRAINING = {
    "experiment": "trial", "system": "additive", "seed": 1, "status": "finished", "reason": "max_",
    "precision": "bf16", "progress": {"update": 9, "best_update": 5, "epoch": 1, "seconds": 60.0},
    "parameters": {"total": 5}, "training_pairs": 9, "data_sha256": {"train.source": "0"},
    "command": ["train.py"], "git_commit": "0", "git_modified": False, "earlier_commits": ["1"],
    "hardware": {"device": "cpu", "processor": "x", "threads": "1", "torch": "2"},
}  # fmt: skip
VALIDATION = {"kind": "validation", "update": 5, "loss": 1.0, "bleu": 2.0, "bleu_by_length": {}}
RECORD = {
    **TRAINING, "members": [{"seed": 1, "training": TRAINING}], "maps": [1],
    "config": {"corpus": {"train_max_words": 30}, "model": {"attention": {"kind": "additive"}}},
    "corpus": "grammar", "checkpoint": "a/b", "identity": {"search": {"beam": 5}},
}  # fmt: skip
DEEP = functools.reduce(lambda inner, _: {"training": inner}, range(400), {})
VALUES = itertools.cycle([None, -1, 0.5, "\x1b[2J", [5], {"a": []}, 10**400, True, "x", [1], DEEP])


def alterations(data: object) -> Iterator[object]:
    """The data with other values, or none, at each place; of a list at the first."""
    if isinstance(data, list):
        yield from ([inner, *data[1:]] for inner in alterations(data[0] if data else None))
    elif isinstance(data, dict):
        for key in data:
            yield {other: data[other] for other in data if other != key}
            others = itertools.chain(itertools.islice(VALUES, 1), alterations(data[key]))
            yield from ({**data, key: other} for other in others)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scores.json", "sentences.json", "run.json", "metrics.jsonl"])
def test_an_altered_record_is_read_or_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "render_page", lambda *_: b"")
    folder = tmp_path / "run" / "evaluations" / "test"
    losses, maps = ReferenceScores([-7.5] * 3, [2] * 3), [AttentionMap(0, ["a"], ["A"], [[0.25]])]
    texts = replace(translated({3: 2, 12: 1}, lambda n: 0.8), reference_scores=losses, maps=maps)
    evaluated(folder, texts, settings=SETTINGS, **RECORD)
    for file, entry in (("run.json", TRAINING), ("metrics.jsonl", VALIDATION)):
        (tmp_path / "run" / file).write_text(json.dumps(entry) + "\n")
    scores, path = json.loads((folder / "scores.json").read_text()), next(tmp_path.rglob(name))
    content, outcomes = json.loads(path.read_text()), []
    content.pop("rows", None)  # written for other programs: compare counts them itself
    for altered in [*map(json.dumps, alterations(content)), "{", "[" * 100_000, "[]"]:
        path.write_text(altered)
        if name == "sentences.json":  # who alters it on purpose makes the digests agree
            scores["sha256"][name] = file_digest(path)
            (folder / "scores.json").write_text(json.dumps(scores))
        try:
            output, _ = write_report([str(folder)], tmp_path / "report", None)
            assert "\x1b" not in (output / "table.md").read_text()
            outcomes.append("read")
        except UserError:
            outcomes.append("refused")
    gone = name in ("run.json", "metrics.jsonl")  # a training that is not there is passed over
    assert {*outcomes} == ({"read"} if gone else {"read", "refused"})
