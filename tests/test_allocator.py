"""Freed memory stays with the process while that is asked for."""

import os
import platform
import subprocess
import sys

import pytest

# Page faults of ten rounds that fill and free eight arrays of 16 MB, as usual and in the context.
# The C library's own functions: small objects of Python beside the arrays would pin some in place.
COUNT = """
import contextlib, ctypes, resource, sys
from seq2seq.allocator import freed_memory_kept

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


def count_faults(way: str, environment: dict[str, str]) -> int:
    inherited = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    done = subprocess.run(
        [sys.executable, "-c", COUNT, way],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are glibc's")
class TestFreedMemoryKept:
    def test_arrays_made_again_bring_no_page_faults(self) -> None:
        assert count_faults("kept", {}) < count_faults("usual", {}) / 10

    def test_leaves_an_allocator_alone_that_the_environment_has_set(self) -> None:
        told = {"MALLOC_TRIM_THRESHOLD_": "131072"}
        assert count_faults("kept", told) > count_faults("usual", told) / 2 > 1_000
