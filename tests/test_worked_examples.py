"""docs/worked_examples.py: its arrays against the trainer's kinds and PyTorch's functions."""

import contextlib
import io
import runpy

import numpy as np
import pytest
import torch
from helpers.commands import ROOT
from torch.distributions import Normal
from torch.testing import assert_close

from seq2seq.config import AttentionConfig
from seq2seq.model.attention import build_attention
from seq2seq.model.encoder import Source

PAGE = ROOT / "docs" / "worked_examples.py"


@pytest.fixture(scope="module")
def printed():
    """What the page prints, and its arrays."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        arrays = runpy.run_path(str(PAGE))["ARRAYS"]
    return text.getvalue(), arrays


@pytest.fixture
def page(printed):
    return {label: torch.tensor(array).double() for label, array in printed[1].items()}


def test_every_array_is_printed(printed):
    text, arrays = printed
    blocks = [block.split("\n") for block in text.rstrip("\n").split("\n\n")]
    assert [head.rpartition(",")[0] for head, *_ in blocks] == [*arrays]
    for array, (_, _, *lines) in zip(arrays.values(), blocks, strict=True):
        rows = [line.split()[-array.shape[1] :] for line in lines]
        digits = len(rows[0][0].partition(".")[2])
        np.testing.assert_allclose(np.array(rows, float), array, 0, 0.5001 * 10.0**-digits)


@torch.no_grad()
def attend(kind, queries, annotations, parameters):
    """Context and weights of each query by a kind of the trainer."""
    width = annotations.shape[1]
    attention = build_attention(AttentionConfig(kind=kind, size=2, heads=2), width, width).double()
    attention.load_state_dict(parameters)
    mask = torch.ones(1, len(annotations), dtype=torch.bool)
    source = attention.read(Source(annotations[None], mask, annotations[:1], annotations[None]))
    return attention(queries, source, queries[:, :0])


def test_additive_is_the_trainers(page):
    upper, lower = page["additive: layer_1"].chunk(2)
    vector = page["additive: layer_2"][:, 0]
    parameters = {"key.weight": upper.T, "query.weight": lower.T, "vector": vector}
    found = attend("additive", page["additive: state"], page["additive: annotations"], parameters)
    assert_close(found, (page["additive: context"], page["additive: weights"].T))


def test_dot_is_the_trainers_and_its_naive_softmax_overflows(page):
    found = attend("dot", page["dot: state"], page["dot: annotations"].T, {})
    assert_close(found, (page["dot: context"].T, page["dot: weights"]))
    assert page["dot: naive exponentials"][0, 1:].isposinf().all()
    assert page["dot: naive weights"][0, 1:].isnan().all()


@pytest.mark.parametrize(
    ("example", "w_q", "w_k", "right"),
    [("scaled_dot", "W_q = W_k", "W_q = W_k", ""), ("softmax_axis", "W_q", "W_k", "right ")],
)
def test_scaled_dot_is_the_trainers(page, example, w_q, w_k, right):
    """Its values are the annotations themselves; W_v comes after the sum as well as before it."""
    words = page[f"{example}: words"]
    query, key = page[f"{example}: {w_q}"].T, page[f"{example}: {w_k}"].T
    context, weights = attend(
        "scaled_dot", words, words, {"query.weight": query, "key.weight": key}
    )
    assert_close(weights, page[f"{example}: {right}weights"])
    assert_close(context @ page[f"{example}: W_v"], page[f"{example}: {right}outputs"])


def test_multi_head_is_the_trainers(page):
    words, w_q, w_v = (page[f"multi_head: {name}"] for name in ("words", "W_q = W_k", "W_v"))
    matrices = {"query": w_q, "key": w_q, "value": w_v, "joined": torch.eye(2)}
    parameters = {f"{name}.weight": matrix.T for name, matrix in matrices.items()}
    weights = (page["multi_head: head 1 weights"] + page["multi_head: head 2 weights"]) / 2
    found = attend("multi_head", words, words, parameters)
    assert_close(found, (page["multi_head: outputs"], weights))


def test_the_output_word_is_the_likeliest_of_a_softmax(page):
    joined = torch.cat([page["output_word: state"], page["output_word: context"]], dim=1)
    readout = torch.tanh(joined @ page["output_word: W_t"])
    logits = readout @ page["output_word: W_o"] + page["output_word: bias"]
    assert_close(page["output_word: probabilities"], logits.softmax(dim=1))
    assert page["output_word: word"].tolist() == [[0, 0, 1, 0, 0]]


def test_decoding_looks_at_one_word_after_another(page):
    state, word = torch.zeros(3), 0
    for step, expected in enumerate((1, 2, 3)):  # the, blue, house
        state = torch.tanh(page["decoding: embeddings"][word] + 0.5 * state)
        context, weights = attend("dot", state[None], page["decoding: annotations"], {})
        assert_close(page["decoding: alignment"][step], weights[0])
        word = (context @ page["decoding: W_o"]).argmax().item()
        assert word == page[f"decoding: word {step + 1}"].argmax() == expected


def test_local_is_a_softmax_in_a_window_times_a_gaussian(page):
    hidden = torch.tanh(page["local: state"] @ page["local: position layer_1"])
    centre = 3 * torch.sigmoid(hidden @ page["local: position layer_2"])
    places = torch.arange(1, 4)[:, None]
    inside = page["additive: scores"].masked_fill((places - centre).abs() > 1, -torch.inf)
    near = Normal(centre, 0.5)
    weights = inside.softmax(dim=0) * (near.log_prob(places) - near.log_prob(centre)).exp()
    assert_close(page["local: local weights"], weights)
    assert_close(page["local: context"], weights.T @ page["local: annotations"])
    assert_close(page["local: global weights"], page["additive: weights"])


def test_the_soft_context_is_the_mean_of_the_hard(page):
    h, alpha = page["hard_soft: annotations"], page["hard_soft: weights"]
    assert_close(page["hard_soft: soft context"], alpha @ h)
    assert_close(page["hard_soft: likeliest context"], h[2:])
    assert_close(page["hard_soft: hard context"], h[1:2])  # 0.25 is between 0.1 and 0.4
    shares = page["hard_soft: shares"]
    assert_close(shares, alpha, rtol=0, atol=4 * 0.5 / 1000**0.5)
    assert_close(page["hard_soft: mean of hard contexts"], shares @ h)
