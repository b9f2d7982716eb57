"""What metrics.jsonl keeps."""

import json

import pytest

from seq2seq.training.metrics import Metrics


def test_metrics_rewind_to_an_update_and_survive_a_torn_line(tmp_path):
    metrics = Metrics(tmp_path, tensorboard=False)
    for update in (10, 20, 30):
        metrics.add({"kind": "train", "update": update, "tokens_per_second": 1.0})
    with metrics.path.open("a") as file:
        file.write('{"update": 1}\n{"kind": ["train"], "update": 2, "tokens_per_second": 1.0}\n')
        file.write('{"kind": "validation", "update": 3, "loss": "low"}\n{"kind": "tra')
    metrics.rewind(20)
    assert [entry["update"] for entry in metrics.read()] == [10, 20]
    lines = metrics.path.read_text().strip().split("\n")
    assert [json.loads(line)["update"] for line in lines] == [10, 20]


def test_tensorboard_events_are_written_when_asked_for(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for sitting, first in ((1.0, 1), (2.0, 4)):  # the second begins again after update 3
        metrics = Metrics(tmp_path, tensorboard=True)
        metrics.rewind(first - 1)
        for update in range(first, first + 5):
            entry = {"kind": "train", "update": update, "loss": sitting}
            metrics.add({**entry, "tokens_per_second": 1.0})
        metrics.close()
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    shown = {event.step: event.value for event in events.Scalars("train/loss")}
    assert shown == {**dict.fromkeys(range(1, 4), 1.0), **dict.fromkeys(range(4, 9), 2.0)}
