"""How training uses threads, while other programs take the cores, and memory."""

import os
import platform
import subprocess

import pytest
import torch
from helpers.commands import quick

from seq2seq import device
from seq2seq.device import Load

TICKS = os.sysconf("SC_CLK_TCK")


class Machine:
    """A machine of four cores, on which time passes when asked to."""

    def __init__(self, monkeypatch, tmp_path) -> None:
        self.file = tmp_path / "stat"
        self.wall = self.own = 0.0
        self.busy = [0.0] * 6
        monkeypatch.setattr(device.time, "monotonic", lambda: self.wall)
        monkeypatch.setattr(device.time, "process_time", lambda: self.own)
        monkeypatch.setattr(device.os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
        self.pass_time(0, own=0, others=[])

    def pass_time(self, seconds: float, own: float, others: list[float]) -> None:
        """``own`` cores are this process's, ``others`` the share of each core that is not."""
        self.wall += seconds
        self.own += seconds * own
        self.busy[0] += seconds * own
        for core, share in enumerate(others):
            self.busy[core] += seconds * share
        rows = [f"cpu{i} 0 0 {round(x * TICKS)} 999 9 9 9" for i, x in enumerate(self.busy)]
        self.file.write_text("cpu  1 2 3 4\n" + "\n".join(rows) + "\nintr 5\n")


@pytest.fixture
def machine(monkeypatch, tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield Machine(monkeypatch, tmp_path)
    torch.set_num_threads(before)


def test_a_warning_says_once_how_many_threads_the_other_programs_leave(machine, caplog):
    load, unknown = Load(machine.file), Load(machine.file.with_name("none"))
    for seconds, others, said in (
        (5, [], 0),
        (5, [0.1, 0.1], 0),  # what a system does by itself
        (5, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0], 0),  # cores that this process may not use
        (0.6, [1.0, 1.0], 0),  # less than a second decides nothing, and is not lost
        (0.6, [1.0, 1.0], 1),
        (5, [1.0, 1.0, 1.0, 1.0], 1),
    ):
        machine.pass_time(seconds, own=2, others=others)
        load.look()
        unknown.look()
        assert caplog.text.count("OMP_NUM_THREADS=2") == len(caplog.messages) == said


# The C library's own functions: small objects of Python next to the arrays would pin some in place.
PROGRAM = """
import ctypes, re, resource
from seq2seq.device import keep_freed_memory, return_free_memory

library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p

def fill_and_free(count, megabytes):
    size = ctypes.c_size_t(megabytes << 20)
    arrays = [ctypes.c_void_p(library.malloc(size)) for _ in range(count)]
    for array in arrays:
        library.memset(array, 1, size)
    for array in arrays:
        library.free(array)

def faults():
    fill_and_free(8, 15)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(3):
        fill_and_free(8, 15)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) / 1024

print(faults())
before = resident()
keep_freed_memory()
print(faults())
fill_and_free(60, 10)
print(resident() - before)
arrays = [ctypes.c_void_p(library.malloc(ctypes.c_size_t(10 << 20))) for _ in range(40)]
for array in arrays:
    library.memset(array, 1, ctypes.c_size_t(10 << 20))
for array in arrays[::2]:
    library.free(array)
before = resident()
return_free_memory()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are glibc's")
def test_freed_memory_is_kept_up_to_a_bound_and_holes_are_returned(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        quick("program", room=str(tmp_path)), capture_output=True, text=True, check=True
    )
    usual, kept, idle, holes = (float(number) for number in done.stdout.split())
    assert kept < usual / 10
    assert 300 < idle < 520
    assert holes > 190  # 20 of 10 MB, each between two that are in use
