"""Freed memory stays with the process while that is asked for, up to a bound."""

import ctypes
import os
import platform
import subprocess
import sys

import pytest

# What is resident after many MB, with an array behind them that lives on, were freed and returned.
RETURN = """
import ctypes, re, sys
from seq2seq.training.allocator import freed_memory_kept, return_idle_memory

library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) / 1024

with freed_memory_kept():
    before = resident()
    size = ctypes.c_size_t(10 << 20)
    arrays = [ctypes.c_void_p(library.malloc(size)) for _ in range(int(sys.argv[1]) // 10)]
    for array in arrays:
        library.memset(array, 1, size)
    for array in arrays[:-1]:
        library.free(array)
    full = resident()
    return_idle_memory()
    returned = resident()
    arrays = [ctypes.c_void_p(library.malloc(size)) for _ in arrays]
    for array in arrays:
        library.memset(array, 1, size)
    for array in arrays[:-1]:
        library.free(array)
    return_idle_memory()
    print(full - before, returned - before, resident() - before)
"""


# Page faults of ten rounds that fill and free eight arrays of 16 MB, as usual and in the context.
# The C library's own functions: small objects of Python beside the arrays would pin some in place.
COUNT = """
import contextlib, ctypes, resource, sys
from seq2seq.training.allocator import freed_memory_kept

library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
size = ctypes.c_size_t(16_000_000)

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        arrays = [ctypes.c_void_p(library.malloc(size)) for _ in range(8)]
        for array in arrays:
            library.memset(array, 1, size)
        for array in arrays:
            library.free(array)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

with freed_memory_kept() if sys.argv[1] == "kept" else contextlib.nullcontext():
    faults()
    print(faults())
"""


def run(program: str, argument: str, environment: dict[str, str]) -> list[float]:
    """The numbers that a program prints, run where only ``environment`` sets the allocator."""
    inherited = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    done = subprocess.run(
        [sys.executable, "-c", program, argument],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(number) for number in done.stdout.split()]


def count_faults(way: str, environment: dict[str, str]) -> float:
    (faults,) = run(COUNT, way, environment)
    return faults


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are glibc's")
class TestFreedMemoryKept:
    def test_arrays_made_again_bring_no_page_faults(self) -> None:
        assert count_faults("kept", {}) < count_faults("usual", {}) / 10

    def test_leaves_an_allocator_alone_that_the_environment_has_set(self) -> None:
        told = {"MALLOC_TRIM_THRESHOLD_": "131072"}
        assert count_faults("kept", told) > count_faults("usual", told) / 2 > 1_000


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs glibc 2.33")
class TestReturnIdleMemory:
    def test_much_that_lies_idle_goes_back_to_the_system(self) -> None:
        full, returned, again = run(RETURN, "600", {})
        assert full > 590
        assert returned < 30
        assert again > 590, "twice within SECONDS"

    def test_what_a_usual_step_frees_stays(self) -> None:
        full, returned, _ = run(RETURN, "300", {})
        assert returned == pytest.approx(full, abs=10)
        assert full > 280
