"""Work shared by torchrun's processes, as a user starts it: stopped, killed, and started again."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from helpers.commands import TOY, run
from helpers.launching import torchrun
from helpers.pages import BLOCK, PAGES
from helpers.tiny_translator import save_tiny
from torch.distributed.run import get_args_parser

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = [*TOY, "training.log_every=1", "training.save_minutes=0"]
SETTINGS += ["training.validate_every=20"]


RUN = Path("outputs/quickstart/attention/seed-1")
TWO = ["--standalone", "--nproc-per-node=2"]


def start(
    folder: Path, script: str, *arguments: str, launch=TWO, stderr=subprocess.PIPE
) -> subprocess.Popen:
    """Start a script in two processes; its log comes line by line."""
    return subprocess.Popen(
        torchrun(launch, script, *arguments),
        cwd=folder,
        stderr=stderr,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def wait_for(started: subprocess.Popen, words: str) -> None:
    assert started.stderr is not None
    for line in started.stderr:
        if words in line:
            return
    raise AssertionError(f"it never logged {words!r}")


def workers(folder: Path) -> dict[str, psutil.Process]:
    """The processes that train in ``folder``, by their rank; the parent of each is torchrun."""
    found = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.cwd() == str(folder) and "RANK" in (environment := process.environ()):
                found[environment["RANK"]] = process
    return found


def outcome(folder: Path) -> tuple[str, int]:
    record = json.loads((folder / RUN / "run.json").read_text())
    return record["status"], record["processes"]


def updates(folder: Path) -> list[int]:
    """The updates that were logged; the last line may be unfinished."""
    log = folder / RUN / "metrics.jsonl"
    lines = log.read_text() if log.exists() else ""
    return [int(number) for number in re.findall(r'"kind": "train", "update": (\d+)', lines)]


@pytest.mark.slow
def test_training_stopped_and_killed_ends_after_the_same_command(tmp_path):
    command = tmp_path, "train", *SETTINGS, "training.max_epochs=3"

    stopped = start(*command)
    wait_for(stopped, "update 3 of")
    stopped.send_signal(signal.SIGTERM)
    _, log = stopped.communicate()
    assert "torchrun" in log
    assert outcome(tmp_path) == ("interrupted", 2)

    killed = start(*command)
    wait_for(killed, "update 9 of")
    workers(tmp_path)["0"].kill()  # it writes
    _, log = killed.communicate()
    assert killed.returncode == 1
    assert log.count("error: Another process of this command has ended") == 1
    assert "Traceback" not in log.partition("Sending process")[0].partition("failed (exit")[0]

    whole = start(*command)
    _, log = whole.communicate()
    assert whole.returncode == 0
    assert log.count("Resuming outputs") == 1
    assert outcome(tmp_path) == ("finished", 2)
    assert updates(tmp_path) == list(range(1, 31))


@contextlib.contextmanager
def two_machines(
    folder: Path, nodes: str, *settings: str
) -> Iterator[tuple[list[subprocess.Popen], int]]:
    """Two launchers of one process each, and the port at which they meet."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = [f"--nnodes={nodes}", "--nproc-per-node=1", "--rdzv-backend=c10d", "--rdzv-id=both"]
    launch += [f"--rdzv-endpoint=127.0.0.1:{port}", "--local-addr=127.0.0.1", "--max-restarts=3"]
    launch += ["--rdzv-conf=last_call_timeout=5,keep_alive_interval=1"]  # seconds: 30 and 5 else
    machines: list[subprocess.Popen] = []
    try:
        for name in ("0.log", "1.log"):
            with (folder / name).open("w") as log:
                machines.append(start(folder, "train", *settings, launch=launch, stderr=log))
        yield machines, port
    finally:
        for process in [*workers(folder).values(), *machines]:
            process.kill()
            process.wait()


def keeps_store(launcher: psutil.Process, port: int) -> bool:
    """Whether this launcher has the port at which they meet."""
    return any(
        connection.status == "LISTEN" and connection.laddr.port == port
        for connection in launcher.net_connections()
    )


@pytest.mark.slow
def test_two_machines_train_together(tmp_path):
    with two_machines(tmp_path, "2", *SETTINGS, "training.max_epochs=1") as (machines, _):
        assert [machine.wait() for machine in machines] == [0, 0]
    assert outcome(tmp_path) == ("finished", 2)
    assert updates(tmp_path) == list(range(1, 11))


@pytest.mark.slow
def test_a_machine_goes_on_when_the_other_is_lost(tmp_path):
    settings = [*SETTINGS, "training.max_epochs=10"]
    with two_machines(tmp_path, "1:2", *settings) as (machines, port):
        while len(updates(tmp_path)) < 5 or outcome(tmp_path) != ("running", 2):
            assert [machine.poll() for machine in machines] == [None, None]
            time.sleep(0.05)
        both = workers(tmp_path).values()
        (lost,) = [worker for worker in both if not keeps_store(worker.parent(), port)]
        for process in (lost.parent(), lost):  # at once, as a machine without power
            process.kill()
        assert sorted(machine.wait() for machine in machines) == [0, 137]
    assert outcome(tmp_path) == ("finished", 1)
    assert updates(tmp_path) == list(range(1, 101))
    logs = [(tmp_path / name).read_text() for name in ("0.log", "1.log")]
    assert sum("processes 1 (was 2)" in log for log in logs) == 1


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


def test_the_job_of_slurm_starts_torchrun(tmp_path):
    """With an srun that drops its own options, and a torchrun that shows what it was given."""
    page = PAGES[ROOT / "docs" / "scaling.md"]
    (job,) = [text for kind, text in BLOCK.findall(page) if text.startswith("#!") and kind == "sh"]
    (tmp_path / "job").write_text(job)
    fakes = {
        "srun": 'while [[ $1 == -* ]]; do shift; done; exec "$@"',
        "scontrol": "echo node3; echo node4",
        "torchrun": 'printf "%s\\n" "$@"',
    }
    for name, lines in fakes.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{lines}\n")
        (tmp_path / name).chmod(0o755)
    slurm = {"SLURM_JOB_NODELIST": "node[3-4]", "SLURM_NNODES": "2", "SLURM_JOB_ID": "77"}
    given = subprocess.run(
        ["bash", "-eu", "job"],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", **slurm},
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    parsed = get_args_parser().parse_args(given.stdout.split())
    assert (parsed.nnodes, parsed.rdzv_endpoint, parsed.rdzv_id) == ("2", "node3:29500", "77")
    assert parsed.training_script == "scripts/train.py"
