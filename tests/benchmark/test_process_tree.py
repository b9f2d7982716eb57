"""A process is watched with all that it starts, and with nothing else."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from seq2seq.benchmark.process_tree import (
    INTERVAL,
    PROC,
    TreeMemory,
    fresh_process,
    run_watched,
    tree_memory,
)
from seq2seq.errors import UserError

pytestmark = pytest.mark.skipif(not PROC.is_dir(), reason="reads /proc, which this system has not")
HOLD = "import sys; held = b'x' * int(sys.argv[1]); print('holds', flush=True); input()"


def holding(megabytes: int, command: list[str]) -> int:
    """Hold so much in a process below this one, and return what was asked for."""
    with subprocess.Popen(
        [*command, str(megabytes * 1_000_000)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        child.stdout.readline()
        total = tree_memory(os.getpid())
        child.communicate("\n")
    assert total is not None
    return round(total.own)


def test_the_memory_of_children_is_counted():
    few = holding(1, [sys.executable, "-c", HOLD])
    many = holding(201, [sys.executable, "-c", HOLD])
    assert many - few == pytest.approx(200, abs=20)


def raising() -> None:
    raise UserError("as the work says")


def summed(array: np.ndarray) -> int:
    """Touch every page, and hold them for a few looks."""
    total = int(array.sum(dtype=np.int64))
    time.sleep(5 * INTERVAL)
    return total


def filling(megabytes: int) -> int:
    return summed(np.ones(megabytes * 1_000_000, np.uint8))


def mapping(path: str) -> int:
    return summed(np.load(path, mmap_mode="r"))


def test_the_peak_is_that_of_the_work_and_not_of_this_process():
    ballast = np.ones(500_000_000, np.uint8)
    nothing, filled = (run_watched(partial(filling, megabytes)) for megabytes in (0, 300))
    assert filled.result == 300_000_000
    assert filled.seconds > 0
    assert filled.peak.own - nothing.peak.own == pytest.approx(300, abs=60)
    assert nothing.peak.own < len(ballast) / 1e6
    assert nothing.peak.processes == 1


def test_pages_of_mapped_files_are_not_the_process_s_own(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(200_000_000, np.uint8))
    (nothing, mapped) = (
        run_watched(work)
        for work in (partial(filling, 0), partial(mapping, str(tmp_path / "a.npy")))
    )
    assert mapped.result == 200_000_000
    assert mapped.peak.own - nothing.peak.own < 60
    assert mapped.peak.resident - nothing.peak.resident > 100


def test_an_error_of_the_work_is_raised_here():
    with pytest.raises(UserError, match="as the work says"):
        run_watched(raising)


def dying() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_work_that_is_killed_is_one_sentence():
    with pytest.raises(UserError, match=r"has been killed, as a system does when memory is short"):
        run_watched(dying)


def lasting(path: Path) -> None:
    """Start a process that would last, tell its id, and last as long."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as child:
        part = path.with_suffix(".part")
        part.write_text(str(child.pid))
        part.rename(path)


def stop_when_there_is(path: Path, work: Future[None]) -> None:
    assert not work.done()
    while not path.exists():
        time.sleep(INTERVAL)
    raise SystemExit(143)


def test_whoever_is_stopped_leaves_no_process_behind(tmp_path):
    """As by SIGTERM, which comes while the work is watched."""
    path = tmp_path / "pid"
    with pytest.raises(SystemExit), fresh_process() as pool:
        stop_when_there_is(path, pool.submit(lasting, path))
    child = int(path.read_text())
    for _ in range(100):  # it is gone once somebody has asked what became of it
        if (found := tree_memory(child)) is None or found.own == 0:
            break
        time.sleep(INTERVAL)
    assert found is None or found.own == 0


def test_the_highest_is_taken_figure_by_figure():
    assert TreeMemory(9.0, 2.0, 1).highest(TreeMemory(5.0, 4.0, 3)) == TreeMemory(9.0, 4.0, 3)


def test_a_process_that_is_no_more_has_nothing():
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass
    assert tree_memory(child.pid) == TreeMemory(0.0, 0.0, 0)
