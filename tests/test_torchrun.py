"""Work shared by torchrun's processes, as a user starts it: stopped, killed, and started again."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from helpers.commands import TOY, run
from helpers.launching import torchrun
from helpers.small_checkpoint import save_tiny

TWO = ["--standalone", "--nproc-per-node=2"]
RUN = Path("outputs/quickstart/attention/seed-1")


def start(folder: Path, script: str, *arguments: str) -> subprocess.Popen:
    """Start a script in two processes; its log comes line by line."""
    return subprocess.Popen(
        torchrun(TWO, script, *arguments),
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


def first_worker(folder: Path) -> psutil.Process:
    """The process of rank 0 that trains in ``folder``."""
    for process in psutil.process_iter(["cwd", "environ"]):
        variables = process.info["environ"] or {}
        if process.info["cwd"] == str(folder) and variables.get("RANK") == "0":
            return process
    raise AssertionError("there is none")


def outcome(folder: Path) -> tuple[str, int]:
    record = json.loads((folder / RUN / "run.json").read_text())
    return record["status"], record["processes"]


@pytest.mark.slow
def test_training_stopped_and_killed_ends_after_the_same_command(tmp_path):
    settings = ["training.log_every=1", "training.save_minutes=0", "training.validate_every=20"]
    command = tmp_path, "train", *TOY, *settings, "training.max_epochs=3"

    stopped = start(*command)
    wait_for(stopped, "update 3 of")
    stopped.send_signal(signal.SIGTERM)
    _, log = stopped.communicate()
    assert "torchrun" in log
    assert outcome(tmp_path) == ("interrupted", 2)

    killed = start(*command)
    wait_for(killed, "update 9 of")
    first_worker(tmp_path).kill()  # it writes
    _, log = killed.communicate()
    assert killed.returncode == 1

    whole = start(*command)
    _, log = whole.communicate()
    assert whole.returncode == 0
    assert log.count("Resuming outputs") == 1
    assert outcome(tmp_path) == ("finished", 2)
    lines = (tmp_path / RUN / "metrics.jsonl").read_text()
    updates = re.findall(r'"kind": "train", "update": (\d+)', lines)
    assert [*map(int, updates)] == list(range(1, 31))


@pytest.mark.slow
def test_processes_share_an_evaluation_and_a_translation(tmp_path):
    checkpoint = save_tiny(tmp_path / "tiny")
    sentences = [" ".join(["a dog barks"] * (1 + line % 7)) for line in range(20)]
    settings = [f"checkpoint={checkpoint}", "decoding.batch_size=4", "device=cpu"]
    evaluation = ["source=text.src", "reference=text.tgt", "beams=[1,3]", "output=out"]
    translation = ["input=text.src", "hypotheses=out/text", "alignments=out/links"]
    found = []
    for place in ("one", "two"):
        folder = tmp_path / place
        folder.mkdir()
        for language in ("src", "tgt"):
            (folder / f"text.{language}").write_text("\n".join([*sentences, "", "a"]) + "\n")
        for script, own in (("evaluate", evaluation), ("translate", translation)):
            if place == "one":
                run(folder, script, *settings, *own)
            else:
                started = start(folder, script, *settings, *own)
                _, log = started.communicate()
                assert started.returncode == 0, log
        files = [file for file in (folder / "out").rglob("*") if file.is_file()]
        found.append({file.relative_to(folder): without_times(file) for file in files})
    assert found[0] == found[1]
    assert len(found[0]) == 2 * 6 + 2


def without_times(file: Path) -> bytes:
    """Content of a file but for times and threads."""
    return re.sub(rb'"(seconds|sentences_per_second|threads)": .*', b"", file.read_bytes())
