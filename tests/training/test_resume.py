"""A training that is stopped anywhere, and continued, ends like one that was not."""

import dataclasses
import itertools
import multiprocessing
import os
import random
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from helpers.reversal import reversal_experiment, with_optimizer
from helpers.small_checkpoint import CPU
from helpers.small_training import before_update, metrics, outcome, train, train_until

from seq2seq.checkpoint import load_checkpoint
from seq2seq.data.preparation import prepare
from seq2seq.data.tokenization import TextCodec
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.errors import UserError
from seq2seq.interruption import STOPS, Interrupted
from seq2seq.training import trainer as trainer_module
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.trainer import Trainer
from seq2seq.training.validation import Validator

pytestmark = pytest.mark.unchecked

# Children of a process that has imported all of it already start within milliseconds.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["seq2seq.training.trainer", "test_resume"])


def elsewhere(config):
    return dataclasses.replace(config, output=f"{config.output}-whole")


def limited(config, **limits):
    return dataclasses.replace(config, training=dataclasses.replace(config.training, **limits))


# -- stopped anywhere ------------------------------------------------------------------------------


def ends(**limits):
    """The training ends at smaller limits than it has afterwards."""
    return lambda config: train(limited(config, **limits))


def signalled(number, update):
    """A signal comes before this update of the process, which is the last one."""

    def stop(config):
        event = partial(signal.raise_signal, number)
        run, ending = train_until(config, update, event, Interrupted)
        assert ending.status == (0 if number == signal.SIGTERM else 128 + number)
        assert signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL)
        assert run.record().status == "interrupted"

    return stop


def power_cut(update):
    return lambda config: train_until(config, update, lambda: 1 / 0, ZeroDivisionError)


def cut_off(name, update):
    """The training is killed when it would save this checkpoint."""

    def stop(config):
        save = Trainer._save

        def save_or_stop(self, folder):
            if (folder.name, self.progress.update) == (name, update):
                raise KeyboardInterrupt
            save(self, folder)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Trainer, "_save", save_or_stop)
            with pytest.raises(KeyboardInterrupt):
                train(config)

    return stop


BETWEEN = {"validate_every": 5, "log_every": 3}
BLEU = {**BETWEEN, "early_stopping_metric": "bleu"}
CASES = [
    # by each signal, between two lines of metrics and two validations, with two micro-batches
    *(("average", {**BETWEEN, "gradient_accumulation": 2}, [signalled(n, 7)]) for n in STOPS),
    ("linear", {**BETWEEN, "precision": "bf16"}, [signalled(signal.SIGINT, 7), power_cut(9)]),
    # in the first validation, when only the best checkpoint is saved, and in the last
    ("inverse_sqrt", {"max_epochs": 1}, [cut_off("update-10", 10)]),
    ("average", {**BETWEEN, "max_updates": 6, "save_minutes": 0.0}, [cut_off("best", 6)]),
    # by a limit: with a validation, and with an average that is no longer the newest weights
    ("constant", {}, [ends(max_epochs=1)]),
    ("average", {**BLEU, "max_updates": 19}, [ends(max_updates=13)]),
    # between two validations, which leaves no trace, with patience for no more of them
    ("inverse_sqrt", {**BLEU, "patience": 1}, [ends(max_updates=7), ends(max_updates=9)]),
    ("average", BETWEEN, [ends(max_updates=7), signalled(signal.SIGTERM, 2), power_cut(4)]),
    # in the middle of an epoch, by patience, as no dev sentence is ever right
    ("average", {**BLEU, "patience": 9}, [ends(patience=2)]),
    ("linear", {**BLEU, "patience": 9}, [ends(patience=2)]),
    # smaller limits than what is trained already
    ("average", {}, [signalled(signal.SIGINT, 14), ends(max_epochs=1)]),
]


@pytest.mark.parametrize(("schedule", "settings", "stops"), CASES)
def test_stopped_anywhere_and_continued(folder, monkeypatch, schedule, settings, stops):
    monkeypatch.setattr("seq2seq.training.validation.bleu", lambda counts: 0.0)
    config = reversal_experiment(folder, **settings)
    config = with_optimizer(config, schedule=schedule, warmup_updates=3)
    for stop in stops:
        stop(config)
    assert outcome(train(config)) == outcome(train(elsewhere(config)))


def test_a_validation_at_the_first_end_does_not_decide_which_checkpoint_is_best(
    folder, monkeypatch
):
    """It is the best one of the run that ended there; the longer run does not make it."""
    config = reversal_experiment(folder, validate_every=5, max_updates=7)
    validate, losses = Validator.run, iter([2.0, 1.0, 3.0, 3.0, 2.0, 3.0, 3.0])
    monkeypatch.setattr(
        Validator, "run", lambda self: dataclasses.replace(validate(self), loss=next(losses))
    )
    run = train(config)
    assert load_checkpoint(run.path, CPU).state.progress.update == run.record().progress.update == 7
    longer = limited(config, max_updates=15)
    assert outcome(train(longer)) == outcome(train(elsewhere(longer)))
    assert load_checkpoint(run.path, CPU).state.progress.update == 5


def train_and_die(config, fatal):
    """Train, but be killed at the ``fatal``-th file operation of the run."""
    torch.set_num_threads(1)
    folder, seen = str(RunFolder(config).path), itertools.count(1)

    def watch(event, arguments):
        of_files = event == "open" or event.startswith(("os.", "shutil."))
        if of_files and folder in str(arguments[:2]) and next(seen) == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    train(config)


@pytest.mark.slow
def test_killed_at_any_moment_and_resumed(folder):
    settings = {"gradient_accumulation": 2, "log_every": 3, "validate_every": 4}
    config = reversal_experiment(folder, save_minutes=0.0, **settings)  # after every update
    torch.set_num_threads(1)
    chance = random.Random(1)
    for _ in range(5):
        child = context.Process(target=train_and_die, args=(config, chance.randint(1, 200)))
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
    assert outcome(train(config)) == outcome(train(elsewhere(config)))


# -- signals ---------------------------------------------------------------------------------------


def test_what_nohup_ignores_stays_ignored(folder):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    patch = before_update(2, partial(signal.raise_signal, signal.SIGHUP))
    assert train(reversal_experiment(folder, max_updates=3)).finished
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


# -- saved -----------------------------------------------------------------------------------------


def test_the_state_is_saved_once_so_many_minutes_have_passed(folder, monkeypatch):
    """Updates take 20 seconds, and nothing else takes any time; all processes' time is counted."""
    update, save, now, saved = Trainer._update, Trainer._save, [1000.0], []

    def slow(self, batches):
        now[0] += 20
        update(self, batches)

    def noting(self, folder):
        saved.append(folder.name)
        save(self, folder)

    monkeypatch.setattr(Trainer, "_update", slow)
    monkeypatch.setattr(trainer_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(Trainer, "_save", noting)
    config = reversal_experiment(folder, save_minutes=1.0)
    power_cut(16)(config)
    assert train(config).record().progress.seconds == 400
    interim = [name for name in saved if name.startswith("interim")]  # validations save it, too
    assert interim == ["interim-4", "interim-8", "interim-14", "interim-18"]  # 15 was lost


# -- damaged or refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["optimizer.safetensors", "state.json"])
def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before(folder, caplog, damage):
    config = reversal_experiment(folder, validate_every=5, max_updates=15)
    run = train(config)
    expected = outcome(run)
    run.write_record(dataclasses.replace(run.record(), status="running"))
    newest = run.checkpoint(15)
    (newest / damage).write_bytes((newest / damage).read_bytes()[:-9])
    caplog.clear()
    assert outcome(train(config)) == expected
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert damage in line
    assert "update-15" in line
    assert newest.with_name("update-15.damaged").is_dir()


@pytest.mark.parametrize("remove", [True, False])
def test_a_run_without_an_intact_checkpoint_is_not_begun_again_over_it(folder, remove):
    run = train(reversal_experiment(folder))
    for checkpoint in run.newest():
        shutil.rmtree(checkpoint) if remove else (checkpoint / "state.json").write_text("{}")
    before = {p: p.read_bytes() for p in run.path.rglob("*") if p.is_file()}
    with pytest.raises(UserError, match="update-"):
        train(reversal_experiment(folder, max_epochs=3))
    assert {p: p.read_bytes() for p in run.path.rglob("*") if p.is_file()} == before


def test_other_vocabularies_or_another_text_are_refused(folder):
    """As when the prepared text was deleted, and prepared again by another tokenizer."""
    config = reversal_experiment(folder, validate_every=5)
    power_cut(8)(config)
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    pieces, counts = data.target.vocabulary.pieces[4:], data.target.vocabulary.counts[4:]
    for vocabulary in (
        Vocabulary(pieces[::-1], counts[::-1]),
        Vocabulary(pieces, [counts[0] + 1, *counts[1:]]),
    ):
        target = TextCodec(data.target.tokenizer, vocabulary)
        with pytest.raises(UserError, match="update-5 has other vocabularies"):
            Trainer(config, dataclasses.replace(data, target=target)).run()
    assert [path.name for path in RunFolder(config).newest()] == ["update-5"]
    text = folder / "corpus" / "train.target"
    text.write_text(text.read_text().replace("A", "Z", 1))
    with pytest.raises(UserError, match=r"train\.target"):
        train(config)


def test_smaller_limits_leave_a_finished_run_alone(folder, caplog):
    run = train(reversal_experiment(folder))
    before = {p: p.read_bytes() for p in run.path.rglob("*") if p.is_file()}
    with caplog.at_level("INFO"):
        train(reversal_experiment(folder, max_epochs=1))
    assert {p: p.read_bytes() for p in run.path.rglob("*") if p.is_file()} == before
    assert "max_epochs=1" in caplog.messages[-1]
    assert metrics(run)[-1]["update"] == 20
