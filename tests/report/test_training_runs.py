"""The table of training runs follows from the run folders, whichever version wrote them."""

import dataclasses
import json
from pathlib import Path

import pytest
from reversal import reversal_experiment, write_reversal_corpus

from seq2seq.config import to_json
from seq2seq.data.preparation import prepare
from seq2seq.errors import UserError
from seq2seq.report.training_runs import read_training_run, training_runs_markdown
from seq2seq.training.trainer import Trainer

LOSSES = "dev loss 1", "dev loss 2"
UPDATES = 2.25
"""In an epoch."""


def write_run(folder: Path, losses: list[float], precision: str = "fp32", **record: object) -> Path:
    """A run folder as training leaves it, with made-up numbers."""
    config = reversal_experiment(Path("/secret/place"), precision=precision)
    written = {
        "status": "finished",
        "experiment": "toy",
        "system": config.system,
        "precision": {"fp32": "float32", "bf16": "bfloat16"}[precision],
        "kernels": "native",
        "progress": {"seconds": 90.0},
        "command": ["train.py", f"training.precision={precision}", "output=/secret/place"],
        "hardware": {"processor": "Abacus 3", "threads": "2", "torch": "9.9"},
        "git_commit": "0123456789abcdef",
        "git_modified": False,
    }
    entries: list[dict[str, object]] = [
        {"kind": "validation", "update": update, "loss": loss, "epoch": update / UPDATES}
        for update, loss in enumerate(losses, start=1)
    ]
    for speed, waited in ((100.4, 0.5), (9_000.0, 0.01), (2_000.0, 0.02)):
        entries.append(
            {
                "kind": "train",
                "update": 1,
                "loss": 9.0,
                "tokens_per_second": speed,
                "waiting_for_data": waited,
            }
        )
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(to_json(config)))
    (folder / "run.json").write_text(json.dumps(written | record))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(e) + "\n" for e in entries))
    return folder


def table(*folders: Path) -> tuple[list[dict[str, str]], list[str]]:
    """Rows by column, and the lines below them."""
    text = training_runs_markdown([read_training_run(folder) for folder in folders])
    top, _, below = text.partition("\n\n")
    header, _, *rows = [
        [cell.strip() for cell in line.strip("|").split(" |")] for line in top.split("\n")
    ]
    return [dict(zip(header, row, strict=True)) for row in rows], below.split("\n")


def test_a_row_follows_from_its_folder(tmp_path):
    rows, _ = table(
        write_run(tmp_path / "a", [2.5, 2.0]),
        write_run(tmp_path / "b", [2.25, 1.9], precision="bf16", kernels="torch"),
    )
    first, second = rows
    assert first["run"] == "toy/attention, training.precision=fp32"
    assert second["run"] == "toy/attention, training.precision=bf16"
    assert (first["precision"], first["kernels"]) == ("fp32", "native")
    assert (second["precision"], second["kernels"]) == ("bf16", "torch")
    assert [first[column] for column in LOSSES] == ["2.5000", "2.0000"]
    assert [second[column] for column in LOSSES] == ["2.2500", "1.9000"]
    assert (first["against row 1"], second["against row 1"]) == ("", "-5.00%")
    assert first["target tokens/s"] == "2,000"
    assert first["waiting for data"] == "2.0%"
    assert first["minutes"] == "1.5"


def test_what_holds_for_all_is_said_once_and_places_are_not_said(tmp_path):
    folders = [
        write_run(tmp_path / "a", [2.0]),
        write_run(tmp_path / "b", [2.0], precision="bf16"),
    ]
    _, lines = table(*folders, write_run(tmp_path / "c", [2.0]))
    assert lines[2:] == [
        "- Command: `python scripts/train.py training.precision=fp32`. Hardware: Abacus 3, "
        "2 threads, float32; PyTorch 9.9; code `0123456789`.",
        "- Command: `python scripts/train.py training.precision=bf16`. Hardware: Abacus 3, "
        "2 threads, bfloat16; PyTorch 9.9; code `0123456789`.",
    ]
    config = json.loads((folders[1] / "config.json").read_text())
    config["corpus"]["directory"] = "/other/place"  # another machine's
    config["seed"] = 2
    (folders[1] / "config.json").write_text(json.dumps(config))
    rows, _ = table(*folders)
    assert rows[1]["run"] == "toy/attention, seed=2, training.precision=bf16"


def test_losses_of_text_in_other_pieces_are_not_compared(tmp_path):
    folders = [write_run(tmp_path / name, [2.0]) for name in ("a", "b", "c")]
    for folder, group, key in (
        (folders[1], "corpus", "train_max_words"),
        (folders[2], "corpus", "directory"),
    ):
        config = json.loads((folder / "config.json").read_text())
        config[group][key] = "7" if key == "directory" else 7
        (folder / "config.json").write_text(json.dumps(config))
    rows, _ = table(*folders)
    assert [row["against row 1"] for row in rows] == ["", "–", "+0.00%"]
    record = json.loads((folders[2] / "run.json").read_text())
    record["data_sha256"] = {"train.source": "0f"}  # there is other text at the other place
    (folders[2] / "run.json").write_text(json.dumps(record))
    rows, _ = table(*folders)
    assert [row["against row 1"] for row in rows] == ["", "–", "–"]


def test_how_a_training_ended_is_said(tmp_path):
    """Its epochs end at updates 2.25, 4.5, 6.75 and 9; an epoch before the end comes update 6."""
    losses = [3.0, 2.0, 1.5, 1.25, 1.25, 1.3, 1.1, 1.0, 1.2]
    about = {"seed": 3, "parameters": {"total": 1234567}}
    about["progress"] = {"update": 9, "epoch": 4, "seconds": 1.0}
    folders = [
        write_run(tmp_path / "a", losses, reason="max_epochs=4", **about),
        write_run(tmp_path / "b", losses, reason="no better dev loss in 5 validations", **about),
        write_run(tmp_path / "c", [3.0], reason="max_epochs=1", progress={"update": 1, "epoch": 1}),
        write_run(tmp_path / "d", [3.0], progress={"update": 1, "epoch": 0}, status="running"),
    ]
    rows, lines = table(*folders)
    whole = "- toy/attention, seed 3: 9 updates (4 epochs), ended by "
    assert [row["in the last epoch"] for row in rows] == ["-20.00%", "–", "–", "–"]
    assert [row["parameters"] for row in rows] == ["1,234,567", "1,234,567", "–", "–"]
    assert lines[1:5] == [
        f"{whole}max_epochs=4.",
        f"{whole}no better dev loss in 5 validations.",
        "- toy/attention, seed –: 1 update (1 epoch), ended by max_epochs=1.",
        "- toy/attention, unfinished, seed –: 1 update (0 epochs).",
    ]


def test_many_validations_are_shown_by_the_first_the_best_and_the_last(tmp_path):
    rows, _ = table(
        write_run(tmp_path / "a", [6.0, 5.0, 4.0, 1.0, 3.0, 2.0]),
        write_run(tmp_path / "b", [3.0]),
        write_run(tmp_path / "c", []),
    )
    losses = [[row[f"dev loss {which}"] for which in ("first", "best", "last")] for row in rows]
    assert losses == [["6.0000", "1.0000", "2.0000"], ["3.0000"] * 3, ["–"] * 3]
    assert [row["against row 1"] for row in rows] == ["", "+50.00%", "–"]


def test_five_validations_each_have_a_column(tmp_path):
    (row, short), _ = table(
        write_run(tmp_path / "a", [5.0, 4.0, 3.0, 2.0, 1.0]), write_run(tmp_path / "b", [7.0])
    )
    assert [row[f"dev loss {i}"] for i in range(1, 6)] == [f"{6 - i}.0000" for i in range(1, 6)]
    assert [short[f"dev loss {i}"] for i in range(1, 6)] == ["7.0000", "–", "–", "–", "–"]


def test_a_run_under_way_and_an_old_one_can_be_shown(tmp_path):
    running = write_run(tmp_path / "a", [2.0], status="running")
    old = write_run(tmp_path / "b", [2.0])
    record = json.loads((old / "run.json").read_text())
    del record["kernels"]
    (old / "run.json").write_text(json.dumps(record))
    entries = [json.loads(line) for line in (old / "metrics.jsonl").read_text().splitlines()]
    for entry in entries:
        entry.pop("waiting_for_data", None)
    (old / "metrics.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    (running / "metrics.jsonl").unlink()  # not yet written
    (first, second), _ = table(running, old)
    assert first["run"] == "toy/attention, unfinished"
    assert (first["target tokens/s"], first["dev loss 1"]) == ("–", "–")
    assert (second["kernels"], second["waiting for data"]) == ("–", "–")
    assert second["target tokens/s"] == "2,000"


def test_what_training_writes_is_what_is_read(tmp_path):
    write_reversal_corpus(tmp_path / "corpus")
    config = reversal_experiment(tmp_path, max_epochs=2, validate_every=10, log_every=2)
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    folders = []
    for seed in (1, 2):
        run = Trainer(dataclasses.replace(config, seed=seed), data).run()
        folders.append(run.path)
    rows, _ = table(*folders)
    assert [row["run"] for row in rows] == [f"reversal/attention, seed={seed}" for seed in (1, 2)]
    lines = (folders[1] / "metrics.jsonl").read_text().splitlines()
    validations = [e for e in map(json.loads, lines) if e["kind"] == "validation"]
    shown = [rows[1][key] for key in rows[1] if key.startswith("dev loss")]
    assert shown == [f"{e['loss']:.4f}" for e in validations]
    assert rows[0]["kernels"] in ("native", "torch")
    assert "–" not in {cell for row in rows for cell in row.values()}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.json", None, r"holds no training run: it has no run\.json; name a folder that train"),
        ("config.json", None, r"holds no training run: it has no config\.json"),
        ("run.json", "{", r"run\.json is damaged; train this run again"),
        ("config.json", "[]", r"config\.json is damaged"),
        pytest.param("run.json", "[" * 100_000, r"run\.json is damaged", id="nested"),
        (
            "run.json",
            '{"status": "finished", "progress": null}',
            r"run\.json in .* is not the record of a training run; was it altered",
        ),
        ("run.json", "{}", r"run\.json in .* is not the record of a training run; was it altered"),
    ],
)
def test_what_is_no_run_folder_is_one_sentence(tmp_path, name, content, message):
    folder = write_run(tmp_path / "a", [2.0])
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content)
    with pytest.raises(UserError, match=message):
        read_training_run(folder)
