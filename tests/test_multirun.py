"""Several trainings by one command: one after another, or as jobs of a launcher."""

import importlib.util
import json
import shlex
from pathlib import Path

import pytest
import yaml
from helpers.commands import TOY, run
from helpers.pages import COMMANDS

SETTINGS = [*TOY, "corpus.train=60", "training.max_updates=2"]


def finished(folder: Path) -> set[str]:
    """System and seed of each training that has ended."""
    records = (folder / "outputs" / "quickstart").glob("*/*/run.json")
    return {
        f"{path.parent.parent.name}/{path.parent.name}"
        for path in records
        if json.loads(path.read_text())["status"] == "finished"
    }


@pytest.mark.slow
def test_each_job_has_its_folder(tmp_path):
    run(tmp_path, "train", "--multirun", "seed=1,2", "system=attention,dot", *SETTINGS)
    assert finished(tmp_path) == {
        "attention/seed-1",
        "attention/seed-2",
        "dot/seed-1",
        "dot/seed-2",
    }


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


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("optuna") is None, reason="needs hydra-optuna-sweeper")
def test_a_search_names_its_best(tmp_path):
    (command,) = [line for line in COMMANDS if "hydra/sweeper=optuna" in line]
    words = [*shlex.split(command)[2:], "hydra.sweeper.n_trials=2"]
    run(tmp_path, "train", *words, *SETTINGS, warnings="default")
    records = [
        json.loads(path.read_text()) for path in tmp_path.glob("outputs/search-*/*/*/run.json")
    ]
    losses = [record["progress"]["best_metric"] for record in records]
    (found,) = tmp_path.glob("multirun/*/*/optimization_results.yaml")
    assert yaml.safe_load(found.read_text())["best_value"] == min(losses)
    assert len(set(losses)) == 2
