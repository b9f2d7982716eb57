"""Freed memory stays with the process while that is asked for, up to a bound."""

import ctypes
import platform
import subprocess
import sys

import pytest

# The C library's own functions: small objects of Python next to the arrays would pin some in place.
PROGRAM = """
import ctypes, re, resource
from seq2seq.training.processor import freed_memory_kept, return_idle_memory

library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p

def fill_and_free(count, megabytes, kept=0):
    size = ctypes.c_size_t(megabytes << 20)
    arrays = [ctypes.c_void_p(library.malloc(size)) for _ in range(count)]
    for array in arrays:
        library.memset(array, 1, size)
    for array in arrays[:count - kept]:
        library.free(array)

def faults():
    fill_and_free(8, 15)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        fill_and_free(8, 15)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) / 1024

print(faults())
with freed_memory_kept():
    print(faults())
    before = resident()
    for megabytes in (300, 600, 600):  # an array behind them lives on, so that they are a hole
        fill_and_free(megabytes // 10, 10, kept=1)
        full = resident()
        return_idle_memory()
        print(full - before, resident() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are glibc's")
def test_freed_memory_is_kept_without_page_faults_until_much_lies_idle():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    usual, kept, *sizes = (float(number) for number in done.stdout.split())
    assert kept < usual / 10
    if not hasattr(ctypes.CDLL(None), "mallinfo2"):
        pytest.skip("only glibc 2.33 says how much lies idle")
    few, few_after, many, many_after, again, again_after = sizes
    assert few_after == pytest.approx(few, abs=10)
    assert few > 150
    assert many_after < many - 500
    assert again_after == pytest.approx(again, abs=10), "twice within TRIM_INTERVAL"
