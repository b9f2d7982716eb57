"""Who may use a run folder, and what its metrics keep."""

import dataclasses
import json

import pytest
from reversal import reversal_experiment

from seq2seq.errors import UserError
from seq2seq.training.run_folder import Metrics, RunFolder


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


def test_metrics_rewind_to_an_update_and_survive_a_torn_line(tmp_path):
    metrics = Metrics(tmp_path, tensorboard=False)
    for update in (10, 20, 30):
        metrics.add({"kind": "train", "update": update, "loss": 1.0})
    with metrics.path.open("a") as file:
        file.write('{"kind": "tra')
    metrics.rewind(20)
    assert [entry["update"] for entry in metrics.read()] == [10, 20]
    lines = metrics.path.read_text().strip().split("\n")
    assert [json.loads(line)["update"] for line in lines] == [10, 20]


def test_tensorboard_events_are_written_when_asked_for(tmp_path):
    pytest.importorskip("tensorboard")
    metrics = Metrics(tmp_path, tensorboard=True)
    metrics.add({"kind": "train", "update": 1, "loss": 0.5})
    metrics.close()
    assert any((tmp_path / "tensorboard").iterdir())
