"""What a record says of how a result came about."""

import subprocess
from pathlib import Path

import pytest
import torch

from seq2seq import record as record_module
from seq2seq.record import earlier_commits, environment_record


def test_code_that_worked_at_it_before_is_remembered():
    a, b, c = ({"git_commit": letter * 40} for letter in "abc")
    assert earlier_commits({}, a) == earlier_commits(a, a) == []
    second = {**b, "earlier_commits": earlier_commits(a, b)}
    assert second["earlier_commits"] == ["a" * 40]
    assert earlier_commits(second, c) == ["a" * 40, "b" * 40]
    assert earlier_commits(second, a) == ["b" * 40]


@pytest.mark.parametrize("package", ["seq2seq", "venv/site-packages/seq2seq"])
def test_the_commit_is_that_of_the_package_not_of_its_place(tmp_path, monkeypatch, package):
    """An environment often lies in the repository of something else."""
    file = tmp_path / package / "record.py"
    file.parent.mkdir(parents=True)
    file.write_text("")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a", "-C", str(tmp_path)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(record_module, "__file__", str(file))
    found = environment_record(torch.device("cpu"))
    own = package == "seq2seq"
    assert len(found["git_commit"] or "") == 40 * own
    assert found["git_modified"] is (False if own else None)
    assert Path(found["command"][0]).name == found["command"][0]
    hardware = found["hardware"]
    assert (hardware["device"], hardware["torch"]) == ("cpu", torch.__version__)
    assert hardware["processor"]
    assert min(int(hardware["cores"]), int(hardware["threads"])) >= 1
    assert "gpu" not in hardware
