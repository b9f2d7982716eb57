"""Hydra as a benchmark finds it, and as the scripts, which have their own, find it afterwards."""

import pytest
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_store import ConfigStore

from seq2seq.config import CORPORA


@pytest.fixture(autouse=True)
def _own_hydra(monkeypatch):
    monkeypatch.setitem(SourcesRegistry.instance().types, "file", FileConfigSource)
    yield
    for kind in CORPORA:
        ConfigStore.instance().repo.get("corpus", {}).pop(f"{kind}.yaml", None)
