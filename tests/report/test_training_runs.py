"""Trainings are told as their run folders, or else the evaluations' records, have them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.page_material import SETTINGS
from helpers.reversal import evaluation_of, reversal_experiment, write_reversal_corpus
from helpers.small_training import train
from helpers.synthetic_translations import evaluated, translated

from seq2seq.evaluation.comparison import Comparison, compare_systems
from seq2seq.evaluation.evaluate import evaluate
from seq2seq.record import Hardware, Record
from seq2seq.report import training_runs
from seq2seq.report.training_runs import command, training_table

RECORD = {
    "status": "finished",
    "reason": "max_epochs=4",
    "experiment": "toy",
    "system": "attention",
    "seed": 3,
    "precision": "float32",
    "training_pairs": 1234,
    "parameters": {"total": 1234567},
    "progress": {"update": 9, "epoch": 4, "best_update": 8, "seconds": 90.0},
}
LOSSES = [3.0, 2.0, 1.5, 1.25, 1.25, 1.3, 1.1, 1.0, 1.2]


def write_run(folder: Path, losses: list[float], **record: object) -> dict[str, object]:
    """Write a run folder with two damaged lines; return what its evaluations record of it."""
    entries = [
        {"kind": "validation", "update": n, "loss": loss, "bleu": 10.0 * n}
        for n, loss in enumerate(losses, start=1)
    ]
    for speed in (100.4, 9_000.0, 2_000.0):
        entries.append({"kind": "train", "update": 1, "tokens_per_second": speed})
    lines, training = "".join(json.dumps(entry) + "\n" for entry in entries), RECORD | record
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(json.dumps(training))
    (folder / "metrics.jsonl").write_bytes(b"\xff damaged\n" + lines.encode() + b"{cut")
    return {"checkpoint": str(folder / "checkpoints" / "best"), "training": training}


def compared(folder: Path, **records: dict[str, object]) -> Comparison:
    """A comparison of systems with these records."""
    texts = translated({5: 9}, lambda n: 0.8)
    made = [evaluated(folder / name, texts, name, **of) for name, of in records.items()]
    return compare_systems(made, None, SETTINGS)


def test_a_row_follows_from_its_folder(tmp_path):
    young = {"status": "running", "reason": None, "progress": {}}
    runs = {"a": write_run(tmp_path / "a", LOSSES), "b": write_run(tmp_path / "b", [], **young)}
    (tmp_path / "b" / "metrics.jsonl").unlink()
    table = training_table(training_runs.training_runs(compared(tmp_path / "e", **runs)))
    first, second = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert [*first.values()] == [
        "a, seed 3",
        "1,234,567",
        "float32",
        "1,234",
        "9",
        "4",
        "8",
        "1.0000",
        "90.0",
        "2,000",
        "1.5",
        "max_epochs=4",
    ]
    assert (second["best dev loss"], second["ended by"]) == ("–", "running")


def test_trainings_are_found_by_their_evaluations(tmp_path):
    run = tmp_path / "run"
    alone = write_run(run, [2.0])
    member = {"training": {**RECORD, "experiment": "other", "seed": 4}}
    pair = {"members": [member, {"training": None}], "seed": None}
    comparison = compared(tmp_path, alone=alone, pair=pair, given={"search": "given"})

    def found():
        return training_runs.training_runs(comparison)

    live, recorded = found()
    assert ([one.loss for one in live.validations], recorded.validations) == ([2.0], [])
    names = [live.record.name, recorded.record.name]
    assert names == ["toy/alone, seed 3", "other/attention, seed 4"]
    # The run went on, and found a better checkpoint.
    write_run(run, [2.0] * 12, reason="max_epochs=8", progress={"update": 12, "best_update": 12})
    assert found()[0].record == live.record
    assert [one.update for one in found()[0].validations] == [*range(1, 10)]
    # Another run is there now.
    write_run(run, [2.0], data_sha256={"train.source": "0f"})
    assert found()[0].validations == []


FIXED, DOT = ({"config": {"model": {"attention": {"kind": kind}}}} for kind in ("fixed", "dot"))
SHORT, LONG = ({"config": {"corpus": {"train_max_words": most}}} for most in (30, 50))
ONE, OTHER = ({"training": {"data_sha256": {"train.source": of}}} for of in ("0f", "1f"))


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        (FIXED, DOT, False),
        (ONE, {"members": [ONE, ONE]}, False),
        (ONE, {"search": "given"}, False),
        (SHORT, LONG, True),
        (ONE, OTHER, True),
        (ONE, {"members": [ONE, OTHER]}, True),
    ],
)
def test_losses_in_other_pieces_are_said_not_to_compare(tmp_path, one, other, differ):
    said = training_runs.training_notes(compared(tmp_path, one=one, other=other), [])
    assert any("do not compare" in note for note in said) == differ


def test_what_training_writes_is_what_is_read(tmp_path):
    write_reversal_corpus(tmp_path / "corpus")
    folder = train(reversal_experiment(tmp_path, max_updates=4, validate_every=2, log_every=2)).path
    (evaluation,) = evaluate(evaluation_of(folder, data=str(tmp_path / "data")))
    comparison = compare_systems([evaluation], None, evaluation.settings)
    (run,) = training_runs.training_runs(comparison)
    assert run.config == evaluation.record.config
    assert "–" not in training_table([run]).rows[0]


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("search=beam/5", " search=beam/5"),
        ("e=http://h/x", " e=http://h/x"),
        ("c=/x/y", " c=/x/y"),
        ("checkpoint=/home/me/outputs/a/b/seed-1", " checkpoint=.../b/seed-1"),
        ("m=[/x/a/b/seed-2, /r/of/mine/best]", " 'm=[.../b/seed-2, .../mine/best]'"),
        ("directory=/a", " directory=..."),
        ("+test_texts.news=/d", " +test_texts.news=..."),
        ("data=/here", ""),
        ("corpus.mirror=http://x", ""),
    ],
)
def test_commands_leave_out_where_files_lie(argument, told):
    assert command(["evaluate.py", argument]) == f"python scripts/evaluate.py{told}"


def test_the_commands_of_one_machine_and_precision_are_one_line():
    hardware = Hardware(processor="Abacus 3", threads="2", torch="9.9")
    usual = Record(command=["train.py", "system=a"], hardware=hardware, git_commit="0" * 40)
    others = {
        "1 thread": {"hardware": replace(hardware, threads="1")},
        "Loom 7": {"hardware": replace(hardware, gpu="Loom 7")},
        "bfloat16": {"precision": "bfloat16"},
        "modified": {"git_modified": True},
        "1" * 10: {"git_commit": "1" * 40},
        "a" * 10: {"earlier_commits": ["a" * 40]},
    }
    records = [usual, replace(usual, command=["train.py"])]
    records += [replace(usual, **changes) for changes in others.values()]
    first, *lines = training_runs.describe_environments(records)
    assert first.count("`python scripts/train.py") == 2
    for line, told in zip(lines, others, strict=True):
        assert told in line
        assert told not in first
