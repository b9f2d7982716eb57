"""What a record says of how a result came about."""

import subprocess

import pytest
import torch

from seq2seq import record
from seq2seq.files import write_json
from seq2seq.record import Progress, TrainingRecord, read_record


def test_a_record_of_another_version_is_read(tmp_path):
    """Keys that are not known here are left out, and missing ones have their defaults."""
    assert read_record(tmp_path, "restore it") is None
    content = {"system": "a", "surprise": 1, "progress": {"update": 3, "surprise": [2]}}
    write_json(tmp_path / "run.json", content)
    expected = TrainingRecord(system="a", progress=Progress(update=3))
    assert read_record(tmp_path, "restore it") == expected


@pytest.mark.parametrize("package", ["seq2seq", "venv/site-packages/seq2seq"])
def test_the_commit_is_that_of_the_package_not_of_its_place(tmp_path, monkeypatch, package):
    """An environment often lies in the repository of something else."""
    file = tmp_path / package / "record.py"
    file.parent.mkdir(parents=True)
    file.write_text("")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a", "-C", str(tmp_path)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(record, "__file__", str(file))
    found = record.environment_record(torch.device("cpu"))
    own = package == "seq2seq"
    assert len(found["git_commit"] or "") == 40 * own
    assert found["git_modified"] is (False if own else None)
    assert "/" not in found["command"][0]
