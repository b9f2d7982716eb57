"""A run whose limits grow ends like one that had them from the start."""

import dataclasses
import json
import shlex
import signal
import sys
from functools import partial

import pytest
from helpers.commands import TOY
from helpers.composing import compose, compose_config, compose_runs
from helpers.reversal import reversal_experiment, with_optimizer
from helpers.small_training import CPU, outcome, train, train_until

from seq2seq.checkpoint import load_checkpoint
from seq2seq.errors import UserError
from seq2seq.experiment import reproduce_runs
from seq2seq.interruption import Interrupted
from seq2seq.record import TrainingRecord
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.validation import Validator

pytestmark = pytest.mark.unchecked


def limited(config, **limits):
    return dataclasses.replace(config, training=dataclasses.replace(config.training, **limits))


def elsewhere(config):
    return dataclasses.replace(config, output=f"{config.output}-whole")


def stored_config(run):
    return json.loads((run.path / "config.json").read_text())


INVERSE = {"schedule": "inverse_sqrt", "warmup_updates": 3}
UPDATES = {"validate_every": 5, "log_every": 3, "early_stopping_metric": "bleu"}
GROWTH = [
    # at the end of an epoch, with a validation
    ({"schedule": "constant"}, {}, [{"max_epochs": 1}, {"max_epochs": 2}]),
    # with an average that is no longer the newest weights
    ({"schedule": "average"}, UPDATES, [{"max_updates": 13}, {"max_updates": 19}]),
    # between two validations and two lines of metrics, with patience for no more of them
    (
        INVERSE,
        {**UPDATES, "patience": 1},
        [{"max_updates": 7}, {"max_updates": 9}, {"max_updates": 11}],
    ),
    # in the middle of an epoch, by patience, as no dev sentence is ever right
    ({"schedule": "constant"}, UPDATES, [{"patience": 2}, {"patience": 9}]),
]


@pytest.mark.parametrize(("optimizer", "settings", "growth"), GROWTH)
def test_bit_for_bit_as_if_the_limits_had_been_so(folder, monkeypatch, optimizer, settings, growth):
    monkeypatch.setattr("seq2seq.training.validation.bleu", lambda counts: 0.0)
    config = with_optimizer(reversal_experiment(folder, **settings), **optimizer)
    runs = [limited(config, **limits) for limits in growth]
    ends = [train(run).record().progress.update for run in runs]
    assert ends == sorted({*ends})
    run, whole = RunFolder(config), train(elsewhere(runs[-1]))
    assert outcome(run) == outcome(whole)
    assert {**stored_config(run), "output": ""} == {**stored_config(whole), "output": ""}


def test_a_validation_at_the_first_end_does_not_decide_which_checkpoint_is_best(
    folder, monkeypatch
):
    """It is the best one of the run that ended there; the longer run does not make it."""
    config = reversal_experiment(folder, validate_every=5, max_updates=7, keep_last=1)
    validate, losses = Validator.run, iter([2.0, 1.0, 3.0, 3.0, 2.0, 3.0, 3.0])
    monkeypatch.setattr(
        Validator, "run", lambda self: dataclasses.replace(validate(self), loss=next(losses))
    )
    run = train(config)
    assert load_checkpoint(run.path, CPU).state.progress.update == run.record().progress.update == 7
    longer = limited(config, max_updates=15)
    assert outcome(train(longer)) == outcome(train(elsewhere(longer)))
    assert load_checkpoint(run.path, CPU).state.progress.update == 5


def test_what_is_trained_beyond_smaller_limits_is_finished(folder, caplog):
    config = reversal_experiment(folder)
    run = train(config)
    before = outcome(run), stored_config(run)
    with caplog.at_level("INFO"):
        train(limited(config, max_epochs=1))
    assert (outcome(run), stored_config(run)) == before
    assert "max_epochs=1" in caplog.messages[-1]
    # A limit that would have changed nothing is as good as the one before.
    train(limited(config, max_updates=20))
    assert stored_config(run)["training"]["max_updates"] == 20


def test_a_patience_that_would_have_ended_the_training_before_is_not_stored(folder, monkeypatch):
    """It went on after two validations without improvement, and ends after two others."""
    validate, losses = Validator.run, iter([2.0, 3.0, 3.0, 1.0, 3.0, 3.0, 3.0])
    monkeypatch.setattr(
        Validator, "run", lambda self: dataclasses.replace(validate(self), loss=next(losses))
    )
    config = reversal_experiment(folder, max_epochs=6)
    for limits, stored in (
        ({"patience": 5}, {"max_epochs": 6, "patience": 5}),
        ({"patience": 2}, {"max_epochs": 6, "patience": 5}),
        ({"max_epochs": 9, "patience": 3}, {"max_epochs": 9, "patience": 3}),
        ({"max_epochs": 6, "patience": 1}, {"max_epochs": 9, "patience": 3}),
    ):
        run = train(limited(config, **limits))
        assert {key: stored_config(run)["training"][key] for key in stored} == stored
    assert run.record().progress.epoch == 7


def test_an_unfinished_run_that_smaller_limits_end_keeps_the_larger_ones(folder):
    config = reversal_experiment(folder)
    run, _ = train_until(config, 14, partial(signal.raise_signal, signal.SIGINT), Interrupted)
    before = stored_config(run)
    assert train(limited(config, max_epochs=1)).record().progress.update == 14
    assert stored_config(run) == before
    assert outcome(train(config)) == outcome(train(elsewhere(config)))


@pytest.mark.parametrize("limit", ["training.max_epochs", "+systems.attention.training.max_epochs"])
@pytest.mark.parametrize("script", ["train", "reproduce"])
def test_a_rate_that_depends_on_the_limits_is_refused_with_a_command(
    folder, monkeypatch, script, limit
):
    typed = ["experiment=smoke", "name=my run", f"output={folder}/it's", f"{limit}=5"]

    def composed(words):
        return compose_runs(words) if script == "reproduce" else [compose_config(script, words)]

    config, *_ = composed(typed)
    run = RunFolder(limited(config, max_epochs=3))
    run.claim()
    with pytest.raises(UserError, match=r"max_epochs=5.*training\.max_epochs=3") as refused:
        RunFolder(config).claim()
    assert "training.init_from" not in str(refused.value)
    run.write_record(TrainingRecord(status="finished"))
    monkeypatch.setattr(sys, "orig_argv", ["python", f"scripts/{script}.py", *typed])
    with pytest.raises(UserError, match=r"training\.max_epochs=5") as refused:
        RunFolder(config).claim()
    _, command = str(refused.value).split("run: ")
    _, path, *words = shlex.split(command)
    assert path == f"scripts/{script}.py"
    for one in composed(words)[: 1 if "systems" in limit else None]:
        parent = run.path.parent.with_name(one.system) / "seed-1"
        assert one.training.init_from == str(parent)
        assert (one.training.max_epochs, one.name != config.name) == (2, True)
    command = ["python", f"scripts/{script}.py", "--multirun"]
    for started in (["python", "my_own.py"], ["python", "-m", "ipykernel_launcher"], command):
        monkeypatch.setattr(sys, "orig_argv", started)
        with pytest.raises(UserError, match=r"set name=my run-longer, .*max_epochs=2\.$"):
            RunFolder(config).claim()
    with pytest.raises(UserError, match=r"training\.max_epochs was 3"):
        RunFolder(limited(config, max_epochs=2)).claim()
    RunFolder(limited(config, max_epochs=3, patience=99)).claim()


def test_of_several_systems_the_unfinished_one_is_refused_first(folder):
    words = ["experiment=smoke", *TOY, f"output={folder}/outputs", f"data={folder}/data"]
    longer = compose("reproduce", [*words, "training.max_epochs=5"])
    finished, unfinished = map(RunFolder, compose_runs([*words, "training.max_epochs=3"]))
    unfinished.claim()
    for begun in (False, True):
        if begun:
            finished.claim()
            finished.write_record(TrainingRecord(status="finished"))
        with pytest.raises(UserError, match=f"^{unfinished.path}.*max_epochs=3"):
            reproduce_runs(*longer)
        assert finished.path.exists() == begun  # no folder is left by a refused command


def test_no_system_is_trained_if_the_text_of_a_finished_one_has_changed(folder):
    words = ["experiment=smoke", *TOY, f"output={folder}/outputs", f"data={folder}/data"]
    first, second = map(RunFolder, compose_runs(words))
    second.claim()
    second.write_record(TrainingRecord(status="finished", data_sha256={"train.en": "other"}))
    with pytest.raises(UserError, match=rf"^{second.path} was trained on another text"):
        reproduce_runs(*compose("reproduce", words))
    assert not first.path.exists()


@pytest.mark.parametrize("schedule", ["constant", "linear"])
def test_the_advice_at_the_end_is_one_that_works(folder, caplog, schedule):
    config = with_optimizer(reversal_experiment(folder, max_epochs=1), schedule=schedule)
    with caplog.at_level("INFO"):
        run = train(config)
    assert "best near the end" in run.record().reason
    (said,) = [line for line in caplog.messages if "training.max_epochs=2" in line]
    renamed = "name=reversal-longer" in said
    assert renamed == (schedule == "linear")
    longer = limited(config, max_epochs=2)
    longer = dataclasses.replace(longer, name="reversal-longer" if renamed else longer.name)
    assert train(longer).record().progress.epoch == 2
