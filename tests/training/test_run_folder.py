"""Who may use a run folder."""

import dataclasses
import json

import pytest
from reversal import reversal_experiment

from seq2seq.errors import UserError
from seq2seq.training.run_folder import RunFolder


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
