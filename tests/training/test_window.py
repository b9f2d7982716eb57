"""What a window of updates adds up to."""

import json

import numpy as np
import pytest
import torch

from seq2seq.training.updater import Update
from seq2seq.training.window import Failure, Window

PAIRS = np.array([3, 1])


def made(likelihood: float, norm: float, tokens: int, taken: bool = True) -> Update:
    return Update(torch.tensor(likelihood), torch.tensor(norm), torch.tensor(taken), tokens)


def test_a_window_averages_over_tokens_and_updates():
    window = Window()
    window.started -= 1000
    window.add(1, made(30.0, 1.0, 10), PAIRS)
    window.add(2, made(60.0, 3.0, 20), PAIRS)
    assert window.settle() == []
    entry = window.entry()
    assert entry["loss"] == pytest.approx(3.0)
    assert entry["gradient_norm"] == pytest.approx(2.0)
    assert entry["skipped"] == 0
    assert entry["tokens_per_second"] == pytest.approx(0.03, rel=0.01)
    assert entry["waiting_for_data"] == 0


def test_skipped_updates_count_as_such_and_nowhere_else():
    window = Window()
    window.add(7, made(30.0, 1.0, 10), PAIRS)
    window.add(8, made(float("nan"), float("inf"), 5, taken=False), PAIRS[:1])
    (failure,) = window.settle()
    assert failure == Failure(8, PAIRS[:1])
    assert window.settle() == []
    entry = window.entry()
    assert (entry["loss"], entry["gradient_norm"], entry["skipped"]) == (3.0, 1.0, 1)


def test_a_window_of_skipped_updates_alone_has_no_loss():
    window = Window()
    window.add(1, made(1.0, float("inf"), 5, taken=False), PAIRS)
    window.settle()
    assert window.entry()["loss"] is None
    assert window.entry()["gradient_norm"] is None


def test_a_window_goes_on_from_its_state_to_the_last_bit():
    torch.manual_seed(0)
    updates = [made(float(x), float(y), 7) for x, y in torch.rand(6, 2) * 1e3]
    whole, first, second = Window(), Window(), Window()
    for number, update in enumerate(updates, start=1):
        whole.add(number, update, PAIRS)
        if number <= 4:
            first.add(number, update, PAIRS)
    first.settle()
    second.restore(json.loads(json.dumps(first.state())))
    for number, update in enumerate(updates[4:], start=5):
        second.add(number, update, PAIRS)
    whole.settle()
    second.settle()
    for name in ("loss", "gradient_norm", "skipped"):
        assert second.entry()[name] == whole.entry()[name]


def test_a_window_tells_the_share_of_time_spent_waiting():
    window = Window()
    window.started -= 10
    window.wait(1.5)
    window.wait(1.0)
    window.add(1, made(1.0, 1.0, 1), PAIRS)
    assert window.entry()["waiting_for_data"] == pytest.approx(0.25, rel=0.01)
