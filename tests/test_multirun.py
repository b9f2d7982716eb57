"""Several trainings by one command, one after another."""

import json
from pathlib import Path

import pytest
from helpers.commands import TOY, run

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
