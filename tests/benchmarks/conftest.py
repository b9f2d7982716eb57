"""The corpora that a benchmark registers with Hydra go again, since the scripts have their own."""

import pytest
from hydra.core.config_store import ConfigStore

from seq2seq.config import CORPORA


@pytest.fixture(autouse=True)
def _own_corpora():
    yield
    for kind in CORPORA:
        ConfigStore.instance().repo.get("corpus", {}).pop(f"{kind}.yaml", None)
