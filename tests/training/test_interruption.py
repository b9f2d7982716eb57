"""A training asked to stop: it ends after the update, and loses nothing."""

import dataclasses
import itertools
import signal
from pathlib import Path

import pytest
import torch
from reversal import reversal_experiment, write_reversal_corpus
from small_training import metrics, train, weights

from seq2seq.training.interruption import Interrupted
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.updater import Updater


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_reversal_corpus(tmp_path / "corpus")
    return tmp_path


def signal_in_update(which: int, monkeypatch: pytest.MonkeyPatch, *numbers: int) -> None:
    """Let these signals come while an update is made."""
    update, made = Updater.update, itertools.count(1)

    def disturbed(self, batches, tokens, sentences):
        if next(made) == which:
            for number in numbers:
                signal.raise_signal(number)
        return update(self, batches, tokens, sentences)

    monkeypatch.setattr(Updater, "update", disturbed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_sitting_after_the_update_and_nothing_is_lost(
    folder, monkeypatch, number
):
    """Stopped between two lines of metrics, between two validations, with two micro-batches."""
    config = reversal_experiment(folder, validate_every=5, gradient_accumulation=2, log_every=3)
    whole = train(config)
    other = dataclasses.replace(config, output=str(folder / "other"))
    signal_in_update(7, monkeypatch, number)
    with pytest.raises(Interrupted, match="Stopped after update 7, which is saved in") as stop:
        train(other)
    assert stop.value.status == (130 if number == signal.SIGINT else 0)
    assert signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL)
    run = RunFolder(other)
    assert run.newest()[0].name == "interim-7"
    assert run.record()["status"] == "interrupted"
    monkeypatch.undo()
    resumed = train(other)
    expected, found = weights(whole), weights(resumed)
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert metrics(resumed) == metrics(whole)
    assert [path.name for path in run.newest()] == ["update-10", "update-5"]


def test_a_second_ctrl_c_stops_at_once(folder, monkeypatch):
    config = reversal_experiment(folder, validate_every=5)
    signal_in_update(7, monkeypatch, signal.SIGINT, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(config)
    assert RunFolder(config).newest()[0].name == "update-5"


def test_a_signal_in_the_last_update_still_ends_the_sitting(folder, monkeypatch):
    """Whoever asked to stop does not want the evaluation that would come next."""
    config = reversal_experiment(folder, validate_every=5)
    signal_in_update(10, monkeypatch, signal.SIGINT)
    with pytest.raises(Interrupted) as stop:
        train(config)
    assert stop.value.status == 130
    monkeypatch.undo()
    train(config)
    assert RunFolder(config).record()["status"] == "finished"
