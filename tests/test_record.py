"""What a record says of how a result came about."""

import subprocess
from pathlib import Path

import pytest
import torch

from seq2seq import record as record_module
from seq2seq.record import (
    command,
    describe_environment,
    describe_environments,
    earlier_commits,
    environment_record,
)


def test_commands_leave_out_where_files_lie_but_say_that_text_was_ones_own():
    arguments = ["evaluate.py", "seed=2", "data=/here", "output=/there", "corpus.mirror=http://x"]
    arguments += ["checkpoint=/home/me/work/outputs/a/attention/seed-1", "c=/x/y", "e=http://h/x"]
    arguments += ["more=[/x/outputs/b/c/seed-2, /runs/of/mine/best]", "search=beam/5"]
    arguments += ["directory=/a", "+test_texts.news=/d", "corpus.train_source=/c"]
    assert command(arguments) == (
        "python scripts/evaluate.py seed=2 checkpoint=.../attention/seed-1 c=/x/y e=http://h/x "
        "'more=[.../c/seed-2, .../mine/best]' search=beam/5 "
        "directory=... +test_texts.news=... corpus.train_source=..."
    )


def test_a_line_names_the_processor_or_the_gpu():
    record = {
        "command": ["benchmark.py", "sizes=[l]"],
        "hardware": {"processor": "Abacus 3", "threads": "2", "torch": "9.9"},
        "git_commit": "0123456789abcdef",
        "git_modified": True,
    }
    assert describe_environment(record) == (
        "Command: `python scripts/benchmark.py 'sizes=[l]'`. Hardware: Abacus 3, 2 threads; "
        "PyTorch 9.9; code `0123456789` (modified)."
    )
    record["hardware"]["gpu"] = "Loom 7"
    assert "Hardware: Loom 7, bfloat16;" in describe_environment(record, "bfloat16")
    del record["git_commit"]
    assert describe_environment(record).endswith("PyTorch 9.9.")


def test_the_commands_of_one_machine_and_precision_are_one_line():
    def made_by(*arguments, threads="2"):
        hardware = {"processor": "Abacus 3", "threads": threads, "torch": "9.9"}
        return {"command": list(arguments), "hardware": hardware}

    records = [
        made_by("train.py", "system=a"),
        made_by("train.py", "system=b", "output=/there"),
        made_by("train.py", "system=b"),
        made_by("train.py", threads="1"),
        {**made_by("train.py"), "precision": "bfloat16"},
        {},
    ]
    first, second, third, last = describe_environments(records)
    assert first == (
        "Command: `python scripts/train.py system=a`, `python scripts/train.py system=b`. "
        "Hardware: Abacus 3, 2 threads; PyTorch 9.9."
    )
    assert "1 thread;" in second
    assert "2 threads, bfloat16;" in third
    assert last == describe_environment({})


def test_code_that_worked_at_it_before_is_remembered():
    a, b, c = ({"git_commit": letter * 40} for letter in "abc")
    assert earlier_commits({}, a) == earlier_commits(a, a) == []
    second = {**b, "earlier_commits": earlier_commits(a, b)}
    assert second["earlier_commits"] == ["a" * 40]
    assert earlier_commits(second, c) == ["a" * 40, "b" * 40]
    assert earlier_commits(second, a) == ["b" * 40]
    assert earlier_commits({"git_commit": None}, a) == []
    assert "`aaaaaaaaaa`" in describe_environment(second)


@pytest.mark.parametrize("package", ["seq2seq", "venv/site-packages/seq2seq"])
def test_the_commit_is_that_of_the_package_not_of_what_it_is_installed_in(
    tmp_path, monkeypatch, package
):
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
