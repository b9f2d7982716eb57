"""Who may use a run folder."""

import contextlib
import dataclasses
import functools
import json
import operator
import re
import shlex

import pytest
from helpers.reversal import reversal_experiment

from seq2seq.config import flatten
from seq2seq.errors import UserError
from seq2seq.record import Progress, TrainingRecord
from seq2seq.training.run_folder import RunFolder

MAY_CHANGE = (
    *("baseline", "data", "output", "evaluation", "corpus.directory", "corpus.mirror", "corpus.sample"),
    "tokenization.workers",
    *("training.device", "training.keep_epochs", "training.keep_last"),
    *("training.max_epochs", "training.max_updates", "training.patience"),
    "training.log_every",
    *("training.logger", "training.max_nonfinite_updates", "training.save_minutes"),
)
"""Settings, or groups of them, that make no other run."""


@pytest.mark.parametrize("metric", ["loss", "bleu"])
def test_every_setting_makes_another_run_but_those_that_may_change(tmp_path, metric):
    folder = RunFolder(reversal_experiment(tmp_path, early_stopping_metric=metric))
    assert folder.path == tmp_path / "outputs" / "reversal" / "attention" / "seed-1"
    folder.claim()
    path = folder.path / "config.json"
    whole = path.read_text()
    for key in flatten(dataclasses.asdict(folder.config)):
        config = json.loads(whole)
        *groups, name = key.split(".")
        functools.reduce(operator.getitem, groups, config)[name] = "another"
        path.write_text(changed := json.dumps(config))
        free = any(key == one or key.startswith(f"{one}.") for one in MAY_CHANGE)
        free &= metric == "loss" or key != "evaluation.tokenize"  # it decides dev BLEU
        refused = pytest.raises(UserError, match=rf"{re.escape(key)} was another and")
        with contextlib.nullcontext() if free else refused:
            folder.claim()
        assert path.read_text() == changed


def test_a_refusal_of_another_config_has_the_command_that_continues_the_run(tmp_path, monkeypatch):
    config = reversal_experiment(tmp_path)
    RunFolder(config).claim()
    changed = dataclasses.replace(
        config, model=dataclasses.replace(config.model, dropout=0.7, embedding_dim=32)
    )
    typed = ["python", "scripts/train.py", "name=reversal", "model.embedding_dim=32"]
    monkeypatch.setattr("sys.orig_argv", typed)
    with pytest.raises(UserError) as refused:
        RunFolder(changed).claim()
    again = shlex.split(str(refused.value).partition("run: ")[2])
    assert sorted(again) == sorted([*typed[:3], "model.embedding_dim=16", "model.dropout=0.1"])


def test_the_tokenizer_of_dev_bleu_may_be_named_as_it_was_chosen(tmp_path):
    config = reversal_experiment(tmp_path, early_stopping_metric="bleu")
    for target, tokenize in (("de", "13a"), ("ja", "ja-mecab")):
        corpus = dataclasses.replace(config.corpus, target=target)
        run = dataclasses.replace(config, name=target, corpus=corpus)
        evaluation = dataclasses.replace(config.evaluation, tokenize=tokenize)
        for same in (run, dataclasses.replace(run, evaluation=evaluation), run):
            RunFolder(same).claim()


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({"max_epochs": 4, "max_updates": 45}, {"max_epochs": 9}),
        ({"max_epochs": 5, "max_updates": 44}, {"max_updates": None}),
        ({"max_epochs": 5, "patience": 2}, {"patience": 7}),
        ({"max_epochs": 10, "max_updates": 45, "patience": 3}, {}),
    ],
)
def test_a_limit_below_what_is_trained_keeps_its_stored_value(tmp_path, limits, kept):
    config = reversal_experiment(tmp_path, max_epochs=9, patience=7)
    RunFolder(config).claim()
    training = dataclasses.replace(config.training, **limits)
    folder = RunFolder(dataclasses.replace(config, training=training))
    folder.write_config(Progress(update=45, epoch=4, position=5, stale=1, most_stale=2))
    stored = json.loads((folder.path / "config.json").read_text())["training"]
    assert stored == {**dataclasses.asdict(training), **kept}


def test_an_epoch_that_comes_after_the_end_is_not_silently_left_out(tmp_path, caplog):
    for kept, warned in (([1, 2], False), ([2, 5], True)):
        settings = {"max_epochs": 2, "keep_epochs": kept}
        RunFolder(reversal_experiment(tmp_path / str(warned), **settings)).claim()
        assert ("training.keep_epochs=[5]" in caplog.text) == warned


def test_two_trainings_of_one_folder_are_refused(tmp_path):
    folder = RunFolder(reversal_experiment(tmp_path))
    folder.claim()
    other = RunFolder(folder.config)
    with folder.lock(), pytest.raises(UserError, match="another process"), other.lock():
        pass
    with folder.lock():
        pass


def test_the_record_says_whether_a_run_is_finished_and_damage_is_refused(tmp_path):
    folder = RunFolder(reversal_experiment(tmp_path))
    folder.claim()
    assert not folder.finished
    assert folder.best_metric is None
    folder.write_record(TrainingRecord(status="finished", progress=Progress(epoch=2)))
    assert folder.finished
    training = dataclasses.replace(folder.config.training, max_epochs=3)
    assert not RunFolder(dataclasses.replace(folder.config, training=training)).finished
    (folder.path / "run.json").write_bytes(b"{\xff}")
    with pytest.raises(UserError, match=r"run\.json"):
        folder.record()
    (folder.path / "config.json").write_text("{")
    with pytest.raises(UserError, match=r"config\.json"):
        folder.claim()
