"""The definition of each kernel against PyTorch's own layers, autograd, and plain loops."""

import math

import pytest
import torch
from kernel_arrays import KERNELS, LARGE, ODD, SHARED, arguments, assert_same, in_float64, run
from torch import nn
from torch.nn import functional

from seq2seq.model.kernels import TorchKernels
from seq2seq.model.kernels.operations import fast_tanh_

EXACT = torch.float64
SAME = {"rtol": 1e-11, "atol": 1e-11}


def given_and_after(kernel):
    given = arguments(kernel, ODD, EXACT, EXACT)
    return given, run(TorchKernels(), kernel, given)


def lstm_cell():
    """PyTorch's own, reading its gates as they are."""
    cell = nn.LSTMCell(4 * ODD.hidden, ODD.hidden, bias=False, dtype=EXACT)
    with torch.no_grad():
        cell.weight_ih.copy_(torch.eye(4 * ODD.hidden))
        cell.weight_hh.zero_()
    return cell


def test_cell():
    given, after = given_and_after("cell")
    nothing = torch.zeros(ODD.batch, ODD.hidden, dtype=EXACT)
    hidden, state = lstm_cell()(given["inputs"] + given["product"], (nothing, given["before"]))
    torch.testing.assert_close(after["hidden"], hidden, **SAME)
    torch.testing.assert_close(after["after"], state, **SAME)
    assert torch.equal(after["narrow"][:, 4 : 4 + ODD.hidden], after["hidden"])
    assert (after["narrow"][:, :4] == 7).all()
    assert (after["narrow"][:, 4 + ODD.hidden :] == 7).all()


def test_cell_backward():
    before_gates = torch.randn(ODD.batch, 4 * ODD.hidden, dtype=EXACT, requires_grad=True)
    before = torch.randn(ODD.batch, ODD.hidden, dtype=EXACT, requires_grad=True)
    forward = arguments("cell", ODD, EXACT, EXACT) | {
        "inputs": before_gates.detach(),
        "product": torch.zeros_like(before_gates),
        "before": before.detach(),
    }
    forward = run(TorchKernels(), "cell", forward)
    given = arguments("cell_backward", ODD, EXACT, EXACT) | {
        name: forward[name] for name in ("gates", "before", "after")
    }
    after = run(TorchKernels(), "cell_backward", given)
    hidden, state = lstm_cell()(before_gates, (torch.zeros_like(before), before))
    d_gates, d_before = torch.autograd.grad(
        (hidden, state), (before_gates, before), (given["d_hidden"], given["d_cell"])
    )
    torch.testing.assert_close(after["d_gates"], d_gates, **SAME)
    torch.testing.assert_close(after["d_cell"], d_before, **SAME)


def test_attend():
    given, after = given_and_after("attend")
    for b, scores in enumerate(given["weights"].tolist()):
        exponentials = [math.exp(score) for score in scores]
        for m in range(ODD.memory):
            terms = [e * given["memory"][b, s, m].item() for s, e in enumerate(exponentials)]
            expected = sum(terms) / sum(exponentials)
            assert after["context"][b, m].item() == pytest.approx(expected, abs=1e-11)
    assert torch.equal(after["weights"] == 0, given["weights"].isinf())
    torch.testing.assert_close(after["weights"].sum(dim=1), torch.ones(ODD.batch, dtype=EXACT))
    assert torch.equal(after["narrow"][:, 4 : 4 + ODD.memory], after["context"])


def test_attend_backward():
    scores = arguments("attend", ODD, EXACT, EXACT)["weights"].requires_grad_()
    given = arguments("attend_backward", ODD, EXACT, EXACT)
    given["weights"] = scores.detach().softmax(dim=1)
    after = run(TorchKernels(), "attend_backward", given)
    context = torch.einsum("bs,bsm->bm", scores.softmax(dim=1), given["memory"])
    (expected,) = torch.autograd.grad(context, scores, given["d_context"])
    torch.testing.assert_close(after["d_scores"], expected, **SAME)
    assert (after["d_scores"][scores.isinf()] == 0).all()


def test_additive_scores():
    given, after = given_and_after("additive_scores")
    keys, query, vector = (given[n].tolist() for n in ("keys", "query", "vector"))
    for b in range(ODD.batch):
        for s in range(ODD.positions):
            terms = zip(vector, keys[b][s], query[b], strict=True)
            expected = sum(v * math.tanh(k + q) for v, k, q in terms)
            if not given["mask"][b, s]:
                expected = -math.inf
            assert after["scores"][b, s].item() == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize(
    ("kernel", "of_sentences"), [("attend", ["memory"]), ("additive_scores", ["keys", "mask"])]
)
def test_rows_that_share_a_sentence_are_as_rows_with_copies_of_it(kernel, of_sentences):
    given = arguments(kernel, SHARED, EXACT, EXACT)
    copied = {name: given[name].repeat_interleave(SHARED.hypotheses, 0) for name in of_sentences}
    expected = run(TorchKernels(), kernel, given | copied)
    after = run(TorchKernels(), kernel, given)
    for name, array in after.items():
        if name not in of_sentences:
            torch.testing.assert_close(array, expected[name], **SAME)


def test_additive_scores_backward_adds_to_keys_and_vector():
    given, after = given_and_after("additive_scores_backward")
    keys, query, vector = (given[n].clone().requires_grad_() for n in ("keys", "query", "vector"))
    by_sentence = vector.expand(ODD.batch, -1)
    scores = (by_sentence[:, None] * (keys + query[:, None]).tanh()).sum(dim=2)
    d_keys, d_query, d_vector = torch.autograd.grad(
        scores, (keys, query, by_sentence), given["d_scores"]
    )
    torch.testing.assert_close(after["d_query"], d_query, **SAME)
    torch.testing.assert_close(after["d_vector"] - given["d_vector"], d_vector, **SAME)
    collected = (after["d_keys"] - given["d_keys"]) * given["vector"]
    torch.testing.assert_close(collected, d_keys, **SAME)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_softmax_loss(smoothing):
    given = arguments("softmax_loss", ODD, EXACT, EXACT) | {"smoothing": smoothing}
    after = run(TorchKernels(), "softmax_loss", given)
    logits, bias = (given[name].clone().requires_grad_() for name in ("logits", "bias"))

    def loss(share):
        return functional.cross_entropy(
            logits + bias, given["targets"], label_smoothing=share, reduction="sum"
        )

    torch.testing.assert_close(after["likelihood"], loss(0.0), **SAME)
    torch.testing.assert_close(after["uniform"], loss(1.0), **SAME)
    d_logits, d_bias = torch.autograd.grad(given["scale"] * loss(smoothing), (logits, bias))
    torch.testing.assert_close(after["logits"], d_logits, **SAME)
    torch.testing.assert_close(after["d_bias"] - given["d_bias"], d_bias, **SAME)


def test_softmax_loss_without_a_gradient_leaves_the_logits():
    given = arguments("softmax_loss", ODD, EXACT, EXACT)
    with_gradient = run(TorchKernels(), "softmax_loss", given)
    after = run(TorchKernels(), "softmax_loss", given | {"d_bias": None})
    assert torch.equal(after["logits"], given["logits"])
    assert torch.equal(after["likelihood"], with_gradient["likelihood"])


@pytest.mark.parametrize("narrow", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_float32_and_bfloat16_round_once(kernel, narrow):
    given = arguments(kernel, LARGE, narrow)
    exact = run(TorchKernels(), kernel, in_float64(given))
    assert_same(run(TorchKernels(), kernel, given), exact, 1e-5)


@pytest.mark.parametrize(("dtype", "error"), [(torch.float32, 2e-7), (torch.float64, 4e-16)])
def test_the_fast_tanh_is_tanh(dtype, error):
    x = torch.cat([torch.linspace(-20, 20, 4001), torch.tensor([1e-30, 1e30, -1e30, math.inf])])
    found = fast_tanh_(x.to(dtype, copy=True))
    torch.testing.assert_close(found.double(), x.to(dtype).double().tanh(), atol=error, rtol=0)
    assert fast_tanh_(torch.tensor([math.nan], dtype=dtype)).isnan()
