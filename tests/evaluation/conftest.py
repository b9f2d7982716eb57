import dataclasses
from pathlib import Path

import pytest
from helpers.reversal import reversal_experiment, write_reversal_corpus

from seq2seq.data.preparation import prepare
from seq2seq.training.trainer import Trainer


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> list[Path]:
    """Run folders of two seeds of a toy experiment."""
    folder = tmp_path_factory.mktemp("evaluate")
    write_reversal_corpus(folder / "corpus")
    config = reversal_experiment(folder, learning_rate=0.01, max_updates=6)
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    seeds = [dataclasses.replace(config, seed=seed) for seed in (1, 2)]
    return [Trainer(seed, data).run().path for seed in seeds]


@pytest.fixture(scope="session")
def run(runs) -> Path:
    return runs[0]
