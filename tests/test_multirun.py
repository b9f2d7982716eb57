"""Several trainings by one command: one after another, or as jobs of a launcher."""

import importlib.util
import json
from pathlib import Path

import pytest
from overrides import sample_jobs
from test_scripts import TOY, run

SETTINGS = [*TOY, "training.max_updates=2"]


def finished(folder: Path) -> set[str]:
    """System and seed of each training that has ended."""
    records = (folder / "outputs" / "quickstart").glob("*/*/run.json")
    return {
        f"{path.parent.parent.name}/{path.parent.name}"
        for path in records
        if json.loads(path.read_text())["status"] == "finished"
    }


@pytest.mark.slow
def test_each_job_has_its_folder_and_reproduce_goes_on_from_them(tmp_path):
    jobs = ["seed=1,2", "system=attention,no-attention"]
    run(tmp_path, "train", "--multirun", *jobs, *SETTINGS)
    systems = ("attention", "no-attention")
    assert finished(tmp_path) == {f"{system}/seed-{seed}" for system in systems for seed in (1, 2)}
    done = run(tmp_path, "reproduce", *SETTINGS, "seeds=[1,2]", "beams=[1]")
    assert done.stderr.count("is already trained") == 4
    assert "| words" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("submitit") is None, reason="needs hydra-submitit-launcher"
)
def test_a_launcher_runs_a_job_in_a_process_of_its_own(tmp_path):
    launcher = ["hydra/launcher=submitit_local", "hydra.launcher.timeout_min=5"]
    jobs = ["seed=3", "system=no-attention"]
    # The launcher has warnings of its own.
    run(tmp_path, "train", "--multirun", *launcher, *jobs, *SETTINGS, warnings="default")
    assert finished(tmp_path) == {"no-attention/seed-3"}
    (said,) = tmp_path.glob("multirun/*/*/.submitit/*/*_log.err")
    assert "Training ended after 2 updates" in said.read_text()


def test_the_jobs_looked_at_beforehand_hold_every_value():
    jobs = ["seed=1,2", "system=range(1,4)", "hydra.job.name=x,y", "name=z", "+a='x,y',[1,2]"]
    assert sample_jobs([*jobs, "model=glob(*)"]) == []
    assert sample_jobs([*jobs, "model.dropout=interval(0,1)"]) == [
        ["seed=1", "system=1", "name=z", "+a='x,y'"],
        ["seed=2", "system=1", "name=z", "+a='x,y'"],
        ["seed=1", "system=2", "name=z", "+a='x,y'"],
        ["seed=1", "system=3", "name=z", "+a='x,y'"],
        ["seed=1", "system=1", "name=z", "+a=[1,2]"],
    ]


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("training.max_epoch=3", "error: training.max_epoch is not a config key of train"),
        ("system=atention,no-attention", "error: system=atention is not a system of quickstart"),
        ("system=attention,no-atention", "error: system=no-atention is not a system of quickstart"),
        ("seed=[", "error: seed=[ is not of the form key=value"),
    ],
)
def test_a_bad_command_line_is_one_sentence(tmp_path, override, sentence):
    done = run(tmp_path, "train", "--multirun", "seed=1,2", override, ok=False)
    assert done.returncode == 1
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
