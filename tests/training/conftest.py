"""The reversal corpus, in a folder of the test's own, and a disk that need not be waited for."""

import os
from pathlib import Path

import pytest
from helpers.reversal import write_reversal_corpus


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_reversal_corpus(tmp_path / "corpus")
    return tmp_path


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints take half the time of these small trainings until they have reached the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
