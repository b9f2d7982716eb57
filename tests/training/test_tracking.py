"""What a tracker receives: a stand-in for Weights & Biases, TensorBoard itself."""

import signal
import sys
from types import SimpleNamespace

import pytest
from helpers.reversal import reversal_experiment, with_optimizer
from helpers.small_training import CLOCK, metrics, train, train_until

from seq2seq.distributed import ProcessGroup
from seq2seq.errors import UserError
from seq2seq.interruption import Interrupted
from seq2seq.training.metrics import start_tracker
from seq2seq.training.run_folder import RunFolder


class StandIn:
    """What is used of wandb; it refuses a run that it does not know."""

    def __init__(self):
        self.runs = {}
        """Id -> config, and (update, name, value) of all that was sent."""
        self.ended = 0

    def init(self, *, project, name, config, id, resume):
        now = id or "some id"
        _, sent = self.runs[id] if id else ({}, [])
        self.runs[now] = config, sent

        def log(values, step):
            sent.extend((step, name, value) for name, value in values.items())

        return SimpleNamespace(id=now, log=log, finish=self.finish)

    def finish(self):
        self.ended += 1
        raise ConnectionError("the server is gone")


def test_a_resumed_training_continues_its_tracked_run(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", tracker := StandIn())
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
    with pytest.raises(UserError, match=r"training\.logger=wandb"):
        start_tracker(run.path, run.config, 0)


def test_a_training_that_fails_ends_its_tracked_run_too(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", tracker := StandIn())
    monkeypatch.setattr("seq2seq.training.trainer.MOST_NONFINITE", 0)
    config = reversal_experiment(folder, logger="wandb")
    with pytest.raises(UserError, match="not finite"):
        train(with_optimizer(config, learning_rate=9e18))
    assert tracker.ended == 1


def test_a_missing_package_is_named_and_only_the_first_process_needs_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    config = reversal_experiment(folder, logger="wandb", max_updates=1)
    with pytest.raises(UserError, match="pip install wandb"):
        train(config)
    monkeypatch.setattr(ProcessGroup, "is_first", False)
    train(config)


def test_tensorboard_shows_updates_that_are_made_again_once(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = RunFolder(reversal_experiment(tmp_path, logger="tensorboard"))
    for loss, first in ((1.0, 1), (2.0, 4)):  # the second process resumes after update 3
        log, close = start_tracker(run.path, run.config, first - 1)
        for update in range(first, first + 5):
            log({"train/loss": loss}, update)
        close()
    events = EventAccumulator(str(run.path / "tensorboard"))
    events.Reload()
    shown = {event.step: event.value for event in events.Scalars("train/loss")}
    assert shown == {**dict.fromkeys(range(1, 4), 1.0), **dict.fromkeys(range(4, 9), 2.0)}
