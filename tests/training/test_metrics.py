"""What metrics.jsonl keeps."""

import json

import pytest
import torch

from seq2seq.training.metrics import Metrics, Window


def test_metrics_rewind_to_an_update_and_survive_a_torn_line(tmp_path):
    metrics = Metrics(tmp_path, tensorboard=False)
    for update in (10, 20, 30):
        metrics.add({"kind": "train", "update": update, "loss": 1.0})
    with metrics.path.open("a") as file:
        file.write('{"kind": "tra')
    metrics.rewind(20)
    assert [entry["update"] for entry in metrics.read()] == [10, 20]
    lines = metrics.path.read_text().strip().split("\n")
    assert [json.loads(line)["update"] for line in lines] == [10, 20]


def test_tensorboard_events_are_written_when_asked_for(tmp_path):
    pytest.importorskip("tensorboard")
    metrics = Metrics(tmp_path, tensorboard=True)
    metrics.add({"kind": "train", "update": 1, "loss": 0.5})
    metrics.close()
    assert any((tmp_path / "tensorboard").iterdir())


def test_a_window_averages_over_tokens_and_updates():
    window = Window()
    window.add(torch.tensor(30.0), torch.tensor(1.0), 10)
    window.add(torch.tensor(60.0), torch.tensor(3.0), 20)
    entry = window.entry()
    assert entry["loss"] == pytest.approx(3.0)
    assert entry["gradient_norm"] == pytest.approx(2.0)
    assert entry["tokens_per_second"] > 0
    assert entry["waiting_for_data"] == 0


def test_a_window_tells_the_share_of_time_spent_waiting():
    window = Window()
    window.started -= 10
    window.wait(1.5)
    window.wait(1.0)
    window.add(torch.tensor(1.0), torch.tensor(1.0), 1)
    assert window.entry()["waiting_for_data"] == pytest.approx(0.25, rel=0.01)
