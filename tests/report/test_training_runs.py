"""The table of trainings follows from the run folders, or else from the evaluations' records."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from helpers.reversal import reversal_experiment, write_reversal_corpus
from helpers.small_training import train
from helpers.synthetic_translations import evaluated, translated
from helpers.toy_evaluation import settings

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.comparison import Comparison, compare_systems
from seq2seq.evaluation.evaluate import evaluate
from seq2seq.report.figures import learning_curves
from seq2seq.report.training_runs import training_notes, training_runs, training_table

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
    "command": ["train.py", "training.precision=fp32", "output=/secret/place"],
    "hardware": {"processor": "Abacus 3", "threads": "2", "torch": "9.9"},
    "git_commit": "0123456789abcdef",
    "git_modified": False,
}


def write_run(folder: Path, losses: list[float], **record: object) -> Path:
    """A run folder as training leaves it; an epoch is 2.25 updates."""
    entries: list[dict[str, object]] = [
        {"kind": "validation", "update": n, "loss": loss, "epoch": n / 2.25, "bleu": 10.0 * n}
        for n, loss in enumerate(losses, start=1)
    ]
    entries += [
        {"kind": "train", "update": 1, "loss": 9.0, "tokens_per_second": speed}
        for speed in (100.4, 9_000.0, 2_000.0)
    ]
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(RECORD | record))
    lines = "".join(json.dumps(e) + "\n" for e in entries)
    (folder / "metrics.jsonl").write_bytes(b"\xff damaged\n" + lines.encode() + b"{cut")
    return folder


def compared(*folders: Path) -> Comparison:
    """Comparison of an evaluation of each run folder."""
    evaluations = []
    for number, folder in enumerate(folders):
        training = json.loads((folder / "run.json").read_text())
        made = {"checkpoint": str(folder / "checkpoints" / "best"), "training": training}
        texts = translated({5: 3}, lambda n: 0.8)
        evaluations.append(evaluated(folder / "e", texts, "attention", number, **made))
    return compare_systems(evaluations, None, EvaluationConfig(bootstrap=100))


def test_a_row_follows_from_its_folder(tmp_path):
    """Epochs end at updates 2.25, 4.5, 6.75 and 9; an epoch before the end comes update 6."""
    losses = [3.0, 2.0, 1.5, 1.25, 1.25, 1.3, 1.1, 1.0, 1.2]
    young = write_run(tmp_path / "b", [], seed=None, status="running", reason=None, progress={})
    (young / "metrics.jsonl").unlink()
    table = training_table(training_runs(compared(write_run(tmp_path / "a", losses), young)))
    assert dict(zip(table.columns, table.rows[0], strict=True)) == {
        "run": "attention, seed 3",
        "parameters": "1,234,567",
        "precision": "float32",
        "pairs": "1,234",
        "updates": "9",
        "epochs": "4",
        "best after": "8",
        "best dev loss": "1.0000",
        "best dev BLEU": "90.0",
        "target tokens/s": "2,000",
        "minutes": "1.5",
        "ended by": "max_epochs=4",
    }
    assert table.rows[1][4:] == ["0"] * 3 + ["–"] * 3 + ["0.0", "running"]


def test_trainings_are_found_by_their_evaluations(tmp_path):
    run = write_run(tmp_path / "run", [2.0])
    texts = translated({5: 3}, lambda n: 0.8)
    made = {"checkpoint": str(run / "checkpoints" / "best"), "training": RECORD, "seed": 3}
    evaluation = evaluated(tmp_path / "e", texts, "attention", **made)
    member = {"training": {**RECORD, "seed": 4, "reason": "patience"}}
    pair = evaluated(tmp_path / "p", texts, "ensemble2", None, members=[member, {"training": None}])
    given = evaluated(tmp_path / "g", texts, "other", None, search="given")
    comparison = compare_systems([evaluation, pair, given], None, EvaluationConfig(bootstrap=100))
    live, recorded = training_runs(comparison)
    assert ([one.loss for one in live.validations], recorded.validations) == ([2.0], [])
    assert recorded.record.name == "attention, seed 4"
    said = "\n".join(training_notes(comparison, [live, recorded]))
    assert "`python scripts/train.py training.precision=fp32`" in said
    assert "Abacus 3, 2 threads" in said
    assert "0123456789" in said
    assert "secret" not in said
    # The run went on, and found a better checkpoint.
    write_run(tmp_path / "longer", [2.0] * 12)
    (tmp_path / "longer" / "metrics.jsonl").replace(run / "metrics.jsonl")
    longer = RECORD | {"reason": "max_epochs=8", "progress": {"update": 12, "best_update": 12}}
    (run / "run.json").write_text(json.dumps(longer))
    tested = training_runs(comparison)[0]
    assert tested.record == live.record
    assert [one.update for one in tested.validations] == [*range(1, 10)]
    # Another run is there now.
    (run / "run.json").write_text(json.dumps(RECORD | {"data_sha256": {"train.source": "0f"}}))
    assert training_runs(comparison)[0].validations == []


def test_trainings_of_two_experiments_are_told_apart(tmp_path):
    texts, evaluations = translated({5: 3}, lambda n: 0.8), []
    for name in ("one", "two"):
        run = write_run(tmp_path / name, [2.0, 1.0], experiment=name)
        made = {"experiment": name, "checkpoint": str(run / "checkpoints" / "best")}
        training = json.loads((run / "run.json").read_text())
        member = {"training": training | {"seed": 4}}
        made |= {"training": training, "seed": 3}
        evaluations.append(evaluated(run / "e", texts, "attention", **made))
        pair = {"experiment": name, "members": [member]}
        evaluations.append(evaluated(run / "p", texts, "pair", None, **pair))
    runs = training_runs(compare_systems(evaluations, None, EvaluationConfig(bootstrap=100)))
    names = {f"{name}/attention, seed {seed}" for name in ("one", "two") for seed in (3, 4)}
    assert {row[0] for row in training_table(runs).rows} == names
    figure = learning_curves(runs)
    named = {str(line.get_label()): line.get_color() for line in figure.axes[0].lines}
    curves = {name: colour for name, colour in named.items() if not name.startswith("_")}
    assert curves.keys() == {"one/attention", "two/attention"}
    assert len({*curves.values()}) == 2


def test_losses_in_other_pieces_are_said_not_to_compare(tmp_path):
    def caveat(*records):
        evaluations = [
            evaluated(tmp_path / str(n), translated({5: 9}, lambda n: 0.8), f"s{n}", **record)
            for n, record in enumerate(records)
        ]
        compared = compare_systems(evaluations, "s0", EvaluationConfig(bootstrap=100))
        return any("do not compare" in note for note in training_notes(compared, []))

    fixed, additive = ({"model": {"attention": {"kind": kind}}} for kind in ("fixed", "additive"))
    short, long = ({"corpus": {"train_max_words": most, "mirror": "a"}} for most in (30, 50))
    assert not caveat({"config": fixed}, {"config": additive})
    assert not caveat({"config": {**fixed, **short}}, {"config": {**additive, **short}})
    different = {"config": {**fixed, **long}}, {"config": {**additive, **short}}
    assert caveat(*different)
    one, other = ({"training": {"data_sha256": {"train.source": of}}} for of in ("0f", "1f"))
    assert not caveat(one, {"members": [one, one]}, {"search": "given"})
    assert caveat(one, {"members": [one, other]})
    assert caveat(one, other)


def test_what_training_writes_is_what_is_read(tmp_path):
    write_reversal_corpus(tmp_path / "corpus")
    config = reversal_experiment(tmp_path, max_epochs=2, validate_every=10, log_every=2)
    folder = train(config).path
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    validations = [e for e in map(json.loads, lines) if e["kind"] == "validation"]
    (evaluation,) = evaluate(settings(folder, data=str(tmp_path / "data")))
    assert evaluation.record.config == asdict(config) | {
        "decoding": evaluation.record.config["decoding"]
    }
    (run,) = training_runs(compare_systems([evaluation], None, evaluation.settings))
    assert run.config == evaluation.record.config
    assert [one.loss for one in run.validations] == [e["loss"] for e in validations]
    (cells,) = training_table([run]).rows
    assert cells[0] == "attention, seed 1"
    assert "–" not in cells


@pytest.mark.parametrize("content", [None, "{", "[" * 100_000, "[]"])
def test_what_is_no_run_folder_is_passed_over(tmp_path, content):
    folder = write_run(tmp_path / "a", [2.0])
    comparison = compared(folder)
    (folder / "run.json").unlink()
    if content is not None:
        (folder / "run.json").write_text(content)
    (run,) = training_runs(comparison)
    assert run.validations == []
