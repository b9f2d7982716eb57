"""The reversal corpus, in a folder of the test's own."""

from pathlib import Path

import pytest
from helpers.reversal import write_reversal_corpus


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_reversal_corpus(tmp_path / "corpus")
    return tmp_path
