"""Time and memory: cases that take turns, ratios within a round, peaks of fresh processes.

A machine drifts: another program starts, a processor warms up and slows down. Cases that take turns
within one run meet the same conditions, so their ratio is more reliable than their times.
"""

import contextlib
import gc
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeVar

import psutil
import torch

INTERVAL = 0.05
"""Seconds between two measurements of a watched process."""
LEAST = 10.0
"""Seconds below which a command is not worth starting."""

Case = TypeVar("Case", bound=Hashable)


def time_in_turns(
    cases: Mapping[Case, Callable[[], object]],
    calls: int,
    rounds: int,
    device: torch.device,
    warm_up: int = 2,
) -> dict[Case, list[list[float]]]:
    """Measure the seconds of each call: for each case, a list per round.

    In each round, every case is called ``calls`` times, in the order of ``cases``. Before, each
    case is called ``warm_up`` times: these calls allocate memory and choose algorithms.
    """
    for call in cases.values():
        for _ in range(warm_up):
            call()
    seconds: dict[Case, list[list[float]]] = {case: [] for case in cases}
    for _ in range(rounds):
        for case, call in cases.items():
            seconds[case].append([_seconds(call, device) for _ in range(calls)])
    return seconds


def _seconds(call: Callable[[], object], device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    call()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start


def ratio_by_round(first: Sequence[float], second: Sequence[float]) -> str:
    """Format ``first`` divided by ``second``, round by round, as "median [lowest, highest]"."""
    ratios = [one / two for one, two in zip(first, second, strict=True)]
    return f"{median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"


def _fresh_process() -> ProcessPoolExecutor:
    """Pool of one new process; work and results are pickled."""
    return ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn"))


def peak_memory(work: Callable[[], object], device: torch.device) -> float:
    """Peak memory of ``work``, in MB (a million bytes).

    On a CPU (Linux only) it is the largest resident size of a fresh process, with Python and
    PyTorch; on CUDA the largest sum of the tensors that PyTorch makes for it in this process.
    """
    if device.type == "cuda":
        gc.collect()  # frees recorded graphs, which refer to each other
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        work()
        return (torch.cuda.max_memory_allocated(device) - before) / 1e6
    with _fresh_process() as pool:
        return pool.submit(_peak_here, work, torch.get_num_threads()).result()


def _peak_here(work: Callable[[], object], threads: int) -> float:
    torch.set_num_threads(threads)
    work()
    # getrusage will not do: a child's figure starts from its parent's.
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None  # Linux has this line
    return int(found[1]) * 1024 / 1e6


class Watched(NamedTuple):
    """Result of work in a fresh process, its seconds, and peaks of its process tree.

    ``peak MB`` is all memory, in millions of bytes; a page that several processes share counts in
    each. ``own MB`` leaves out shared pages, such as mapped files. ``processes`` is the number of
    processes.
    """

    result: Any
    seconds: float
    peak: dict[str, float]


def watch(work: Callable[[], object]) -> Watched:
    """Run ``work`` in a fresh process, and measure its memory 20 times a second."""
    with _fresh_process() as pool:
        root = psutil.Process(pool.submit(os.getpid).result())
        job = pool.submit(_timed, work)
        looks = [_tree_memory(root)]
        while not wait([job], timeout=INTERVAL).done:
            looks.append(_tree_memory(root))
        looks.append(_tree_memory(root))
        result, seconds = job.result()
    return Watched(result, seconds, {key: max(look[key] for look in looks) for key in looks[0]})


def run_within(command: Sequence[str], seconds: float, log: Path) -> dict[str, Any]:
    """Run a command, and add its output to ``log``; after ``seconds``, kill all its processes.

    Return its ``outcome`` and ``seconds``, and if it was not done, its ``last_lines``. With less
    than ``LEAST`` seconds it is not started.
    """
    if seconds < LEAST:
        return {"outcome": "no time left", "seconds": 0, "last_lines": []}
    begin, start = log.stat().st_size if log.exists() else 0, time.perf_counter()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
    with log.open("ab") as output:
        started = psutil.Popen(command, stdout=output, stderr=output, env=environment)
        try:
            outcome = f"status {status}" if (status := started.wait(seconds)) else "done"
        except psutil.TimeoutExpired:
            outcome, processes = "out of time", [*started.children(recursive=True), started]
            started.send_signal(signal.SIGABRT)  # Python shows where it is
            psutil.wait_procs([started], timeout=1)
            for process in processes:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(processes, timeout=5)  # a driver may delay their end
    took = {"outcome": outcome, "seconds": round(time.perf_counter() - start, 1)}
    said = log.read_bytes()[begin:].decode(errors="replace").splitlines()
    return took if outcome == "done" else {**took, "last_lines": said[-40:]}


def _timed(work: Callable[[], object]) -> tuple[object, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def _tree_memory(root: psutil.Process) -> dict[str, float]:
    found = []
    for process in [root, *root.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):  # it may have ended just now
            found.append(process.memory_info())
    return {
        "peak MB": sum(memory.rss for memory in found) / 1e6,
        "own MB": sum(memory.rss - getattr(memory, "shared", 0) for memory in found) / 1e6,
        "processes": len(found),
    }
