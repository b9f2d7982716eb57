"""As many threads as the machine has free cores.

PyTorch divides each operation among its threads, and each waits for the last one. Where another
program takes a core from one of them, all wait, operation by operation: two threads on two busy
cores are many times slower than one.
"""

import logging
import os
import time
from pathlib import Path

import torch

log = logging.getLogger(__name__)


class Threads:
    """PyTorch's threads, from the number that the process starts with down to one.

    Another number of threads adds numbers up in another order, so the last bits of a training
    depend on it. ``fixed`` leaves the number as it is, and so does a system without /proc/stat.
    """

    def __init__(self, fixed: bool, statistics: Path = Path("/proc/stat")) -> None:
        self.most = torch.get_num_threads()
        self.statistics = statistics
        self.fixed = fixed or self.most == 1 or not statistics.is_file()
        if not self.fixed:
            self._last = self._clocks()

    def adapt(self) -> None:
        """Set the number of threads by the load since the last call; log a change."""
        if self.fixed:
            return
        now = self._clocks()
        elapsed, busy, own = (after - before for after, before in zip(now, self._last, strict=True))
        if elapsed < 1:  # /proc/stat counts in hundredths of a second
            return
        self._last = now
        cores = len(os.sched_getaffinity(0))
        free = cores - max(0.0, busy - own) / elapsed
        threads = min(self.most, max(1, round(free)))
        if threads != torch.get_num_threads():
            log.info(
                "Other programs leave %.1f of %d cores free: training with %d of %d threads.",
                *(free, cores, threads, self.most),
            )
            torch.set_num_threads(threads)

    def _clocks(self) -> tuple[float, float, float]:
        """Seconds: of the wall clock, busy of all usable cores, and used by this process."""
        usable = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        rows = (line.split() for line in self.statistics.read_text().split("\n") if line)
        # User, nice, system; then idle, waiting for a disk, interrupts, ...
        ticks = sum(sum(map(int, counts[:3])) for name, *counts in rows if name in usable)
        return time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), time.process_time()
