"""A training that is stopped anywhere, and continued, ends like one that was not."""

import dataclasses
import itertools
import os
import random
import shutil
import signal
import sys
from types import SimpleNamespace

import pytest
import torch
from helpers.reversal import reversal_experiment, with_optimizer
from helpers.small_training import children, content, outcome, train, train_until

from seq2seq.data.tokenization import TextCodec
from seq2seq.errors import UserError
from seq2seq.files import write_json
from seq2seq.interruption import Interrupted, Interruption
from seq2seq.training import trainer as trainer_module
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.trainer import Trainer

pytestmark = pytest.mark.unchecked


BETWEEN = {"validate_every": 5, "log_every": 3}
BLEU = {**BETWEEN, "early_stopping_metric": "bleu"}
CASES = [  # of stops: place and signal, or at smaller limits; without a signal, the power goes
    # between two lines of metrics and two validations, with two micro-batches
    ("average", {**BETWEEN, "gradient_accumulation": 2}, [(7, signal.SIGTERM)]),
    ("linear", {**BETWEEN, "precision": "bf16"}, [(7, signal.SIGINT), (9,)]),
    # in the first validation, when only the best checkpoint is saved, and in the last
    ("inverse_sqrt", {"max_epochs": 1}, [(("update-10", 10),)]),
    ("average", {**BETWEEN, "max_updates": 6, "save_minutes": 0.0}, [(("best", 6),)]),
    # by a limit, and by one that is smaller than what is trained already
    ("average", {}, [{"max_epochs": 1}, (4, signal.SIGINT), {"max_epochs": 1}]),
    # between two validations, which leaves no trace, with patience for no more of them
    ("average", {**BLEU, "patience": 1}, [{"max_updates": 7}, {"max_updates": 9}]),
    ("inverse_sqrt", BETWEEN, [{"max_updates": 7}, (2, signal.SIGTERM), (4,)]),
    # by patience, in the middle of an epoch
    ("linear", {**BLEU, "patience": 9}, [{"patience": 2}]),
]


@pytest.mark.parametrize(("schedule", "settings", "stops"), CASES)
@pytest.mark.slow
def test_stopped_anywhere_and_continued(folder, monkeypatch, schedule, settings, stops):
    """No BLEU is better than that at the end after update 7, between two validations."""
    validate = Trainer._validate

    def scored(self, last=False):
        score = 9.0 if self.progress.update == 7 else 0.0
        monkeypatch.setattr("seq2seq.training.validation.bleu", lambda counts: score)
        validate(self, last)

    monkeypatch.setattr(Trainer, "_validate", scored)
    config = reversal_experiment(folder, **settings)
    config = with_optimizer(config, schedule=schedule, warmup_updates=3)
    for stop in stops:
        if isinstance(stop, dict):
            training = dataclasses.replace(config.training, **stop)
            train(dataclasses.replace(config, training=training))
        else:
            train_until(config, *stop)
    assert outcome(train(config)) == outcome(train(dataclasses.replace(config, name="whole")))


def train_and_die(config, fatal):
    """Train, but be killed at the ``fatal``-th file operation of the run."""
    torch.set_num_threads(1)
    os.fsync = lambda descriptor: None  # as in conftest.py
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
        child = children.Process(target=train_and_die, args=(config, chance.randint(1, 200)))
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
    assert outcome(train(config)) == outcome(train(dataclasses.replace(config, name="whole")))


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "USR1", "USR2", "XCPU"])
def test_a_signal_is_kept_for_later_unless_it_is_ignored(name):
    number = signal.Signals[f"SIG{name}"]
    found = signal.signal(number, signal.SIG_DFL)  # nohup ignores SIGHUP
    with Interruption() as interruption:
        signal.raise_signal(number)
        assert interruption.received == number
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(number) == signal.SIG_DFL
    assert Interrupted(number, "").status == (0 if number == signal.SIGTERM else 128 + number)
    signal.signal(number, signal.SIG_IGN)  # as by nohup
    with Interruption() as interruption:
        signal.raise_signal(number)
        assert interruption.received is None
    assert signal.signal(number, found) == signal.SIG_IGN


def test_the_state_is_saved_once_so_many_minutes_have_passed(folder, monkeypatch):
    """Updates take 20 seconds, and nothing else takes any time; all processes' time is counted."""
    update, now, seen = Trainer._update, [1000.0], set()

    def slow(self, batches):
        now[0] += 20
        seen.update(path.name for path in self.folder.newest())
        update(self, batches)

    monkeypatch.setattr(Trainer, "_update", slow)
    monkeypatch.setattr(trainer_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    config = reversal_experiment(folder, save_minutes=1.0)
    train_until(config, 16)
    assert train(config).record().progress.seconds == 400
    interim = {"interim-4", "interim-8", "interim-14", "interim-18"}  # 15 was lost
    assert seen == {*interim, "update-10"}  # which validations save


@pytest.mark.parametrize("damage", ["optimizer.safetensors", "state.json"])
def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before(folder, damage):
    config = reversal_experiment(folder, validate_every=5, max_updates=15)
    run = train(config)
    expected, newest = outcome(run), run.checkpoint(15)
    record = dataclasses.replace(run.record(), status="running", git_commit="0" * 40)
    write_json(run.path / "run.json", record)
    (newest / damage).write_bytes((newest / damage).read_bytes()[:-9])
    with (run.path / "metrics.jsonl").open("ab") as file:
        file.write(b'\n{"kind": "train", "up\xffdate": 4}\n[5]\n{"update": "x"}\n{"kind": "tra')
    assert outcome(train(config)) == expected
    assert run.record().earlier_commits == ["0" * 40]
    assert newest.with_name("update-15.damaged").is_dir()


@pytest.mark.parametrize("remove", [True, False])
def test_a_run_without_an_intact_checkpoint_is_not_begun_again_over_it(folder, remove):
    run = train(reversal_experiment(folder))
    for checkpoint in run.newest():
        shutil.rmtree(checkpoint) if remove else (checkpoint / "state.json").write_text("{}")
    before = content(run)
    with pytest.raises(UserError, match="update-"):
        train(reversal_experiment(folder, max_epochs=3))
    assert content(run) == before


def test_another_vocabulary_or_text_is_refused(folder, monkeypatch):
    config = reversal_experiment(folder, validate_every=5)
    run = train_until(config, 8)
    with monkeypatch.context() as patch:
        patch.setattr(TextCodec, "encodes_like", lambda self, other: False)
        with pytest.raises(UserError, match="update-5"):
            train(config)
    assert [path.name for path in run.newest()] == ["update-5"]
    text = folder / "corpus" / "train.target"
    text.write_text(text.read_text().replace("A", "Z", 1))
    with pytest.raises(UserError, match=r"train\.target"):
        train(config)
