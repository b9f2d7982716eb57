"""What a tracker receives: a stand-in for Weights & Biases, TensorBoard itself."""

import signal
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from helpers.reversal import reversal_experiment, with_optimizer
from helpers.small_training import CLOCK, metrics, train, train_until

from seq2seq.distributed import ProcessGroup
from seq2seq.errors import UserError
from seq2seq.interruption import Interrupted
from seq2seq.training.tracking import start_tracker


class StandIn:
    """What is used of wandb; it refuses a run that it does not know."""

    def __init__(self):
        self.runs = {}
        """Id -> config, and (update, name, value) of all that was sent."""
        self.ended = 0

    def init(self, *, project, name, config, id, resume):
        now = id or f"id-{len(self.runs)}"
        known, self.sent = self.runs[id] if id else ({}, [])
        self.runs[now] = known | config, self.sent
        return SimpleNamespace(id=now, log=self.log, finish=self.finish)

    def log(self, values, step):
        self.sent += [(step, name, value) for name, value in values.items()]

    def finish(self):
        self.ended += 1
        raise ConnectionError("the server is gone")


@pytest.fixture
def tracker(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", tracker := StandIn())
    return tracker


def test_a_resumed_training_continues_its_tracked_run(tracker, folder):
    config = reversal_experiment(folder, logger="wandb")
    train_until(config, 7, lambda: signal.raise_signal(signal.SIGINT), Interrupted)
    run = train(config)
    ((settings, sent),) = tracker.runs.values()
    assert settings["training.optimizer.learning_rate"] == 0.005
    kept = [
        (entry["update"], f"{entry['kind']}/{name}", value)
        for entry in metrics(run)
        for name, value in entry.items()
        if name not in ("kind", "update") and isinstance(value, int | float)
    ]
    assert [one for one in sent if one[1].split("/")[1] not in CLOCK] == kept
    tracker.runs.clear()
    with pytest.raises(UserError, match=r"training\.logger=wandb does not start"):
        start_tracker("wandb", run.path, {}, 0)


def test_a_training_that_fails_ends_its_tracked_run_too(tracker, folder):
    config = reversal_experiment(folder, logger="wandb", max_nonfinite_updates=0)
    with pytest.raises(UserError, match="not finite"):
        train(with_optimizer(config, learning_rate=9e18))
    assert tracker.ended == 1


def test_a_missing_package_is_named_and_only_the_first_process_needs_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    config = reversal_experiment(folder, logger="wandb", max_updates=1)
    with pytest.raises(UserError, match="pip install wandb"):
        train(config)
    second = ProcessGroup()
    second.is_first = False
    train(replace(config, seed=2), second)


def test_tensorboard_shows_updates_that_are_made_again_once(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for loss, first in ((1.0, 1), (2.0, 4)):  # the second process resumes after update 3
        log, close = start_tracker("tensorboard", tmp_path, {}, first - 1)
        for update in range(first, first + 5):
            log({"train/loss": loss}, update)
        close()
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    shown = {event.step: event.value for event in events.Scalars("train/loss")}
    assert shown == {**dict.fromkeys(range(1, 4), 1.0), **dict.fromkeys(range(4, 9), 2.0)}
