"""Who may use a run folder."""

import contextlib
import dataclasses
import functools
import json
import operator
import re
from pathlib import Path

import pytest
from reversal import reversal_experiment

from seq2seq.config import ExperimentConfig, flatten, to_json
from seq2seq.errors import UserError
from seq2seq.training.run_folder import RunFolder

MAY_CHANGE = (
    *("data", "output", "systems", "baseline", "baselines", "seeds", "beams", "test_texts"),
    *("decoding", "evaluation", "corpus.directory", "corpus.mirror", "tokenization.workers"),
    *(
        "training.device",
        "training.keep_last",
        "training.log_every",
        "training.max_nonfinite_updates",
    ),
    *("training.save_minutes", "training.tensorboard"),
    *("corpus.train_source", "corpus.valid_source", "corpus.test_source"),
    *("corpus.train_target", "corpus.valid_target", "corpus.test_target"),
)
"""Settings, or groups of them, that make no other run."""


def full_experiment(folder: Path) -> ExperimentConfig:
    """One without an empty group."""
    config = reversal_experiment(folder)
    pairs = {"attention": "no-attention"}
    return dataclasses.replace(config, baselines=pairs, test_texts={"news": "texts/news"})


def test_the_folder_is_named_by_experiment_system_and_seed(tmp_path):
    folder = RunFolder(reversal_experiment(tmp_path))
    assert folder.path == tmp_path / "outputs" / "reversal" / "attention" / "seed-1"


def test_the_same_config_may_come_back(tmp_path):
    config = reversal_experiment(tmp_path)
    RunFolder(config).claim()
    RunFolder(dataclasses.replace(config, data="elsewhere", seeds=[1, 2])).claim()


def test_another_config_is_refused_and_nothing_is_lost(tmp_path):
    config = reversal_experiment(tmp_path)
    RunFolder(config).claim()
    before = (RunFolder(config).path / "config.json").read_bytes()
    other = dataclasses.replace(config, model=dataclasses.replace(config.model, dropout=0.3))
    with pytest.raises(UserError, match=r"another config: model\.dropout was 0\.1 and is now 0\.3"):
        RunFolder(other).claim()
    assert (RunFolder(config).path / "config.json").read_bytes() == before


@pytest.mark.parametrize("key", flatten(to_json(full_experiment(Path()))))
def test_every_setting_makes_another_run_but_those_that_may_change(tmp_path, key):
    folder = RunFolder(full_experiment(tmp_path))
    folder.claim()
    path = folder.path / "config.json"
    config = json.loads(path.read_text())
    *groups, name = key.split(".")
    functools.reduce(operator.getitem, groups, config)[name] = "another"
    path.write_text(json.dumps(config))
    free = any(key == one or key.startswith(f"{one}.") for one in MAY_CHANGE)
    refused = pytest.raises(UserError, match=rf"another config: {re.escape(key)} was another and")
    with contextlib.nullcontext() if free else refused:
        folder.claim()


def test_a_setting_that_an_older_version_did_not_know_had_its_default(tmp_path):
    config = reversal_experiment(tmp_path)
    folder = RunFolder(config)
    folder.claim()
    path = folder.path / "config.json"
    older = json.loads(path.read_text())
    assert older["model"]["decoder"].pop("tie_embedding") is True
    path.write_text(json.dumps(older))
    folder.claim()
    decoder = dataclasses.replace(config.model.decoder, tie_embedding=False)
    other = dataclasses.replace(config, model=dataclasses.replace(config.model, decoder=decoder))
    with pytest.raises(UserError, match="tie_embedding was True and is now False"):
        RunFolder(other).claim()


def test_a_damaged_config_is_refused(tmp_path):
    folder = RunFolder(reversal_experiment(tmp_path))
    folder.claim()
    (folder.path / "config.json").write_text("{")
    with pytest.raises(UserError, match=r"config\.json is not JSON; move the folder"):
        folder.claim()


def test_finished_is_what_the_record_says(tmp_path):
    folder = RunFolder(reversal_experiment(tmp_path))
    folder.claim()
    assert not folder.finished
    folder.write_record({"status": "finished"})
    assert folder.finished
    (folder.path / "run.json").write_text("oops")
    with pytest.raises(UserError, match=r"run\.json is not JSON; delete it"):
        folder.record()
