"""The Triton kernels against plain PyTorch: compiled where there is a GPU, else interpreted."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from kernel_arrays import (
    BFLOAT_ROUNDING,
    EXCLUDING,
    KERNELS,
    LARGE,
    LARGE_SHARED,
    ODD,
    SHARED,
    Sizes,
    arguments,
    assert_same,
    copied,
    in_float64,
    run,
    spoil_padding,
)

from seq2seq.model import kernels, recurrence
from seq2seq.model.encoder import length_mask
from seq2seq.model.kernels import TorchKernels, choose_kernels, gpu, torch_only
from seq2seq.model.score import AdditiveScore

pytest.importorskip("triton", reason="Triton is not installed (it exists for Linux alone)")

pytestmark = pytest.mark.filterwarnings(  # of NumPy, in which the interpreter computes
    "ignore:overflow encountered:RuntimeWarning", "ignore:invalid value:RuntimeWarning"
)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDING = BFLOAT_ROUNDING if DEVICE == "cuda" else 2 * BFLOAT_ROUNDING
"""The interpreter cuts bfloat16 off."""
NARROW = pytest.mark.parametrize("narrow", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
REAL = Sizes(batch=64, positions=14, attention=512, hidden=512, memory=512, words=8000, rows=262)


@pytest.fixture(scope="module")
def triton():
    from seq2seq.model.kernels import programs

    return gpu.TritonKernels(programs)


@NARROW
@pytest.mark.parametrize("sizes", [ODD, LARGE], ids=["odd", "large"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_the_definition_in_float64(triton, kernel, sizes, narrow):
    given = arguments(kernel, sizes, narrow)
    exact = run(TorchKernels(), kernel, in_float64(given))
    assert_same(run(triton, kernel, given, DEVICE), exact, 1e-5, ROUNDING)


@pytest.mark.parametrize("sizes", [SHARED, LARGE_SHARED], ids=["odd", "large"])
@pytest.mark.parametrize("kernel", ["attend", "additive_scores"])
def test_rows_that_share_a_sentence(triton, kernel, sizes):
    given = arguments(kernel, sizes, torch.float32)
    exact = run(TorchKernels(), kernel, in_float64(given))
    assert_same(run(triton, kernel, given, DEVICE), exact, 1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_large_numbers_neither_overflow_nor_turn_into_nan(triton, kernel):
    """Gates of +-200, scores and logits of +-10,000."""
    scale = 200.0 if "cell" in kernel or "additive" in kernel else 3000.0
    given = arguments(kernel, ODD, torch.float32, scale=scale)
    exact = run(TorchKernels(), kernel, in_float64(given))
    actual = run(triton, kernel, given, DEVICE)
    assert_same(actual, exact, 1e-5)
    assert not any(array.isnan().any() for array in actual.values())


def test_gates_keep_their_digits(triton):
    """The tangent near zero too, where the plain formula loses them."""
    x = torch.cat([torch.logspace(-30, 3, 2000), torch.linspace(0.1, 0.3, 2000)])
    x = torch.cat([x, -x])[None]
    zeros = torch.zeros_like(x)
    given = {
        "inputs": x.repeat(1, 4),
        "product": torch.zeros(1, 4 * x.shape[1]),
        "before": zeros,
        "gates": torch.zeros(1, 4 * x.shape[1]),
        "after": zeros,
        "hidden": zeros,
        "narrow": zeros,
    }
    i, f, g, o = run(triton, "cell", given, DEVICE)["gates"].double().chunk(4, dim=1)
    # The device's own exponential and division are good to 2 in the last place; NumPy's are exact.
    rtol = 1.2e-6 if DEVICE == "cuda" else 6e-7
    torch.testing.assert_close(g, x.double().tanh(), rtol=rtol, atol=0)
    for gate in (i, f, o):
        torch.testing.assert_close(gate, x.double().sigmoid(), rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize(("kernel", "name"), [("attend", "weights"), ("softmax_loss", "logits")])
def test_the_greatest_may_come_last_and_the_excluded_first(triton, kernel, name):
    given = arguments(kernel, LARGE, torch.float32)
    given[name] = given[name].sort(dim=1).values
    exact = run(TorchKernels(), kernel, in_float64(given))
    assert_same(run(triton, kernel, given, DEVICE), exact, 1e-5)


@pytest.mark.parametrize("kernel", EXCLUDING)
def test_padding_changes_nothing(triton, kernel):
    given = arguments(kernel, LARGE, torch.float32)
    clean = run(triton, kernel, given, DEVICE)
    spoilt, name = spoil_padding(given, kernel)
    assert_same(run(triton, kernel, spoilt, DEVICE) | {name: clean[name]}, clean, 0.0)


def test_nan_stays_nan(triton):
    """So that training notices that it has exploded."""
    given = arguments("attend", ODD, torch.float32)
    given["weights"][0, 0] = float("nan")
    assert run(triton, "attend", given, DEVICE)["context"][0].isnan().all()
    given = arguments("softmax_loss", ODD, torch.float32)
    given["logits"][4, 2] = float("nan")
    after = run(triton, "softmax_loss", given, DEVICE)
    assert after["likelihood"].isnan()
    assert after["logits"][4].isnan().all()


def test_a_target_outside_the_vocabulary_makes_the_loss_nan(triton):
    given = arguments("softmax_loss", ODD, torch.float32)
    given["targets"][2] = ODD.words
    assert run(triton, "softmax_loss", given, DEVICE)["likelihood"].isnan()


def test_without_a_gradient_for_the_bias_logits_stay(triton):
    given = arguments("softmax_loss", ODD, torch.float32) | {"d_bias": None}
    after = run(triton, "softmax_loss", given, DEVICE)
    assert torch.equal(after["logits"], given["logits"])
    exact = run(TorchKernels(), "softmax_loss", in_float64(given))
    assert_same(after, exact, 1e-5)


def test_refuses_arrays_that_it_would_misread(triton):
    given = arguments("attend", ODD, torch.float32)
    given["memory"] = given["memory"].transpose(0, 1).contiguous().transpose(0, 1)
    with pytest.raises(ValueError, match="not contiguous"):
        triton.attend(**given)


@pytest.mark.parametrize("autocast", [False, True], ids=["f32", "bf16"])
def test_the_whole_scan_equals_plain_pytorch(triton, autocast, monkeypatch):
    exact = scan_and_gradients(autocast)
    monkeypatch.setattr(recurrence, "choose_kernels", lambda device, wide, narrow: triton)
    actual = scan_and_gradients(autocast)
    for name, array in exact.items():
        error = (actual[name] - array).norm() / array.norm()
        assert error < (0.02 if autocast else 1e-5), name


def scan_and_gradients(autocast):
    """Outputs of a scan of two ragged sentences, and the gradient of their random projection."""
    torch.manual_seed(0)
    batch, positions, memory, hidden, attention, steps = 2, 5, 6, 7, 9, 4
    mask = length_mask(torch.tensor([5, 3]), positions).to(DEVICE)
    shapes = {
        "inputs": (steps, batch, 4 * hidden),
        "hidden": (batch, hidden),
        "cell": (batch, hidden),
        "weight": (4 * hidden, memory + hidden),
        "memory": (batch, positions, memory),
        "query": (attention, hidden),
        "keys": (batch, positions, attention),
        "vector": (attention,),
    }
    leaves = {n: torch.randn(s).to(DEVICE).requires_grad_() for n, s in shapes.items()}
    inputs, start, cell, weight, source, query, keys, vector = leaves.values()
    alignment = recurrence.AlignmentInput(source, mask, query, AdditiveScore(keys, vector))
    with torch_only(), torch.autocast(DEVICE, torch.bfloat16, enabled=autocast):
        scan = recurrence.attention_scan(inputs, start, cell, weight, alignment)
    loss = sum((x * torch.randn(x.shape).to(x)).sum() for x in (scan.hidden, scan.context))
    loss.backward()
    return scan._asdict() | {f"d_{name}": leaf.grad for name, leaf in leaves.items()}


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="needs a CUDA device")
@pytest.mark.parametrize("kernel", KERNELS)
def test_on_a_gpu_at_real_sizes_and_in_a_graph(triton, kernel):
    assert gpu.load_triton() is not None
    given = arguments(kernel, REAL, torch.bfloat16)
    eager = run(triton, kernel, given, DEVICE)
    assert_same(eager, run(TorchKernels(), kernel, in_float64(given)), 1e-4)
    # Laid out as before, or another kernel would have to be compiled in the capture.
    arrays = {n: copied(x, DEVICE) if torch.is_tensor(x) else x for n, x in given.items()}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # compiled by now; to wait is an error in here
        getattr(triton, kernel)(**arrays)
    graph.replay()
    for name, array in arrays.items():
        if torch.is_tensor(array) and name != "narrow":
            assert torch.equal(array.cpu(), eager[name]), name


def test_chosen_for_cuda_where_they_run(triton, monkeypatch):
    device = torch.device("cuda")
    monkeypatch.setattr(kernels, "load_triton", lambda: triton)
    assert choose_kernels(device, torch.float32, torch.bfloat16) is triton
    assert choose_kernels(device, torch.float64, torch.float64).name == "torch"
    with torch_only():
        assert choose_kernels(device, torch.float32, torch.bfloat16).name == "torch"
    monkeypatch.setattr(kernels, "load_triton", lambda: None)
    assert choose_kernels(device, torch.float32, torch.bfloat16).name == "torch"


@pytest.mark.parametrize(
    ("capability", "level"), [((7, 5), "INFO"), ((9, 0), "WARNING")], ids=["old", "broken"]
)
def test_a_gpu_that_they_do_not_run_on_gets_plain_pytorch(capability, level, monkeypatch, caplog):
    def fail(kernels, device):
        raise RuntimeError("Failed to find C compiler.\nPlease specify via CC")

    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    monkeypatch.setattr(gpu, "try_out", fail)
    with caplog.at_level(logging.INFO):
        assert gpu.load_triton.__wrapped__() is None
    (record,) = caplog.records
    assert record.levelname == level
    assert "\n" not in record.message


def test_what_is_tried_out_first_runs_itself(triton):
    """Else a fault of its own would send every GPU to plain PyTorch, with a warning alone."""
    gpu.try_out(triton, torch.device(DEVICE))


def test_without_triton_a_line_says_so(monkeypatch, caplog):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    monkeypatch.setitem(sys.modules, "seq2seq.model.kernels.programs", None)
    monkeypatch.delattr(kernels, "programs", raising=False)
    with caplog.at_level(logging.INFO):
        assert gpu.load_triton.__wrapped__() is None
    assert "not installed" in caplog.text


COMPILE_ALL = """
import sys, torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction
from kernel_arrays import KERNELS, ODD, arguments
from seq2seq.model.kernels import gpu, programs

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
for kernel in KERNELS:
    getattr(gpu.TritonKernels(programs), kernel)(**arguments(kernel, ODD, torch.bfloat16))
assert len(compiled) == 10
assert all(kernel.asm["cubin"] for kernel in compiled)
"""


@pytest.mark.slow
def test_compiles_for_a_hopper_gpu_without_one(tmp_path):
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
