"""glibc's allocator, set to keep the memory that tensors give back.

A training step frees hundreds of megabytes and asks for as many in the next one. By default glibc
hands much of that back to the system and fetches it again page by page, each zeroed at its first
touch; keeping it saves 5 % of an update. Other C libraries are left as they are.
"""

import ctypes
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # of mallopt(3)
MEGABYTE = 1 << 20
IDLE = 400 * 1000 * 1000
"""Bytes; more are returned: holes between arrays that live on would go on growing."""
SECONDS = 3.0
"""Between two returns, so that fetching the memory again hardly counts."""

_glibc = ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
_returned = -SECONDS


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """A context in which the heap grows by 64 MB and keeps 2 GB; then glibc's own numbers again."""
    _set({MMAP_THRESHOLD: 32 * MEGABYTE, TRIM_THRESHOLD: (1 << 31) - 1, TOP_PAD: 64 * MEGABYTE})
    try:
        yield
    finally:
        _set({TRIM_THRESHOLD: 64 * MEGABYTE, TOP_PAD: 128 * 1024})


def return_idle_memory() -> None:
    """Give idle memory back to the system if it is more than :data:`IDLE`; needs glibc 2.33."""
    global _returned
    if _glibc is None or not hasattr(_glibc, "mallinfo2"):
        return
    if time.monotonic() >= _returned + SECONDS:
        _glibc.mallinfo2.restype = _MallocInfo
        if _glibc.mallinfo2().sizes[8] > IDLE:  # fordblks
            _glibc.malloc_trim(ctypes.c_size_t(0))
            _returned = time.monotonic()


class _MallocInfo(ctypes.Structure):
    _fields_ = [("sizes", ctypes.c_size_t * 10)]


def _set(parameters: dict[int, int]) -> None:
    if _glibc is not None:
        for parameter, value in parameters.items():
            _glibc.mallopt(parameter, value)
