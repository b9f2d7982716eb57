"""Which device and precision are chosen, how threads wait, and what memory is kept."""

import importlib
import os
import platform
import subprocess
import sys
from unittest.mock import Mock

import pytest
import torch

import seq2seq
from seq2seq.device import choose_device, choose_precision
from seq2seq.errors import UserError

CPU = torch.device("cpu")


@pytest.fixture
def products(monkeypatch):
    """PyTorch's settings of products, on a machine with a GPU; they are put back afterwards."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    matmul = torch.backends.cuda.matmul
    before = matmul.allow_bf16_reduced_precision_reduction
    matmul.allow_bf16_reduced_precision_reduction = True
    yield matmul
    matmul.allow_bf16_reduced_precision_reduction = before


def test_auto_is_cuda_where_there_is_one_with_exact_sums(products, monkeypatch):
    assert choose_device("cpu") == CPU
    assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
    assert choose_device("auto") == choose_device("cuda") == torch.device("cuda", 1)
    assert not products.allow_bf16_reduced_precision_reduction
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    choose_device("cuda")
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"


@pytest.mark.parametrize(
    ("name", "capability", "expected"),
    [
        ("auto", (8, 0), torch.bfloat16),
        ("auto", (7, 5), torch.float32),
        ("bf16", (7, 0), torch.bfloat16),
        ("fp32", (9, 0), torch.float32),
    ],
)
def test_an_lstm_rounds_its_products_where_the_others_are_rounded(
    products, monkeypatch, name, capability, expected
):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    assert choose_precision(name, choose_device("cuda")) == expected
    assert torch.backends.cudnn.allow_tf32 == (expected == torch.bfloat16)


def test_absent_cuda_and_unknown_names_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == CPU
    for name in ("cuda", "cudda"):
        with pytest.raises(UserError, match=f"device={name}"):
            choose_device(name)
    with pytest.raises(UserError, match="precision=bf6"):
        choose_precision("bf6", CPU)


@pytest.mark.parametrize("probes", [(True, False), (False, True), (False, False), ()])
def test_auto_precision_follows_the_instruction_set(probes, monkeypatch):
    """Also in a version of PyTorch without these private names."""
    names = "_is_amx_tile_supported", "_is_avx512_bf16_supported"
    for name in names:
        monkeypatch.delattr(torch.cpu, name, raising=False)
    for name, found in zip(names, probes, strict=False):
        monkeypatch.setattr(torch.cpu, name, Mock(return_value=found), raising=False)
    expected = torch.bfloat16 if any(probes) else torch.float32
    assert choose_precision("auto", CPU) is expected
    assert choose_precision("bf16", CPU) is torch.bfloat16
    assert choose_precision("fp32", CPU) is torch.float32


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no fork here")
def test_a_forked_process_does_not_wait_for_threads_that_it_lacks():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        if (child := os.fork()) == 0:
            os._exit(torch.get_num_threads())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("given", "kept"),
    [({}, "3000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)],
)
def test_threads_wait_briefly_unless_the_user_says_how_they_wait(given, kept, monkeypatch):
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, given.get(name, ""))
        if name not in given:
            monkeypatch.delenv(name)
    importlib.reload(seq2seq)
    assert os.environ.get("GOMP_SPINCOUNT") == kept


# The C library's own functions: small objects of Python next to the arrays would pin some in place.
MEMORY = """
import ctypes, resource
from pathlib import Path
from seq2seq.device import keep_freed_memory, return_free_memory

library, size = ctypes.CDLL(None), ctypes.c_size_t(10 << 20)
library.malloc.restype = ctypes.c_void_p

def fill_and_free(count, step):
    arrays = [ctypes.c_void_p(library.malloc(size)) for _ in range(count)]
    for array in arrays:
        library.memset(array, 1, size)
    for array in arrays[::step]:
        library.free(array)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def resident():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) // 1024

print(-fill_and_free(10, 1) + fill_and_free(10, 1))
keep_freed_memory()
print(-fill_and_free(10, 1) + fill_and_free(10, 1))
fill_and_free(40, 2)
before = resident()
return_free_memory()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are glibc's")
@pytest.mark.slow
def test_freed_memory_is_kept_and_holes_are_returned():
    usual, kept, holes = map(int, subprocess.check_output([sys.executable, "-c", MEMORY]).split())
    assert kept < usual / 10
    assert holes > 190  # 20 of 10 MB, each between two that are in use
