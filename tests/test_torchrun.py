"""Training by torchrun, as a user starts it: stopped, killed, and started again."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.commands import TOY

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = [*TOY, "training.log_every=1", "training.save_minutes=0", "training.max_epochs=4"]
SETTINGS += ["training.validate_every=20"]


def torchrun(folder: Path, script: str, *arguments: str) -> subprocess.Popen:
    """Start a script in two processes; its log comes line by line."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    return subprocess.Popen(
        [*launcher, str(ROOT / "scripts" / f"{script}.py"), *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def wait_for(started: subprocess.Popen, words: str) -> None:
    assert started.stderr is not None
    for line in started.stderr:
        if words in line:
            return
    raise AssertionError(f"it never logged {words!r}")


def first_process(launcher: subprocess.Popen) -> int:
    """The process id of rank 0, which writes."""
    children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
    for child in children:
        if b"\0RANK=0\0" in Path(f"/proc/{child}/environ").read_bytes():
            return int(child)
    raise AssertionError(f"none of {children} is rank 0")


@pytest.mark.slow
def test_training_stopped_and_killed_ends_after_the_same_command(tmp_path):
    run = tmp_path / "outputs" / "quickstart" / "attention" / "seed-1"

    stopped = torchrun(tmp_path, "train", *SETTINGS)
    wait_for(stopped, "update 3 of")
    stopped.send_signal(signal.SIGTERM)
    _, log = stopped.communicate()
    assert "torchrun" in log
    assert json.loads((run / "run.json").read_text())["status"] == "interrupted"

    killed = torchrun(tmp_path, "train", *SETTINGS)
    wait_for(killed, "update 9 of")
    os.kill(first_process(killed), signal.SIGKILL)
    _, log = killed.communicate()
    assert killed.returncode == 1
    print(log)
    assert log.count("error: Another process of this command has ended") == 1
    assert "Traceback" not in log.partition("Sending process")[0].partition("failed (exit")[0]

    whole = torchrun(tmp_path, "train", *SETTINGS)
    _, log = whole.communicate()
    assert whole.returncode == 0
    assert log.count("Resuming outputs") == 1
    record = json.loads((run / "run.json").read_text())
    assert (record["status"], record["processes"]) == ("finished", 2)
    entries = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    trained = [entry["update"] for entry in entries if entry["kind"] == "train"]
    assert trained == list(range(1, 41))
