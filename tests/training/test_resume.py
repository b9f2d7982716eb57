"""A training stopped, killed or damaged at any moment, and resumed, ends like one that was not."""

import dataclasses
import itertools
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from helpers.reversal import reversal_experiment
from helpers.small_checkpoint import reseal
from helpers.small_training import before_update, metrics, outcome, train, train_until

from seq2seq.checkpoint import TrainingState, load_checkpoint
from seq2seq.config import TrainConfig
from seq2seq.data.preparation import prepare
from seq2seq.data.tokenization import TextCodec
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.errors import UserError
from seq2seq.interruption import STOPS, Interrupted
from seq2seq.training import trainer as trainer_module
from seq2seq.training.checkpoint_manager import CheckpointManager
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.trainer import Trainer

pytestmark = pytest.mark.unchecked

CPU = torch.device("cpu")
KILLS = 5

# Children of a process that has imported all of it already start within milliseconds.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["seq2seq.training.trainer", "test_resume"])


def elsewhere(config: TrainConfig, name: str = "other") -> TrainConfig:
    return dataclasses.replace(config, output=str(Path(config.output).with_name(name)))


def train_until_a_power_cut(config: TrainConfig, updates: int) -> RunFolder:
    """Train, and come to a sudden end after so many updates."""
    return train_until(config, updates + 1, lambda: 1 / 0, ZeroDivisionError)[0]


def unfinished(run: RunFolder) -> None:
    """As if it had been cut off at the end."""
    run.write_record(dataclasses.replace(run.record(), status="running"))


# -- killed ----------------------------------------------------------------------------------------


def train_and_die(config: TrainConfig, fatal: int) -> None:
    """Train, but be killed at the ``fatal``-th file operation of the run."""
    torch.set_num_threads(1)
    folder, seen = str(RunFolder(config).path), itertools.count(1)

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        of_files = event == "open" or event.startswith(("os.", "shutil."))
        if of_files and folder in str(arguments[:2]) and next(seen) == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    train(config)


@pytest.mark.slow
def test_killed_at_any_moment_and_resumed(folder):
    settings = {"gradient_accumulation": 2, "log_every": 3, "validate_every": 4}
    settings["save_minutes"] = 0.0  # after every update
    config = reversal_experiment(folder, **settings)
    torch.set_num_threads(1)
    expected = outcome(train(config))
    chance = random.Random(1)
    again = elsewhere(config)
    for _ in range(KILLS):
        child = context.Process(target=train_and_die, args=(again, chance.randint(1, 200)))
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
    assert outcome(train(again)) == expected


# -- stopped ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "precision"),
    [(signal.SIGINT, "fp32"), (signal.SIGTERM, "bf16"), *((one, "fp32") for one in STOPS[1:])],
)
def test_a_signal_stops_after_the_update_and_nothing_is_lost(folder, number, precision):
    """Between two lines of metrics, between two validations, with two micro-batches."""
    settings = {"validate_every": 5, "gradient_accumulation": 2, "log_every": 3}
    config = reversal_experiment(folder, precision=precision, **settings)
    whole = train(config)
    run, stop = train_until(elsewhere(config), 7, partial(signal.raise_signal, number), Interrupted)
    assert stop.status == (0 if number == signal.SIGTERM else 128 + number)
    assert signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL)
    assert run.newest()[0].name == "interim-7"
    assert run.record().status == "interrupted"
    assert outcome(train(elsewhere(config))) == outcome(whole)
    assert [path.name for path in run.newest()] == ["update-10", "update-5"]


def test_what_nohup_ignores_stays_ignored(folder):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    config = reversal_experiment(folder, max_updates=3)
    patch = before_update(2, partial(signal.raise_signal, signal.SIGHUP))
    assert train(config).finished
    patch.undo()
    assert signal.signal(signal.SIGHUP, signal.SIG_DFL) == signal.SIG_IGN


def test_a_second_ctrl_c_stops_at_once_and_one_in_the_last_update_what_would_follow(folder):
    config = reversal_experiment(folder, validate_every=5, max_epochs=1)
    press = partial(signal.raise_signal, signal.SIGINT)
    run, _ = train_until(config, 7, lambda: [press(), press()], KeyboardInterrupt)
    assert run.newest()[0].name == "update-5"
    train_until(config, 5, press, Interrupted)  # of the resumed training
    assert run.newest()[0].name == "update-10"
    assert train(config).finished


def test_a_thread_that_gets_no_signals_trains(folder):
    with ThreadPoolExecutor() as threads:
        assert threads.submit(train, reversal_experiment(folder, max_updates=1)).result().finished


# -- cut off: what is saved, and when --------------------------------------------------------------


def cut_off(config: TrainConfig, monkeypatch, last: Callable[[Path, TrainingState], bool]) -> None:
    """Train until the checkpoint for which ``last`` is true would be saved."""
    save = CheckpointManager.save

    def save_or_stop(self, directory, state):
        if last(directory, state):
            raise KeyboardInterrupt
        save(self, directory, state)

    with monkeypatch.context() as patched:
        patched.setattr(CheckpointManager, "save", save_or_stop)
        with pytest.raises(KeyboardInterrupt):
            train(config)


def test_a_last_validation_that_is_cut_off_is_not_counted_twice(folder, monkeypatch):
    """The updates are saved by then; the dev loss is in the metrics, but in no checkpoint."""
    config = reversal_experiment(folder, validate_every=4, max_updates=6, save_minutes=0.0)
    whole = train(config)
    cut_off(elsewhere(config), monkeypatch, lambda _, state: state.progress.validated_update == 6)
    assert metrics(train(elsewhere(config))) == metrics(whole)


def test_the_state_is_saved_once_so_many_minutes_have_passed(folder, monkeypatch):
    """Updates take 20 seconds, and nothing else takes any time; all processes' time is counted."""
    update, now = Trainer._update, [1000.0]

    def slow(self, batches):
        now[0] += 20
        update(self, batches)

    save, saved = CheckpointManager.save, []

    def noting(self, directory, state):
        saved.append(directory.name)
        save(self, directory, state)

    monkeypatch.setattr(Trainer, "_update", slow)
    monkeypatch.setattr(trainer_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(CheckpointManager, "save", noting)
    config = reversal_experiment(folder, save_minutes=1.0)
    train_until_a_power_cut(config, 15)
    assert train(config).record().progress.seconds == 400
    interim = [int(name.partition("-")[2]) for name in saved if name.startswith("interim")]
    assert interim == [4, 8, 14, 18]  # validations save it, too; update 15 was lost


# -- damaged ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["optimizer.safetensors", "state.json"])
def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before(folder, caplog, damage):
    config = reversal_experiment(folder, validate_every=5, max_updates=15)
    whole = train(config)
    expected = outcome(whole)
    unfinished(whole)
    newest = whole.checkpoint(15)
    caplog.clear()
    if damage == "state.json":  # of another version, say, with a manifest that agrees
        (newest / damage).write_text('{"progress": {"update": 15}, "metrics": {}}')
        reseal(newest)
    else:
        (newest / damage).write_bytes((newest / damage).read_bytes()[:-9])
    assert outcome(train(config)) == expected
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert damage in line
    assert "update-15" in line
    assert (newest.parent / "update-15.damaged").is_dir()


def test_a_run_without_an_intact_checkpoint_is_not_begun_again_over_it(folder):
    config = reversal_experiment(folder, validate_every=5, max_updates=10)
    run = train(config)
    unfinished(run)
    before = metrics(run)
    for checkpoint in run.newest():
        (checkpoint / "state.json").write_text("{}")
    with pytest.raises(UserError, match=r"state\.json in .*update-10"):
        train(config)
    assert metrics(run) == before
    assert [path.name for path in run.newest()] == ["update-10", "update-5"]


@pytest.mark.parametrize("record", [True, False])
def test_a_best_checkpoint_alone_is_not_trained_over(folder, record):
    run = train(reversal_experiment(folder))
    for checkpoint in run.newest():
        shutil.rmtree(checkpoint)
    if not record:
        (run.path / "run.json").unlink()
    before = {p: p.read_bytes() for p in run.path.rglob("*") if p.is_file()}
    with pytest.raises(UserError, match=r"update-.*best"):
        train(reversal_experiment(folder, max_epochs=3))
    assert {p: p.read_bytes() for p in run.path.rglob("*") if p.is_file()} == before


def test_a_first_validation_cut_off_after_its_best_checkpoint_is_repeated(folder, monkeypatch):
    config = reversal_experiment(folder)
    whole = train(config)
    cut_off(elsewhere(config), monkeypatch, lambda directory, _: directory.name == "update-10")
    (best,) = (RunFolder(elsewhere(config)).path / "checkpoints").iterdir()
    assert best.name == "best"
    assert outcome(train(elsewhere(config))) == outcome(whole)


def test_odd_states_are_resumed(folder):
    """A position beyond its epoch, which would never end, and a best one without a manifest."""
    config = reversal_experiment(folder, validate_every=5)
    run = train_until_a_power_cut(config, 7)
    (run.best / "manifest.json").unlink()
    state = json.loads((run.newest()[0] / "state.json").read_bytes())
    state["progress"]["position"] = 10
    (run.newest()[0] / "state.json").write_text(json.dumps(state))
    reseal(run.newest()[0])
    train(config)
    assert load_checkpoint(run.path, CPU).directory == run.best
    kept = sorted(path.name for path in (run.path / "checkpoints").iterdir())
    assert kept == ["best", "update-20", "update-25"]


def test_other_vocabularies_or_another_text_are_refused(folder):
    """As when the prepared text was deleted, and prepared again by another tokenizer."""
    config = reversal_experiment(folder, validate_every=5)
    run = train_until_a_power_cut(config, 7)
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    pieces, counts = data.target.vocabulary.pieces[4:], data.target.vocabulary.counts[4:]
    for vocabulary in (
        Vocabulary(pieces[::-1], counts[::-1]),
        Vocabulary(pieces, [counts[0] + 1, *counts[1:]]),
    ):
        target = TextCodec(data.target.tokenizer, vocabulary)
        with pytest.raises(UserError, match=r"update-5 has other vocabularies"):
            Trainer(config, dataclasses.replace(data, target=target)).run()
    assert [path.name for path in run.newest()] == ["update-5"]
    text = folder / "corpus" / "train.target"
    text.write_text(text.read_text().replace("A", "Z", 1))
    with pytest.raises(UserError, match=r"train\.target has changed"):
        train(config)
