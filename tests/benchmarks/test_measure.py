"""Turns are taken in order, ratios are within a round, and a peak is that of the work alone."""

import sys
import time
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import measure
import numpy as np
import psutil
import pytest
import torch
from measure import peak_memory, ratio_by_round, run_within, time_in_turns, watch

CPU = torch.device("cpu")
on_linux = pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="reads /proc")


def test_cases_take_turns_after_a_warm_up(monkeypatch):
    diary, clock = [], [0.0]

    def call(name: str, seconds: float) -> None:
        diary.append(name)
        clock[0] += seconds

    monkeypatch.setattr(measure.time, "perf_counter", lambda: clock[0])
    cases = {"a": partial(call, "a", 4.0), "b": partial(call, "b", 1.0)}
    seconds = time_in_turns(cases, calls=3, rounds=2, device=CPU)
    assert seconds == {"a": [[4.0] * 3] * 2, "b": [[1.0] * 3] * 2}
    assert diary == ["a", "a", "b", "b"] + 2 * (["a"] * 3 + ["b"] * 3)


def test_ratios_are_not_moved_by_a_machine_that_slows_down():
    assert ratio_by_round([6.0, 12.0, 60.0], [2.0, 4.0, 20.0]) == "3.00 [3.00, 3.00]"
    assert ratio_by_round([6.0, 12.0, 60.0], [2.0, 2.0, 2.0]) == "6.00 [3.00, 30.00]"


def fill(megabytes: int) -> int:
    """Hold so much for a few looks, having touched every page."""
    held = np.ones(megabytes * 1_000_000, np.uint8)
    time.sleep(4 * measure.INTERVAL)
    return int(held[-1])


def fill_below(megabytes: int) -> None:
    """The same in a process below."""
    child = get_context("fork").Process(target=fill, args=(megabytes,))
    child.start()
    child.join()


@pytest.mark.slow
@on_linux
def test_the_peak_is_that_of_the_work_and_not_of_this_process():
    ballast = np.ones(1_000_000_000, np.uint8)
    assert 400 < peak_memory(partial(fill, 400), CPU) < len(ballast) / 1e6


@pytest.mark.slow
@on_linux
def test_a_watched_process_counts_with_those_below_it():
    watched = watch(partial(fill_below, 700))
    assert watched.seconds > 4 * measure.INTERVAL
    assert watched.peak["processes"] == 2
    assert watched.peak["peak MB"] > watched.peak["own MB"] > 700


def test_a_command_is_killed_after_its_time_and_shows_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "LEAST", 0.1)
    log = tmp_path / "log"

    def run(program: str, seconds: float) -> dict:
        return run_within([sys.executable, "-S", "-c", program], seconds, log)

    assert run("print('one')", 60)["outcome"] == "done"
    crashed = run("print('two'); raise SystemExit(3)", 60)
    assert (crashed["outcome"], crashed["last_lines"]) == ("status 3", ["two"])
    assert run("import os; os.abort()", 60)["outcome"] == "status -6"
    below = "p = subprocess.Popen(['sleep', '60'])"
    hung = run(f"import subprocess, time; {below}; print(p.pid, flush=True); time.sleep(60)", 2)
    assert hung["outcome"] == "out of time"
    assert hung["seconds"] < 30
    assert any("<module>" in line for line in hung["last_lines"])
    left = [
        process for process in psutil.process_iter() if process.pid == int(hung["last_lines"][0])
    ]
    assert [process.status() for process in left] in ([], [psutil.STATUS_ZOMBIE])
    assert run("print('five')", 0.05)["outcome"] == "no time left"
    assert log.read_text().split("\n")[:2] == ["one", "two"]
