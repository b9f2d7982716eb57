"""What a tracker receives: stand-ins for Weights & Biases and MLflow, TensorBoard itself."""

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
    """What is used of both packages; it refuses a run that it does not know."""

    def __init__(self):
        self.runs = {}
        """Id -> config, and (update, name, value) of all that was sent."""
        self.ended = 0

    def init(self, *, project, name, config, id, resume):
        self.start_run(id, name)
        self.log_params(config)
        return SimpleNamespace(id=self.now, log=self.log_metrics, finish=self.end_run)

    def start_run(self, run_id, run_name):
        self.now = run_id or f"id-{len(self.runs)}"
        self.config, self.sent = self.runs[run_id] if run_id else ({}, [])
        self.runs[self.now] = self.config, self.sent
        return SimpleNamespace(info=SimpleNamespace(run_id=self.now))

    def log_params(self, config):
        self.config.update(config)

    def log_metrics(self, values, step, synchronous=False):
        self.sent += [(step, name, value) for name, value in values.items()]

    def set_experiment(self, name):
        assert name == "mine"

    def end_run(self):
        self.ended += 1
        raise ConnectionError("the server is gone")


@pytest.mark.parametrize("logger", ["wandb", "mlflow"])
def test_a_resumed_training_continues_its_tracked_run(logger, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, logger, tracker := StandIn())
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "mine")
    config = reversal_experiment(folder, logger=logger)
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
    with pytest.raises(UserError, match=rf"training\.logger={logger} does not start"):
        start_tracker(logger, run.path, {}, 0)


@pytest.mark.parametrize("logger", ["wandb", "mlflow"])
def test_a_training_that_fails_ends_its_tracked_run_too(logger, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, logger, tracker := StandIn())
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "mine")
    monkeypatch.setattr("seq2seq.training.trainer.MOST_NONFINITE", 0)
    config = reversal_experiment(folder, logger=logger)
    with pytest.raises(UserError, match="not finite"):
        train(with_optimizer(config, learning_rate=9e18))
    assert tracker.ended == 1


def test_a_missing_package_is_named_and_only_the_first_process_needs_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    config = reversal_experiment(folder, logger="mlflow", max_updates=1)
    with pytest.raises(UserError, match="pip install mlflow"):
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
