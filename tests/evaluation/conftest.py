from pathlib import Path

import pytest
from reversal import reversal_experiment, write_reversal_corpus

from seq2seq.data.preparation import prepare
from seq2seq.training.trainer import Trainer


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """The folder of a toy run."""
    folder = tmp_path_factory.mktemp("evaluate")
    write_reversal_corpus(folder / "corpus")
    config = reversal_experiment(folder, max_updates=3)
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    return Trainer(config, data).run().path
