"""The most memory that training by one path, or other work, ever holds, in a process of its own."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch

from seq2seq.benchmark.paths import PATHS, Workload
from seq2seq.benchmark.process_tree import fresh_process
from seq2seq.benchmark.sizes import SIZES

UPDATES = 3
"""Enough for the peak: the optimizer's state is there from the second on."""
STATUS = Path("/proc/self/status")


class Memory(NamedTuple):
    """Peak memory, in MB of a million bytes."""

    peak: float
    """On a CPU the process's largest resident size, Python and PyTorch included; on CUDA the
    largest sum of the tensors that PyTorch held."""
    beyond_pytorch: float
    """The part of it that is the work's and not the program's: on a CPU, what came on top of a
    first run at size ``tiny``, by which all code has been loaded."""


def measure_memory(path: str, workload: Workload) -> Memory | None:
    """Peak memory of a few updates; None for a CPU on a system without ``/proc``."""
    tiny = replace(workload, size=SIZES["tiny"])
    return measure_peak(
        partial(_train, path, tiny), partial(_train, path, workload), workload.device
    )


def measure_peak(
    first: Callable[[], None], work: Callable[[], None], device: torch.device
) -> Memory | None:
    """Peak memory of ``work`` on ``device``; None for a CPU on a system without ``/proc``.

    The process is a fresh one, with as many threads as this one uses: in this one, what other work
    has needed and given back would count too. Both functions travel there by pickling.

    Args:
        first: the same at a size that hardly counts; it loads all code, before anything counts.
        work: what is measured.
        device: what both compute on.
    """
    with fresh_process() as pool:
        return pool.submit(_measure_here, first, work, device, torch.get_num_threads()).result()


def _measure_here(
    first: Callable[[], None], work: Callable[[], None], device: torch.device, threads: int
) -> Memory | None:
    torch.set_num_threads(threads)
    first()
    before = _resident("VmRSS")
    work()
    if device.type == "cuda":
        peak = torch.cuda.max_memory_allocated(device) / 1e6
        return Memory(peak, peak)
    after = _resident("VmHWM")
    return None if before is None or after is None else Memory(after, after - before)


def _train(path: str, workload: Workload) -> None:
    training = PATHS[path].start(workload)
    for _ in range(UPDATES):
        training.update()


def _resident(field: str) -> float | None:
    """A size of this process in MB: ``VmRSS`` is now, ``VmHWM`` the largest ever.

    ``getrusage`` will not do for the latter: a child's figure starts from its parent's.
    """
    if not STATUS.is_file():
        return None
    found = re.search(rf"^{field}:\s+(\d+) kB$", STATUS.read_text(), re.MULTILINE)
    return int(found.group(1)) * 1024 / 1e6 if found else None
