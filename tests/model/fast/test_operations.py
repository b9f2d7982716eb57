"""The operations in C++, in Triton and in plain PyTorch, all against plain PyTorch in float64.

That one is compared with the layers themselves in test_decoder.py; its loss, here.
"""

import math

import pytest
import torch
from helpers import kernel_arrays as arrays
from helpers.kernel_arrays import LARGE, ODD, arguments, assert_same, in_float64, run
from torch.nn import functional

from seq2seq.data.vocabulary import PAD
from seq2seq.model.fast.compiled import CppOperations, compiled_operations
from seq2seq.model.fast.operations import PLAIN

pytestmark = pytest.mark.filterwarnings(  # of NumPy, in which Triton's interpreter computes
    "ignore:overflow encountered:RuntimeWarning", "ignore:invalid value:RuntimeWarning"
)
ON_GPU = torch.cuda.is_available()
REAL = {"N": 64, "S": 14, "A": 512, "H": 512, "M": 512, "V": 8000, "L": 262, "W": 1}


@pytest.fixture(scope="module", params=["plain", "cpp", "cpp-three-threads", "triton"])
def operations(request):
    if request.param == "plain":
        yield PLAIN
    elif request.param == "triton":
        pytest.importorskip("triton", reason="Triton is not installed (it exists for Linux alone)")
        from seq2seq.model.fast.gpu import TritonOperations

        yield TritonOperations()
    elif compiled_operations("cpu") is None:
        pytest.skip("the C++ operations cannot be built here")
    else:
        usual = torch.get_num_threads()
        torch.set_num_threads(3 if "three" in request.param else 1)
        yield CppOperations()
        torch.set_num_threads(usual)


def rounding(operations):
    """The relative error of bfloat16; Triton's interpreter cuts it off."""
    return arrays.BFLOAT_ROUNDING * (1 if ON_GPU or operations.name != "triton" else 2)


# Blocks of scores have at most eight positions; to interpret 131 of them takes seconds.
SIZES = {"odd": ODD, "large": LARGE, "short": LARGE | {"S": 17}, "shared": LARGE | {"S": 9, "W": 3}}
HAS_NARROW = ("cell", "cell_backward", "attend", "softmax_loss")
# Gates of +-200, scores and logits of +-10,000.
SCALES = dict.fromkeys(arrays.ARGUMENTS, 200) | {"scores_backward": 20, "softmax_loss": 3000}
CASES = [
    *((name, "odd", torch.float32, 1) for name in arrays.ARGUMENTS),
    *((name, "odd", torch.float32, scale) for name, scale in SCALES.items()),
    *((name, "large", torch.float32, 1) for name in (*HAS_NARROW, "attend_backward")),
    *((name, size, torch.bfloat16, 1) for name in HAS_NARROW for size in ("odd", "large")),
    ("attend", "shared", torch.float32, 1),
    ("scores", "shared", torch.float32, 1),
    ("scores_backward", "short", torch.float32, 1),
]


@pytest.mark.parametrize(("name", "size", "narrow", "scale"), CASES)
def test_the_numbers_are_those_of_float64_and_of_each_repetition(
    operations, name, size, narrow, scale
):
    given = arguments(name, SIZES[size], narrow, scale=scale)
    after = run(operations, name, given)
    # Few digits are left of 1 - tanh^2, and of e^(x - log of the sum) in plain PyTorch.
    few = scale > 1 and name in ("scores_backward", "softmax_loss")
    expected = run(PLAIN, name, in_float64(given))
    assert_same(after, expected, 1e-3 if few else 1e-5, rounding(operations))
    assert not any(array.isnan().any() for array in after.values())
    if operations.name != "triton" or ON_GPU:
        again = run(operations, name, given)
        assert all(torch.equal(again[array], numbers) for array, numbers in after.items())


def test_gates_keep_their_digits(operations):
    """The tangent near zero too, where the plain formula loses them."""
    x = torch.cat([torch.logspace(-30, 3, 500), torch.linspace(0.1, 0.3, 500)])
    x = torch.cat([x, -x])
    given = arguments("cell", ODD | {"N": 1, "H": len(x)}, torch.float32)
    given |= {"inputs": x.repeat(1, 4), "product": torch.zeros(1, 4 * len(x))}
    i, f, g, o = run(operations, "cell", given)["gates"][0].double().chunk(4)
    # A GPU's own exponential and division are good to 2 in the last place; NumPy's are exact.
    rtol = 1.2e-6 if ON_GPU else 6e-7
    torch.testing.assert_close(g, x.double().tanh(), rtol=rtol, atol=0)
    for gate in (i, f, o):
        torch.testing.assert_close(gate, x.double().sigmoid(), rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize(
    ("name", "spoilt", "place", "lost"),
    [
        ("cell", "inputs", (1, 2), "hidden"),
        ("cell_backward", "d_cell", (1, 2), "d_gates"),
        ("attend", "weights", (0, 0), "context"),
        ("softmax_loss", "logits", (4, 2), "logits"),
    ],
)
def test_nan_stays_nan_and_in_its_row(operations, name, spoilt, place, lost):
    """So that training notices that it has exploded."""
    given = arguments(name, ODD, torch.bfloat16)
    given[spoilt][place] = math.nan
    after = run(operations, name, given)
    assert after[lost].isnan().any(dim=1).nonzero().flatten().tolist() == [place[0]]
    assert_same(after, run(PLAIN, name, in_float64(given)), 1e-5, rounding(operations))


@pytest.mark.parametrize("name", ["attend", "attend_backward", "scores", "scores_backward"])
def test_compiled_operations_do_not_read_padding(operations, name):
    if operations is PLAIN:  # it multiplies padding by 0
        return
    given = arguments(name, ODD, torch.float32)
    clean = run(operations, name, given)
    array = "annotations" if "attend" in name else "keys"
    padding = torch.arange(5) >= torch.tensor([5, 3, 1])[:, None]
    noisy = given | {array: given[array].masked_fill(padding[:, :, None], math.nan)}
    assert_same(run(operations, name, noisy) | {array: clean[array]}, clean, 0.0)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_the_loss_is_pytorchs_cross_entropy(operations, smoothing):
    dtype = torch.float64 if operations is PLAIN else torch.float32
    given = arguments("softmax_loss", ODD, dtype, dtype) | {"smoothing": smoothing}
    given["targets"][0] = PAD
    after = run(operations, "softmax_loss", given)
    logits, bias = (given[name].clone().requires_grad_() for name in ("logits", "bias"))

    def loss(share):
        settings = {"label_smoothing": share, "reduction": "sum", "ignore_index": PAD}
        return functional.cross_entropy(logits + bias, given["targets"], **settings)

    torch.testing.assert_close(after["result"], torch.stack([loss(0), loss(1)]))
    gradients = torch.autograd.grad(given["scale"] * loss(smoothing), (logits, bias))
    found = (after["logits"], after["d_bias"] - given["d_bias"])
    torch.testing.assert_close(found, gradients)
    asked = run(operations, "softmax_loss", given | {"d_bias": None})  # for no gradient
    torch.testing.assert_close(asked["result"], after["result"])
    assert torch.equal(asked["logits"], given["logits"])


@pytest.mark.parametrize("count", [1, 8, 64, 1_003])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_likeliest_are_those_of_a_sort_in_exact_arithmetic(operations, dtype, count):
    """Of rows of many equal numbers, far from 0, with -inf, one other number, and ever larger."""
    torch.manual_seed(4)
    noise = (8 * torch.randn(1_003)).round() / 4
    lone = torch.full_like(noise, -torch.inf)
    halved, lone[500] = noise.where(torch.arange(1_003) % 2 > 0, -torch.inf), 3
    rising = torch.linspace(10, 30, 1_003)
    logits = torch.stack([noise, noise + 20_000, noise - 20_000, halved, lone, rising])
    given = torch.full((6, 1_010), 1e9, dtype=dtype)[:, :1_003].copy_(logits)  # rows lie apart
    exact = given.double()
    # A difference of large numbers is less exact.
    slack = 1e-5 + 2**-22 * exact.where(exact.isfinite(), 0).abs().amax(dim=1, keepdim=True)
    exact -= exact.logsumexp(dim=1, keepdim=True)
    exact[:, [0, 7]] = -torch.inf
    ranked = exact.sort(dim=1, descending=True, stable=True)
    expected = ranked.values[:, :count]
    gained, pieces = operations.likeliest(given, torch.tensor([0, 7]), count)
    assert gained.dtype == torch.float32
    assert ((gained == expected) | ((gained - expected).abs() <= slack)).all()
    assert torch.equal(exact.gather(1, pieces), expected)
    if operations.name == "native":  # of equals, the first comes first
        assert torch.equal(pieces, ranked.indices[:, :count])


def test_after_nan_all_pieces_are_of_the_vocabulary(operations):
    logits = torch.full((2, 200), torch.nan)
    logits[0, [3, 150]] = torch.tensor([-5.0, 2.0])
    gained, pieces = operations.likeliest(logits, torch.tensor([0]), 4)
    assert gained.isnan().all()
    assert ((pieces >= 0) & (pieces < 200)).all()


@pytest.mark.parametrize("piece", [ODD["V"], -1])
def test_a_target_outside_of_the_vocabulary_is_refused(operations, piece):
    if operations.name == "triton":
        return
    given = arguments("softmax_loss", ODD, torch.float32)
    given["targets"][3] = piece
    with pytest.raises((IndexError, RuntimeError)):
        run(operations, "softmax_loss", given)


def test_arrays_that_would_be_misread_are_refused(operations):
    given = arguments("attend_backward", ODD, torch.float32)
    given["annotations"] = given["annotations"].mT.contiguous().mT
    if operations is not PLAIN:
        with pytest.raises(ValueError, match="dense"):
            arrays.call(operations, "attend_backward", given)


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a CUDA device")
@pytest.mark.parametrize("name", [name for name in arrays.ARGUMENTS if name != "softmax_loss"])
def test_on_a_gpu_at_real_sizes_and_in_a_graph(name):
    kernels = compiled_operations("cuda")
    assert kernels is not None
    given = arguments(name, REAL, torch.bfloat16)
    eager = run(kernels, name, given)
    assert_same(eager, run(PLAIN, name, in_float64(given)), 1e-4)
    # Laid out as before, or another kernel would have to be compiled in the capture.
    replayed = arrays.copied(given, "cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # compiled by now; to wait is an error in here
        arrays.call(kernels, name, replayed)
    graph.replay()
    for array, numbers in replayed.items():
        assert torch.equal(numbers.cpu(), eager[array]), array
