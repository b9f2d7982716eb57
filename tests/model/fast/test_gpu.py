"""What only the Triton kernels have: compiled where there is a GPU, else interpreted."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers.kernel_arrays import (
    ARGUMENTS,
    OPERATIONS,
    Sizes,
    arguments,
    assert_same,
    copied,
    in_float64,
    run,
)

from seq2seq.model.fast.choose import compiled_operations
from seq2seq.model.fast.operations import Operations

pytest.importorskip("triton", reason="Triton is not installed (it exists for Linux alone)")

pytestmark = pytest.mark.filterwarnings(  # of NumPy, in which the interpreter computes
    "ignore:overflow encountered:RuntimeWarning", "ignore:invalid value:RuntimeWarning"
)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
REAL = Sizes(N=64, S=14, A=512, H=512, M=512, V=8000, L=262)


@pytest.fixture(scope="module")
def kernels():
    from seq2seq.model.fast.gpu import TritonOperations

    return TritonOperations()


def test_gates_keep_their_digits(kernels):
    """The tangent near zero too, where the plain formula loses them."""
    x = torch.cat([torch.logspace(-30, 3, 2000), torch.linspace(0.1, 0.3, 2000)])
    x = torch.cat([x, -x])[None]
    given = {name: torch.zeros_like(x) for name in ARGUMENTS["cell"].split()}
    given |= {name: torch.zeros_like(x.repeat(1, 4)) for name in ("product", "gates")}
    given["inputs"] = x.repeat(1, 4)
    i, f, g, o = run(kernels, "cell", given, DEVICE)["gates"].double().chunk(4, dim=1)
    # The device's own exponential and division are good to 2 in the last place; NumPy's are exact.
    rtol = 1.2e-6 if DEVICE == "cuda" else 6e-7
    torch.testing.assert_close(g, x.double().tanh(), rtol=rtol, atol=0)
    for gate in (i, f, o):
        torch.testing.assert_close(gate, x.double().sigmoid(), rtol=1e-5, atol=1e-30)


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="needs a CUDA device")
@pytest.mark.parametrize("name", OPERATIONS)
def test_on_a_gpu_at_real_sizes_and_in_a_graph(kernels, name):
    assert compiled_operations("cuda") is not None
    given = arguments(name, REAL, torch.bfloat16)
    eager = run(kernels, name, given, DEVICE)
    assert_same(eager, run(Operations(), name, in_float64(given)), 1e-4)
    # Laid out as before, or another kernel would have to be compiled in the capture.
    arrays = {n: copied(x, DEVICE) for n, x in given.items()}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # compiled by now; to wait is an error in here
        getattr(kernels, name)(*arrays.values())
    graph.replay()
    for array, numbers in arrays.items():
        if array != "narrow":
            assert torch.equal(numbers.cpu(), eager[array]), array


def test_plain_operations_where_triton_or_its_gpu_is_missing(monkeypatch, caplog):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (7, 5))
    with caplog.at_level(logging.INFO):
        assert compiled_operations.__wrapped__("cuda") is None
        monkeypatch.setitem(sys.modules, "seq2seq.model.fast.gpu", None)  # as without Triton
        assert compiled_operations.__wrapped__("cuda") is None
    assert len(caplog.records) == 2


COMPILE_ALL = """
import sys, torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction
from helpers.kernel_arrays import OPERATIONS, ODD, arguments
from seq2seq.model.fast.gpu import TritonOperations

class NoDriver:  # what the launcher asks of a driver before it compiles
    get_current_target = staticmethod(lambda: GPUTarget("cuda", 90, 32))
    get_current_device = staticmethod(lambda: 0)
    get_current_stream = staticmethod(lambda device: 0)

driver.set_active(NoDriver())
compiled = []

def compile_only(function, grid):
    def launch(*args, **kwargs):
        compiled.append(function.run(*args, grid=grid, warmup=True, **kwargs))
    return launch

JITFunction.__getitem__ = compile_only
for name in OPERATIONS:
    getattr(TritonOperations(), name)(*arguments(name, ODD, torch.bfloat16).values())
assert len(compiled) == 8
assert all(kernel.asm["cubin"] for kernel in compiled)
"""


@pytest.mark.slow
def test_they_compile_for_a_hopper_gpu_without_one(tmp_path):
    """What the interpreter is lenient about: types, shapes, the arguments of each launch."""
    tests = Path(__file__).resolve().parents[2]
    environment = os.environ | {
        "TRITON_INTERPRET": "0",
        "TRITON_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent)]),
    }
    command = [sys.executable, "-c", COMPILE_ALL]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
