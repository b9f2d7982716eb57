"""Wrong input ends a script with status 1 and one sentence; nothing is written."""

import shlex
from pathlib import Path

import pytest
from helpers.commands import run
from refusals import REFUSALS, make


def listing(folder: Path) -> dict[Path, bytes]:
    """The files, without empty ones that only say who writes."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {path: path.read_bytes() for path in files}


@pytest.mark.parametrize(("script", "words", "named"), REFUSALS, ids=str)
def test_wrong_input_is_one_sentence(script, words, named, tmp_path):
    make(tmp_path, words)
    before = listing(tmp_path)
    done = run(tmp_path, script, *shlex.split(words), ok=False)
    assert (done.returncode, done.stdout) == (1, "")
    said = done.stderr.splitlines()[-1]
    assert said.startswith("error: ")
    assert said.endswith((".", "?"))
    assert named in said
    assert listing(tmp_path) == before
