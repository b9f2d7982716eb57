"""Operations in plain PyTorch against its layers and autograd; the compiled ones against those."""

import math

import pytest
import torch
from helpers.kernel_arrays import (
    BFLOAT_ROUNDING,
    LARGE,
    ODD,
    OPERATIONS,
    arguments,
    assert_same,
    in_float64,
    run,
)
from torch import nn
from torch.nn import functional

from seq2seq.data.vocabulary import PAD
from seq2seq.model.fast import choose
from seq2seq.model.fast.choose import choose_operations, compiled_operations
from seq2seq.model.fast.cpp import CppOperations
from seq2seq.model.fast.operations import PLAIN, dense, fast_tanh_
from seq2seq.model.layers import lstm_cell

pytestmark = pytest.mark.filterwarnings(  # of NumPy, in which Triton's interpreter computes
    "ignore:overflow encountered:RuntimeWarning", "ignore:invalid value:RuntimeWarning"
)

EXACT = torch.float64
SAME = {"rtol": 1e-11, "atol": 1e-11}


def exact_case(operation, **changes):
    given = arguments(operation, ODD, EXACT, EXACT) | changes
    return given, run(PLAIN, operation, given)


def leaves(given, *names):
    return [given[name].clone().requires_grad_() for name in names]


def test_the_cell_and_its_gradient_are_pytorchs():
    reference = nn.LSTMCell(4 * ODD.H, ODD.H, bias=False, dtype=EXACT)
    with torch.no_grad():  # reads its gates as they are
        reference.weight_ih.copy_(torch.eye(4 * ODD.H))
        reference.weight_hh.zero_()
    given, after = exact_case("cell")
    inputs, product, before = leaves(given, "inputs", "product", "before")
    expected = reference(inputs + product, (torch.zeros_like(before), before))
    torch.testing.assert_close((after["hidden"], after["after"]), expected, **SAME)
    assert torch.equal(after["narrow"][:, 4 : 4 + ODD.H], after["hidden"])
    assert (after["narrow"][:, [0, 1, 2, 3, -2, -1]] == 7).all()
    torch.testing.assert_close(lstm_cell(before, product, inputs), expected, **SAME)
    torch.testing.assert_close(lstm_cell(before, inputs + product, None), expected, **SAME)
    known = {name: after[name] for name in ("gates", "before", "after")}
    given, back = exact_case("cell_backward", **known)
    gradients = torch.autograd.grad(
        expected, (inputs, before), (given["d_hidden"], given["d_cell"])
    )
    torch.testing.assert_close((back["d_gates"], back["d_cell"]), gradients, **SAME)


def test_attend_is_a_softmax_and_a_weighted_sum():
    given, after = exact_case("attend")
    (scores,) = leaves(given, "weights")
    weights = scores.softmax(dim=1)
    context = torch.einsum("bs,bsm->bm", weights, given["annotations"])
    torch.testing.assert_close((after["weights"], after["context"]), (weights, context), **SAME)
    assert torch.equal(after["narrow"][:, 4 : 4 + ODD.M], after["context"])
    known = {"weights": weights.detach(), "annotations": given["annotations"]}
    given, back = exact_case("attend_backward", **known)
    (expected,) = torch.autograd.grad(context, scores, given["d_context"])
    torch.testing.assert_close(back["d_scores"], expected, **SAME)


@pytest.mark.parametrize("kind", ["additive", "dot"])
def test_scores_are_those_of_the_equation(kind):
    given = arguments("scores_backward", ODD, EXACT, EXACT)
    keys, query = leaves(given, "keys", "query")
    vector = given["vector"].expand(ODD.N, -1).clone().requires_grad_()
    inner = keys * query[:, None] if kind == "dot" else (keys + query[:, None]).tanh()
    expected = (inner if kind == "dot" else vector[:, None] * inner).sum(dim=2)
    chosen = {"vector": None} if kind == "dot" else {}
    after = run(PLAIN, "scores_backward", given | chosen)
    found = [after["d_keys"] - given["d_keys"], after["d_query"]]
    if kind == "additive":
        found[0] *= given["vector"]  # which multiplies the sum over steps
        found.append(after["d_vector"] - given["d_vector"])
    wanted = (keys, query, vector)[: len(found)]
    torch.testing.assert_close(
        found, list(torch.autograd.grad(expected, wanted, given["d_scores"])), **SAME
    )
    forward = arguments("scores", ODD, EXACT, EXACT)
    forward |= {name: given[name] for name in ("keys", "query", "vector")}
    scores = run(PLAIN, "scores", forward | chosen)["scores"]
    torch.testing.assert_close(scores, expected.masked_fill(~forward["mask"], -math.inf), **SAME)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_the_loss_is_pytorchs_cross_entropy(smoothing):
    given, after = exact_case("softmax_loss", smoothing=smoothing)
    logits, bias = leaves(given, "logits", "bias")

    def loss(share):
        settings = {"label_smoothing": share, "reduction": "sum", "ignore_index": PAD}
        return functional.cross_entropy(logits + bias, given["targets"], **settings)

    torch.testing.assert_close((after["likelihood"], after["uniform"]), (loss(0), loss(1)), **SAME)
    gradients = torch.autograd.grad(given["scale"] * loss(smoothing), (logits, bias))
    found = (after["logits"], after["d_bias"] - given["d_bias"])
    torch.testing.assert_close(found, gradients, **SAME)


@pytest.mark.parametrize(("dtype", "error"), [(torch.float32, 2e-7), (torch.float64, 4e-16)])
def test_the_fast_tanh_is_tanh(dtype, error):
    x = torch.cat([torch.linspace(-20, 20, 4001), torch.tensor([1e-30, 1e30, -1e30, math.inf])])
    found = fast_tanh_(x.to(dtype, copy=True))
    torch.testing.assert_close(found.double(), x.to(dtype).double().tanh(), atol=error, rtol=0)
    assert fast_tanh_(torch.tensor([math.nan], dtype=dtype)).isnan()


# -- those in C++ and Triton ----------------------------------------------------------------------

# Blocks of scores have at most eight positions; to interpret 131 of them takes seconds.
SIZES = {
    "odd": ODD,
    "large": LARGE,
    "short": LARGE._replace(S=17),
    "shared": LARGE._replace(S=9, W=3),
}
HAS_NARROW = ("cell", "cell_backward", "attend", "softmax_loss")
WHOLE = (*HAS_NARROW, "attend_backward")
CASES = [
    *((name, "odd", "f32") for name in (*OPERATIONS, "softmax_loss")),
    *((name, "large", "f32") for name in WHOLE),
    *((name, size, "bf16") for name in HAS_NARROW for size in ("odd", "large")),
    *(
        ("attend", "shared", "f32"),
        ("scores", "shared", "f32"),
        ("scores_backward", "short", "f32"),
    ),
]


@pytest.fixture(scope="module", params=["plain", "cpp", "cpp-three-threads", "triton"])
def faster(request):
    """Operations, the device of their arrays, and how they round to bfloat16."""
    if request.param == "plain":
        yield PLAIN, "cpu", BFLOAT_ROUNDING
    elif request.param == "triton":
        pytest.importorskip("triton", reason="Triton is not installed (it exists for Linux alone)")
        from seq2seq.model.fast.gpu import TritonOperations

        if torch.cuda.is_available():
            yield TritonOperations(), "cuda", BFLOAT_ROUNDING
        else:  # the interpreter cuts bfloat16 off
            yield TritonOperations(), "cpu", 2 * BFLOAT_ROUNDING
    elif compiled_operations("cpu") is None:
        pytest.skip("the C++ operations cannot be built here")
    else:
        usual = torch.get_num_threads()
        torch.set_num_threads(3 if "three" in request.param else 1)
        yield CppOperations(), "cpu", BFLOAT_ROUNDING
        torch.set_num_threads(usual)


@pytest.mark.parametrize(("name", "size", "narrow"), CASES)
def test_the_numbers_are_those_of_float64_and_of_each_repetition(faster, name, size, narrow):
    operations, device, rounding = faster
    narrow_type = torch.bfloat16 if narrow == "bf16" else torch.float32
    given = arguments(name, SIZES[size], narrow_type)
    after = run(operations, name, given, device)
    assert_same(after, run(PLAIN, name, in_float64(given)), 1e-5, rounding)
    if operations.name != "triton" or device == "cuda":
        again = run(operations, name, given, device)
        assert all(torch.equal(again[array], numbers) for array, numbers in after.items())


@pytest.mark.parametrize("name", [*OPERATIONS, "softmax_loss"])
def test_large_numbers_neither_overflow_nor_turn_into_nan(faster, name):
    """Gates of +-200, scores and logits of +-10,000."""
    operations, device, _ = faster
    scale = {"scores_backward": 20.0, "softmax_loss": 3000.0}.get(name, 200.0)
    given = arguments(name, ODD, torch.float32, scale=scale)
    after = run(operations, name, given, device)
    # Few digits are left of 1 - tanh^2, and of e^(x - log of the sum) in plain PyTorch.
    tolerance = 1e-3 if name in ("scores_backward", "softmax_loss") else 1e-5
    assert_same(after, run(PLAIN, name, in_float64(given)), tolerance)
    assert not any(array.isnan().any() for array in after.values())


@pytest.mark.parametrize(
    ("name", "spoilt", "place", "lost"),
    [
        ("cell", "inputs", (1, 2), "hidden"),
        ("cell_backward", "d_cell", (1, 2), "d_gates"),
        ("attend", "weights", (0, 0), "context"),
        ("softmax_loss", "logits", (4, 2), "logits"),
    ],
)
def test_nan_stays_nan_and_in_its_row(faster, name, spoilt, place, lost):
    """So that training notices that it has exploded."""
    operations, device, rounding = faster
    given = arguments(name, ODD, torch.bfloat16)
    given[spoilt][place] = math.nan
    after = run(operations, name, given, device)
    assert after[lost].isnan().any(dim=1).nonzero().flatten().tolist() == [place[0]]
    assert_same(after, run(PLAIN, name, in_float64(given)), 1e-5, rounding)


@pytest.mark.parametrize("name", ["attend", "attend_backward", "scores", "scores_backward"])
def test_compiled_operations_do_not_read_padding(faster, name):
    operations, device, _ = faster
    if operations is PLAIN:  # it multiplies padding by 0
        return
    given = arguments(name, ODD, torch.float32)
    clean = run(operations, name, given, device)
    array = "annotations" if "attend" in name else "keys"
    padding = torch.arange(ODD.S) >= torch.tensor([5, 3, 1])[:, None]
    noisy = given | {array: given[array].masked_fill(padding[:, :, None], math.nan)}
    assert_same(run(operations, name, noisy, device) | {array: clean[array]}, clean, 0.0)


def test_arrays_that_would_be_misread_are_refused():
    with pytest.raises(ValueError, match="dense arrays"):
        dense(torch.zeros(3, 4), torch.zeros(4, 3).t())


def test_the_compiled_are_chosen_for_float32_alone(monkeypatch):
    cpu = torch.device("cpu")
    if (compiled := compiled_operations("cpu")) is None:
        pytest.skip("the C++ operations cannot be built here")
    assert choose_operations(cpu, torch.bfloat16) is compiled
    assert choose_operations(cpu, torch.float64, torch.float64).name == "torch"
    monkeypatch.setattr(choose, "compiled_operations", lambda _: None)  # as where none can be built
    assert choose_operations(cpu, torch.float32).name == "torch"
