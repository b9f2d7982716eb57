"""The C library's allocator, told to keep the memory that tensors give back.

A training step frees hundreds of megabytes of tensors and asks for as many in the next step. As it
comes, glibc hands much of that back to the system and fetches it again, page by page, each page
zeroed at its first touch. Memory that is kept has its pages already.
"""

import ctypes
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

# Parameters of mallopt(3), from malloc.h.
TRIM_THRESHOLD = -1
TOP_PAD = -2
MMAP_THRESHOLD = -3

MEGABYTE = 1 << 20
KEEPING = {MMAP_THRESHOLD: 32 * MEGABYTE, TRIM_THRESHOLD: (1 << 31) - 1, TOP_PAD: 64 * MEGABYTE}
"""Allocations up to 32 MB (glibc allows no more) come from the heap, which grows by 64 MB at a time
and gives nothing back before 2 GB lie idle at its end."""
USUAL = {MMAP_THRESHOLD: 32 * MEGABYTE, TRIM_THRESHOLD: 64 * MEGABYTE, TOP_PAD: 128 * 1024}
"""What glibc arrives at by itself in a program that frees arrays of 32 MB."""
IDLE = 400 * 1000 * 1000
"""More bytes than this are not kept: holes between arrays that live on would go on growing, most of
all where every batch has another shape."""
SECONDS = 3.0
"""Between two returns, so that fetching the memory again hardly counts."""


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """A context in which this process keeps freed memory for itself; afterwards it is as usual.

    Changes nothing where the C library is not glibc, or where the environment already says how
    its allocator shall behave (``MALLOC_TRIM_THRESHOLD_`` and its like).
    """
    _set(KEEPING)
    try:
        yield
    finally:
        _set(USUAL)


def return_idle_memory() -> None:
    """Give freed memory back to the system if it has come to more than :data:`IDLE`.

    Does so at most once in :data:`SECONDS`. Changes nothing where :func:`freed_memory_kept` does
    not, or where glibc is older than 2.33.
    """
    library = _glibc()
    if library is None or not hasattr(library, "mallinfo2"):
        return
    if _Return.next <= time.monotonic():
        library.mallinfo2.restype = _MallocInfo
        if library.mallinfo2().fordblks > IDLE:
            library.malloc_trim(ctypes.c_size_t(0))
            _Return.next = time.monotonic() + SECONDS


class _Return:
    """Of the process, as its memory is."""

    next = 0.0
    """Not before this time, by the monotonic clock."""


class _MallocInfo(ctypes.Structure):
    """struct mallinfo2 of malloc.h; ``fordblks`` is what lies idle, in bytes."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def _set(parameters: dict[int, int]) -> None:
    library = _glibc()
    if library is not None:
        for parameter, value in parameters.items():
            library.mallopt(parameter, value)


@cache
def _glibc() -> ctypes.CDLL | None:
    told = any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ)
    if told or platform.libc_ver()[0] != "glibc":
        return None
    return ctypes.CDLL(None)
