"""Whatever stops a script becomes one sentence and a status, and leaves nothing behind."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import endings
import pytest
import torch
from endings import in_one_sentence

from seq2seq.errors import UserError
from seq2seq.training import distributed
from seq2seq.training.interruption import Interrupted

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


@pytest.fixture(autouse=True)
def usual_handler():
    """The context leaves its handler of SIGTERM, as a script that ends may."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UserError("There is no text."), "error: There is no text."),
        (OSError(errno.ENOSPC, "No space left", "a/b"), "error: a/b is full; free some space"),
        (OSError(errno.EACCES, "Permission denied", "a/b"), "error: a/b cannot be used (Permissi"),
        (MemoryError(), "error: the memory does not suffice; give a smaller training.batch_size"),
        (torch.OutOfMemoryError("CUDA out of memory."), "error: the memory does not suffice"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "error: the memory does not"),
        (RuntimeError("CUDA error: out of memory"), "error: the memory does not"),
        (Interrupted(signal.SIGINT, "Stopped."), 130),
        (Interrupted(signal.SIGTERM, "Stopped."), 0),
        (KeyboardInterrupt(), 130),
    ],
)
def test_what_stops_a_script_says_so(error, status):
    with pytest.raises(SystemExit) as stop, in_one_sentence():
        raise error
    if isinstance(status, int):
        assert stop.value.code == status
    else:
        assert str(stop.value.code).startswith(status)
        assert "\n" not in str(stop.value.code)


@pytest.mark.parametrize("error", [RuntimeError("a fault"), OSError("without a file")])
def test_a_fault_of_the_program_keeps_its_traceback(error):
    with pytest.raises(type(error), match=str(error)), in_one_sentence():
        raise error


WORK = """
import sys, tempfile, time
from endings import in_one_sentence
with in_one_sentence(), tempfile.TemporaryDirectory(dir=sys.argv[1]):
    print("at work", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize(("processes", "status"), [("1", 143), ("2", -signal.SIGTERM)])
def test_sigterm_cleans_up(tmp_path, processes, status):
    """But for processes that train together, one of which could wait for the others forever."""
    script = subprocess.Popen(
        [sys.executable, "-c", WORK, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(SCRIPTS), "WORLD_SIZE": processes, "RANK": "0"},
        stdout=subprocess.PIPE,
    )
    with script:
        assert script.stdout.readline() == b"at work\n"
        script.terminate()
        assert script.wait(timeout=30) == status
    assert bool(list(tmp_path.iterdir())) == (processes == "2")


def test_what_a_job_script_leaves_behind_is_not_taken_for_torchrun(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    for left in ("2", ""):
        monkeypatch.setenv("WORLD_SIZE", left)
        assert endings.processes() == distributed._world_size() == 1
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert endings.processes() == distributed._world_size() == 2


def below(parent: int) -> set[int]:
    """Ids of the processes that ``parent`` has started."""
    statuses = {int(p.parent.name): p for p in Path("/proc").glob("[0-9]*/stat")}
    found = set()
    for pid, path in statuses.items():
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found.add(pid)
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="reads /proc")
def test_sigterm_leaves_no_workers_behind(tmp_path):
    """Those that tokenise wait for work, and would wait for it forever."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for split, lines in (("train", 400_000), ("valid", 10), ("test", 10)):
        for side in ("source", "target"):
            text = "a few words that have to be cut into their pieces .\n" * lines
            (folder / f"{split}.{side}").write_text(text)
    command = [sys.executable, str(SCRIPTS / "prepare.py"), "experiment=own_text", "name=x"]
    command += [f"corpus.directory={folder}", "corpus.source=en", "corpus.target=de"]
    command += ["tokenization=moses", "tokenization.vocabulary_size=50", "tokenization.workers=2"]
    script = subprocess.Popen(
        [*command, f"data={tmp_path / 'data'}", f"output={tmp_path / 'outputs'}"],
        stderr=subprocess.DEVNULL,
    )
    with script:
        for _ in range(600):
            if len(workers := below(script.pid)) >= 3:  # and what counts their semaphores
                break
            time.sleep(0.1)
        assert len(workers) >= 3
        script.terminate()
        assert script.wait(timeout=60) == 143
    for _ in range(100):
        left = {pid for pid in workers if Path(f"/proc/{pid}").exists()}
        if not left:
            break
        time.sleep(0.1)
    assert not left
    assert not list((tmp_path / "data").rglob("*.part"))
