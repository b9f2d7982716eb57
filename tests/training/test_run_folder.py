"""Who may use a run folder."""

import contextlib
import dataclasses
import functools
import json
import operator
import shlex

import pytest
from helpers.reversal import reversal_experiment, with_optimizer

from seq2seq.config import flatten
from seq2seq.errors import UserError
from seq2seq.record import Progress, TrainingRecord
from seq2seq.training.run_folder import RunFolder

MAY_CHANGE = (
    *("baseline", "data", "output", "evaluation", "corpus.directory", "corpus.mirror"),
    *("training.device", "training.keep_epochs", "training.log_every", "training.logger"),
    *("training.max_epochs", "training.max_updates", "training.patience", "training.save_minutes"),
)
"""Settings, or groups of them, that make no other run."""


@pytest.mark.parametrize(("metric", "schedule"), [("loss", "average"), ("bleu", "linear")])
def test_every_setting_makes_another_run_but_those_that_may_change(tmp_path, metric, schedule):
    config = reversal_experiment(tmp_path, early_stopping_metric=metric)
    folder = RunFolder(with_optimizer(config, schedule=schedule))
    assert folder.path == tmp_path / "outputs" / "reversal" / "attention" / "seed-1"
    folder.claim({})
    path = folder.path / "config.json"
    whole = path.read_text()
    fixed = set()
    if schedule == "linear":
        fixed = {"training.max_epochs", "training.max_updates"}  # the rate depends on them
    if metric == "bleu":
        fixed |= {"evaluation.tokenize"}  # it decides dev BLEU
    for key in flatten(dataclasses.asdict(folder.config)):
        config = json.loads(whole)
        *groups, name = key.split(".")
        functools.reduce(operator.getitem, groups, config)[name] = "another"
        path.write_text(changed := json.dumps(config))
        free = any(key == one or key.startswith(f"{one}.") for one in MAY_CHANGE)
        refused = pytest.raises(UserError, match=key)
        with contextlib.nullcontext() if free and key not in fixed else refused:
            folder.claim({})
        assert path.read_text() == changed


def test_a_refusal_of_another_config_has_the_settings_that_continue_the_run(tmp_path):
    config = reversal_experiment(tmp_path)
    RunFolder(config).claim({})
    model = dataclasses.replace(config.model, dropout=0.7, embedding_dim=32)
    with pytest.raises(UserError) as refused:
        RunFolder(dataclasses.replace(config, model=model)).claim({})
    again = str(refused.value).partition("holds a run with ")[2].partition(";")[0]
    assert sorted(shlex.split(again)) == ["model.dropout=0.1", "model.embedding_dim=16"]


def test_two_trainings_of_one_folder_are_refused(tmp_path):
    folder = RunFolder(reversal_experiment(tmp_path))
    folder.claim({})
    other = RunFolder(folder.config)
    with folder.lock(), pytest.raises(UserError, match="another process"), other.lock():
        pass
    with folder.lock():
        pass


def test_the_record_says_whether_a_run_is_finished_and_damage_is_refused(tmp_path):
    folder = RunFolder(reversal_experiment(tmp_path))
    folder.claim({})
    assert not folder.finished
    assert folder.best_metric is None
    folder.write_record(TrainingRecord(status="finished", progress=Progress(epoch=2)))
    assert folder.finished
    training = dataclasses.replace(folder.config.training, max_epochs=3)
    assert not RunFolder(dataclasses.replace(folder.config, training=training)).finished
    for file in ("run.json", "config.json"):
        (folder.path / file).write_bytes(b"{\xff}")
        with pytest.raises(UserError, match=file):
            folder.claim({})
