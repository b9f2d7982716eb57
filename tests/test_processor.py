"""How threads wait for one another, and what a training does with memory."""

import os
import platform
import subprocess
import sys

import pytest

# The C library's own functions: small objects of Python next to the arrays would pin some in place.
PROGRAM = """
import ctypes, re, resource
from seq2seq.device import keep_freed_memory, return_free_memory

library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p

def fill_and_free(count, step=1):
    size = ctypes.c_size_t(10 << 20)
    arrays = [ctypes.c_void_p(library.malloc(size)) for _ in range(count)]
    for array in arrays:
        library.memset(array, 1, size)
    for array in arrays[::step]:
        library.free(array)

def faults():
    fill_and_free(10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    fill_and_free(10)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) / 1024

print(faults())
keep_freed_memory()
print(faults())
fill_and_free(40, 2)
before = resident()
return_free_memory()
print(before - resident())
"""


@pytest.mark.parametrize(
    ("given", "kept"),
    [({}, "3000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, "None")],
)
def test_threads_wait_briefly_unless_the_user_says_how_they_wait(given, kept):
    names = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}
    others = {key: value for key, value in os.environ.items() if key not in names}
    program = """
import sys, seq2seq, os
assert "torch" not in sys.modules  # which reads it
print(os.environ.get("GOMP_SPINCOUNT"))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=others | given, capture_output=True, text=True
    )
    assert done.stdout.strip() == kept, done.stderr


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are glibc's")
def test_freed_memory_is_kept_and_holes_are_returned():
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    usual, kept, holes = map(float, done.stdout.split())
    assert kept < usual / 10
    assert holes > 190  # 20 of 10 MB, each between two that are in use
