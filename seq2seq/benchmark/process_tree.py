"""The memory of a process and of all that it starts, watched from outside while it works."""

import contextlib
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from seq2seq.errors import UserError

PROC = Path("/proc")
INTERVAL = 0.05
"""Seconds between two looks."""

Result = TypeVar("Result")


class TreeMemory(NamedTuple):
    """Memory of a process and its descendants, in MB of a million bytes."""

    resident: float
    """All pages in memory; one that several processes share counts in each, which is rather too
    much than too little."""
    own: float
    """Without pages of mapped files, which the system takes back when others need memory."""
    processes: int

    def highest(self, other: "TreeMemory") -> "TreeMemory":
        """The larger of each figure."""
        return TreeMemory(
            max(self.resident, other.resident),
            max(self.own, other.own),
            max(self.processes, other.processes),
        )


@dataclass(frozen=True)
class Watched(Generic[Result]):
    """What became of a piece of work."""

    result: Result
    seconds: float
    peak: TreeMemory | None
    """The largest of each figure; None on a system without ``/proc``."""


def run_watched(work: Callable[[], Result]) -> Watched[Result]:
    """Run ``work`` in a fresh process and watch that process and all below it.

    ``work`` and its result travel by pickling; an error of ``work`` is raised here.
    """
    with fresh_process() as pool:
        root = pool.submit(os.getpid).result()
        job = pool.submit(_timed, work)
        peak = None
        while True:
            done = bool(wait([job], timeout=INTERVAL).done)
            now = tree_memory(root)  # once more at the end, for what is soon done
            peak = now if peak is None or now is None else peak.highest(now)
            if done:
                break
        result, seconds = job.result()
    return Watched(result, seconds, peak)


@contextlib.contextmanager
def fresh_process() -> Iterator[ProcessPoolExecutor]:
    """One process that has done nothing yet, for what is measured in it.

    It ends with the block: at once, together with all that it started, if the block fails.

    Raises:
        UserError: it was killed.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        root = pool.submit(os.getpid).result()
        try:
            yield pool
        except BrokenProcessPool:
            raise UserError(
                "The process that was measured has been killed, as a system does when memory is "
                "short; free some, or measure something smaller."
            ) from None
        except BaseException:
            for pid in _tree(root, _statuses()) | {root}:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            raise


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def tree_memory(root: int) -> TreeMemory | None:
    """Memory of process ``root`` and its descendants now; None on a system without ``/proc``."""
    if not (PROC / "self" / "status").is_file():
        return None
    known = _statuses()
    tree = _tree(root, known)
    # A process that is ending has no memory left, and no lines for it.
    own = sum(known[pid].get(field, 0) for pid in tree for field in ("RssAnon", "RssShmem"))
    files = sum(known[pid].get("RssFile", 0) for pid in tree)
    return TreeMemory((own + files) * 1024 / 1e6, own * 1024 / 1e6, len(tree))


def _tree(root: int, known: dict[int, dict[str, int]]) -> set[int]:
    """Ids of process ``root`` and its descendants, as far as they are ``known``."""
    tree = {root} & known.keys()
    while below := {pid for pid in known if known[pid]["PPid"] in tree} - tree:
        tree |= below
    return tree


def _statuses() -> dict[int, dict[str, int]]:
    """Process id -> status; empty on a system without ``/proc``."""
    return {
        int(path.parent.name): status
        for path in PROC.glob("[0-9]*/status")
        if (status := _status(path)) is not None
    }


def _status(path: Path) -> dict[str, int] | None:
    """The numbers of a process's status, memory in kB; None when it has ended meanwhile."""
    try:
        text = path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return {name: int(value) for name, value in re.findall(r"^(PPid|Rss\w+):\s+(\d+)", text, re.M)}
