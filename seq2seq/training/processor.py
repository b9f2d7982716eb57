"""CPU threads and memory of a training.

PyTorch divides each operation among its threads, and all wait for the slowest thread. If another
program uses the core of one thread, all threads wait in every operation: two threads on two cores,
one of them busy, are many times slower than one thread.
"""

import ctypes
import logging
import os
import platform
import time
from pathlib import Path

import torch

log = logging.getLogger(__name__)

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # of mallopt(3)
MEGABYTES = {TRIM_THRESHOLD: 512, TOP_PAD: 384, MMAP_THRESHOLD: 32}


def keep_freed_memory() -> None:
    """Let glibc's allocator keep the memory that an update frees for the next one, up to 512 MB.

    By default it returns much memory to the system and requests it again page by page, and the
    system zeroes each page: 6 % of the time of an update. Other C libraries are not changed.
    """
    if platform.libc_ver()[0] == "glibc":
        for parameter, size in MEGABYTES.items():
            ctypes.CDLL(None).mallopt(parameter, size << 20)


class Load:
    """Warns once if other programs take cores that PyTorch's threads need."""

    def __init__(self, statistics: Path = Path("/proc/stat")) -> None:
        self._statistics = statistics
        self._watches = torch.get_num_threads() > 1 and statistics.is_file()
        if self._watches:
            self._last = self._clocks()

    def look(self) -> None:
        """Measure the load since the last call; warn if there are more threads than free cores."""
        if not self._watches:
            return
        now = self._clocks()
        elapsed, busy, own = (after - before for after, before in zip(now, self._last, strict=True))
        if elapsed < 1:  # /proc/stat counts in hundredths of a second
            return
        self._last = now
        cores = len(os.sched_getaffinity(0))
        free = cores - max(0.0, busy - own) / elapsed
        threads = max(1, round(free))
        if threads < torch.get_num_threads():
            log.warning(
                f"Other programs leave {free:.1f} of {cores} cores free, so threads wait for one "
                f"another. Training can be many times faster with OMP_NUM_THREADS={threads}."
            )
            self._watches = False

    def _clocks(self) -> tuple[float, float, float]:
        """Return in seconds: wall time, busy time of all usable cores, CPU time of this process."""
        usable = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        rows = (line.split() for line in self._statistics.read_text().split("\n") if line)
        # User, nice, system; then idle, waiting for a disk, interrupts, ...
        ticks = sum(sum(map(int, counts[:3])) for name, *counts in rows if name in usable)
        return time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), time.process_time()
