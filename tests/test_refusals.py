"""Wrong input ends a script with status 1 and one sentence; nothing is written."""

import shlex
from pathlib import Path

import pytest
from helpers.commands import run
from refusals import REFUSALS, make


def listing(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("script", "words", "named"), REFUSALS, ids=str)
def test_wrong_input_is_one_sentence(script, words, named, tmp_path):
    make(tmp_path, words)
    before = listing(tmp_path)
    done = run(tmp_path, script, *shlex.split(words), ok=False)
    assert (done.returncode, done.stdout) == (1, "")
    (said,) = done.stderr.splitlines()
    assert said.startswith("error: ")
    assert said.endswith((".", "?"))
    assert named in said
    assert listing(tmp_path) == before
