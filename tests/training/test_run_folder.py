"""Who may use a run folder."""

import contextlib
import dataclasses
import functools
import json
import operator

import pytest
from helpers.reversal import reversal_experiment, with_optimizer

from seq2seq.config import flatten
from seq2seq.errors import UserError
from seq2seq.training.run_folder import RunFolder

MAY_CHANGE = (
    *("baseline", "data", "output", "evaluation", "corpus.directory", "corpus.mirror"),
    *("training.device", "training.keep_epochs", "training.log_every", "training.logger"),
    *("training.max_epochs", "training.max_updates", "training.patience", "training.save_minutes"),
)
"""Settings, or groups of them, that make no other run."""


@pytest.mark.parametrize(
    ("metric", "schedule", "fixed"),
    [
        ("loss", "average", set()),
        # BLEU depends on its tokens, and the rate on the limits.
        ("bleu", "average", {"evaluation.tokenize"}),
        ("loss", "linear", {"training.max_epochs", "training.max_updates"}),
    ],
)
def test_every_setting_makes_another_run_but_those_that_may_change(
    tmp_path, metric, schedule, fixed
):
    config = reversal_experiment(tmp_path, early_stopping_metric=metric)
    folder = RunFolder(with_optimizer(config, schedule=schedule))
    assert folder.path == tmp_path / "outputs" / "reversal" / "attention" / "seed-1"
    folder.claim({})
    path = folder.path / "config.json"
    whole = path.read_text()
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


def test_two_trainings_of_one_folder_are_refused_and_so_is_a_damaged_one(tmp_path):
    folder = RunFolder(reversal_experiment(tmp_path))
    folder.claim({})
    for _ in range(2):
        other = RunFolder(folder.config)
        with folder.lock(), pytest.raises(UserError, match="another process"), other.lock():
            pass
    for file in ("run.json", "config.json"):
        (folder.path / file).write_bytes(b"{\xff}")
        with pytest.raises(UserError, match=file):
            folder.claim({})
