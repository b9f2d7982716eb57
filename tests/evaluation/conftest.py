import dataclasses
from pathlib import Path

import pytest
import torch
from helpers.reversal import reversal_experiment, write_reversal_corpus

from seq2seq.checkpoint import load_checkpoint, save_checkpoint
from seq2seq.config import TrainConfig
from seq2seq.data.preparation import PreparedData, prepare
from seq2seq.training.trainer import Trainer


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> tuple[TrainConfig, PreparedData, list[Path]]:
    """A toy experiment, its data, and the run folders of two seeds."""
    folder = tmp_path_factory.mktemp("evaluate")
    write_reversal_corpus(folder / "corpus")
    config = reversal_experiment(folder, learning_rate=0.01, max_updates=6)
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    seeds = [dataclasses.replace(config, seed=seed) for seed in (1, 2)]
    return config, data, [Trainer(seed, data).run().path for seed in seeds]


@pytest.fixture(scope="session")
def run(trained) -> Path:
    """The folder of the first run."""
    return trained[2][0]


@pytest.fixture(scope="session")
def other_checkpoint(run, tmp_path_factory) -> Path:
    """A checkpoint of the run with other weights."""
    trained = load_checkpoint(run, torch.device("cpu"))
    with torch.no_grad():
        for parameter in trained.model.parameters():
            parameter.neg_()
    folder = tmp_path_factory.mktemp("other") / "update-4"
    save_checkpoint(folder, trained)
    return folder
