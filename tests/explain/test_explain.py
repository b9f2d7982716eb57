"""The stage and its script: which examples, which files, the same bytes, in how long."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from seq2seq.config import EXAMPLES, ExplainConfig
from seq2seq.explain.explain import explain, walk_through

ROOT = Path(__file__).resolve().parent.parent.parent


def headings(text: str) -> list[str]:
    lines = text.split("\n")
    return [
        lines[place].partition(":")[0] for place in range(len(lines) - 1)
        if lines[place + 1] and set(lines[place + 1]) == {"="}
    ]  # fmt: skip


def test_the_examples_named_are_explained_in_their_order(tmp_path):
    output = tmp_path / "deep" / "folder"
    text = explain(ExplainConfig(examples=["softmax_axis", "dot"], output=str(output)))
    assert headings(text) == ["softmax_axis", "dot"]
    assert text.endswith(f"Pictures of these arrays are in {output}.")
    names = {path.name for path in output.iterdir()}
    assert names == {"softmax_axis.png", "softmax_axis.svg", "dot.png", "dot.svg"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_name_is_that_of_its_walkthrough(name):
    assert walk_through(name).name == name


def test_an_unknown_name_is_no_example():
    with pytest.raises(ValueError, match="example 'hard' has no function"):
        walk_through("hard")


def test_pytorch_is_not_imported():
    code = "import sys, cli, seq2seq.explain.explain; print('torch' in sys.modules)"
    path = os.pathsep.join([str(ROOT / "scripts"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


@pytest.mark.slow
def test_the_script_prints_and_draws_the_same_each_time_within_seconds(tmp_path):
    runs = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, str(ROOT / "scripts" / "explain.py")],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            env={**os.environ, "PYTHONWARNINGS": "error"},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        # Of the processor, since a busy machine is not a defect of the script.
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 10
        pictures = sorted((folder / "outputs" / "explain").iterdir())
        runs.append((done.stdout, [(path.name, path.read_bytes()) for path in pictures]))
    assert runs[0] == runs[1]
    text, pictures = runs[0]
    assert headings(text) == list(EXAMPLES)
    assert text.endswith("Pictures of these arrays are in outputs/explain.\n")
    assert [name for name, _ in pictures] == sorted(
        f"{name}.{form}" for name in EXAMPLES for form in ("png", "svg")
    )
