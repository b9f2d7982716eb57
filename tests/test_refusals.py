"""Wrong input ends a script with status 1 and one sentence; nothing is written."""

import runpy
import shlex
import sys
from pathlib import Path

import pytest
from refusals import REFUSALS, make

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"


def listing(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("script", "words", "named"), REFUSALS, ids=str)
def test_wrong_input_is_one_sentence(script, words, named, tmp_path, monkeypatch, capsys):
    make(tmp_path, words)
    before = listing(tmp_path)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(words.replace("FOLDER", str(tmp_path)) if "--" in words else words)
    monkeypatch.setattr(sys, "argv", [f"{script}.py", *words])
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(SCRIPTS / f"{script}.py"), run_name="__main__")
    said = stop.value.code  # text, so the status is 1
    assert said.startswith("error: ")
    assert named in said
    assert "\n" not in said
    assert said.endswith((".", "?"))
    assert capsys.readouterr().out == ""
    assert listing(tmp_path) == before
