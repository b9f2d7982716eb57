"""Metrics of several updates, and what trackers receive."""

import signal
import sys
import time
from unittest.mock import Mock

import pytest
from helpers.reversal import reversal_experiment
from helpers.small_training import CLOCK, metrics, train, train_until

from seq2seq.checkpoint import MetricsState
from seq2seq.distributed import ProcessGroup
from seq2seq.errors import UserError
from seq2seq.training.metrics import IntervalMetrics, start_tracker
from seq2seq.training.run_folder import RunFolder


def test_an_interval_averages_over_tokens_and_updates():
    state = MetricsState(finite=[[30.0, 1.0, 10], [60.0, 3.0, 20]])
    entry = IntervalMetrics(state, tokens=35, started=time.monotonic() - 1000).entry()
    assert (entry["loss"], entry["gradient_norm"]) == (3.0, 2.0)
    assert entry["tokens_per_second"] == pytest.approx(0.035, rel=0.01)
    assert IntervalMetrics().entry()["loss"] is None  # all updates were skipped


def test_a_resumed_training_continues_its_tracked_run(folder, monkeypatch):
    """The server is gone in the end, which fails no training."""
    tracked = Mock(id="some id", **{"finish.side_effect": ConnectionError})
    monkeypatch.setitem(sys.modules, "wandb", wandb := Mock(**{"init.return_value": tracked}))
    config = reversal_experiment(folder, logger="wandb")
    train_until(config, 7, signal.SIGINT)
    run = train(config)
    first, second = wandb.init.call_args_list
    assert (first.kwargs["id"], second.kwargs["id"]) == (None, "some id")
    assert first.kwargs["config"]["training.optimizer.learning_rate"] == 0.005
    assert tracked.finish.call_count == 2
    sent = [
        (call.args[1], name, value)
        for call in tracked.log.call_args_list
        for name, value in call.args[0].items()
        if name.partition("/")[2] not in CLOCK
    ]
    assert sent == [
        (entry["update"], f"{entry['kind']}/{name}", value)
        for entry in metrics(run)
        for name, value in entry.items()
        if name != "update" and isinstance(value, int | float)
    ]


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
