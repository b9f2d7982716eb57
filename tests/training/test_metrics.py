"""What metrics.jsonl keeps, and what an interval of updates adds up to."""

import json

import numpy as np
import pytest
import torch

from seq2seq.training.metrics import IntervalMetrics, JsonlLog, Update


def made(number: int, likelihood: float, norm: float, tokens: int, taken: bool = True) -> Update:
    likelihood, norm, taken = map(torch.tensor, (likelihood, norm, taken))
    return Update(number, np.array([3, 1]), tokens, likelihood, norm, taken)


def test_metrics_rewind_to_an_update_and_survive_damaged_lines(tmp_path):
    metrics = JsonlLog(tmp_path / "metrics.jsonl")
    for update in (10, 20, 30):
        metrics.add({"kind": "train", "update": update})
        metrics.add({"kind": "validation", "update": update})
    with metrics.path.open("ab") as file:
        file.write(b'\n{"kind": "train", "up\xffdate": 4}\n[5]\n{"update": "x"}\n{"kind": "tra')
    metrics.rewind({"train": 20, "validation": 10})
    kept = [json.loads(line) for line in metrics.path.read_text().strip().split("\n")]
    pairs = [(entry["kind"], entry["update"]) for entry in kept]
    assert pairs == [("train", 10), ("validation", 10), ("train", 20)]


def test_an_interval_averages_over_tokens_and_updates_and_leaves_out_skipped_ones():
    interval = IntervalMetrics()
    interval.pending.append(made(1, float("nan"), float("inf"), 5, taken=False))
    assert [update.number for update in interval.fetch()] == [1]
    assert interval.entry()["loss"] is interval.entry()["gradient_norm"] is None
    interval.started -= 1000
    interval.pending += [made(2, 30.0, 1.0, 10), made(3, 60.0, 3.0, 20)]
    assert interval.fetch() == interval.fetch() == []
    entry = interval.entry()
    assert (entry["loss"], entry["gradient_norm"], entry["nonfinite"]) == (3.0, 2.0, 1)
    assert entry["tokens_per_second"] == pytest.approx(0.035, rel=0.01)
