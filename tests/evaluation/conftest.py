import dataclasses
from pathlib import Path

import pytest
from helpers.reversal import reversal_experiment, write_reversal_corpus
from helpers.small_training import train


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> list[Path]:
    """Run folders of two seeds of a toy experiment."""
    folder = tmp_path_factory.mktemp("evaluate")
    write_reversal_corpus(folder / "corpus")
    config = reversal_experiment(folder, learning_rate=0.01, max_updates=6)
    return [train(dataclasses.replace(config, seed=seed)).path for seed in (1, 2)]


@pytest.fixture(scope="session")
def run(runs) -> Path:
    return runs[0]
