"""Additive alignment and dot scoring: known numbers, slow loops, the trainer's own attention."""

import math
import warnings

import numpy as np
import pytest
import torch
from slow_loops import against_the_largest, attend, softmax

from seq2seq.config import AttentionConfig
from seq2seq.explain.decoder_attention import additive, dot, draw
from seq2seq.model.attention.additive import AdditiveAttention
from seq2seq.model.attention.dot_product import DotAttention
from seq2seq.model.encoder import Source

DIGITS = {"rtol": 0, "atol": 0.51e-8}
"""Agreement in all of 8 decimals."""
STATE = [5.0, 1.0, 20.0]
ANNOTATIONS = [[3.0, 12.0, 45.0], [59.0, 2.0, 5.0], [1.0, 43.0, 5.0], [4.0, 3.0, 45.3]]


def test_the_inputs_are_the_stream_of_seed_42():
    before = np.random.get_state()
    np.random.seed(42)
    shapes = [(5, 16), (1, 16), (32, 10), (10, 1), (16, 10), (10, 1)]
    expected = [np.random.randn(*shape) for shape in shapes]
    np.random.set_state(before)
    for ours, theirs in zip(draw(), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    walkthrough = additive()
    for name, theirs in zip(
        ("annotations", "state", "layer_1", "layer_2"), expected[:4], strict=True
    ):
        np.testing.assert_array_equal(walkthrough[name], theirs)


def test_additive_has_the_known_numbers():
    walkthrough = additive()
    scores = [4.35790943, 5.92373433, 4.18673175, 2.11437202, 0.95767155]
    np.testing.assert_allclose(walkthrough["scores"][:, 0], scores, **DIGITS)
    context = walkthrough["context"][0]
    np.testing.assert_allclose(context[:3], [-0.63514569, 0.04917298, -0.43930867], **DIGITS)
    np.testing.assert_allclose(context[-2:], [-0.75457577, 1.32985756], **DIGITS)


def test_additive_equals_the_slow_loop():
    walkthrough = additive()
    annotations, state, layer_1, layer_2, _, _ = (array.tolist() for array in draw())
    scores = []
    for place, annotation in enumerate(annotations):
        pair = annotation + state[0]
        score = 0.0
        for unit in range(10):
            hidden = math.tanh(sum(pair[k] * layer_1[k][unit] for k in range(32)))
            assert walkthrough["hidden"][place, unit] == pytest.approx(hidden, abs=1e-12)
            score += hidden * layer_2[unit][0]
        scores.append(score)
    weights = softmax(scores)
    context = attend(weights, annotations)
    np.testing.assert_allclose(walkthrough["scores"][:, 0], scores, rtol=1e-12)
    np.testing.assert_allclose(walkthrough["weights"][:, 0], weights, rtol=1e-12)
    np.testing.assert_allclose(walkthrough["context"][0], context, rtol=1e-12)
    for place, (weight, annotation) in enumerate(zip(weights, annotations, strict=True)):
        weighted = [weight * number for number in annotation]
        np.testing.assert_allclose(walkthrough["weighted annotations"][place], weighted, rtol=1e-12)
    exponentials = walkthrough["exponentials"][:, 0]
    np.testing.assert_allclose(exponentials, against_the_largest(weights), rtol=1e-12)


def test_keys_and_query_are_the_two_halves_of_the_first_layer():
    walkthrough = additive()
    pairs = np.hstack([walkthrough["annotations"], np.repeat(walkthrough["state"], 5, axis=0)])
    halves = walkthrough["keys"] + walkthrough["query"]
    np.testing.assert_allclose(halves, pairs @ walkthrough["layer_1"], rtol=1e-12)


@pytest.mark.parametrize("learning", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_additive_is_what_the_trainer_computes(learning, dtype):
    walkthrough = additive()
    annotations, state, layer_1, layer_2, _, _ = (torch.tensor(x, dtype=dtype) for x in draw())
    attention = AdditiveAttention(16, 16, AttentionConfig(size=10)).to(dtype)
    attention.load_state_dict(
        {"key.weight": layer_1[:16].T, "query.weight": layer_1[16:].T, "vector": layer_2[:, 0]}
    )
    memory = annotations[None]
    mask = torch.ones(1, 5, dtype=torch.bool)
    with torch.set_grad_enabled(learning):
        keys = attention.keys(memory)
        source = Source(memory, mask, torch.zeros(1, 16, dtype=dtype), keys)
        context, weights = attention(state, source, attention.init_state(source))
    close = {"rtol": 0, "atol": 1e-6 if dtype == torch.float64 else 1e-5}
    np.testing.assert_allclose(keys[0].detach().numpy(), walkthrough["keys"], **close)
    np.testing.assert_allclose(weights.detach().numpy().T, walkthrough["weights"], **close)
    np.testing.assert_allclose(context.detach().numpy(), walkthrough["context"], **close)


def test_dot_has_the_known_numbers():
    walkthrough = dot()
    assert walkthrough["products"][:, 0].tolist() == [15.0, 12.0, 900.0]
    assert walkthrough["first score"].tolist() == [[927.0]]
    assert walkthrough["scores"].tolist() == [[927.0, 397.0, 148.0, 929.0]]
    # 927 and 929 are two apart: 1 / (1 + e^2) and the rest.
    weights = walkthrough["weights"][0]
    assert weights[0] == pytest.approx(1 / (1 + math.exp(2)), abs=1e-15)
    assert weights[3] == pytest.approx(1 / (1 + math.exp(-2)), abs=1e-15)
    assert weights[1] == pytest.approx(math.exp(-532) / (1 + math.exp(-2)))
    assert f"{weights[1]:.0e}" == "8e-232"


def test_dot_equals_the_slow_loop():
    walkthrough = dot()
    assert walkthrough["annotations"].T.tolist() == ANNOTATIONS
    assert walkthrough["state"].tolist() == [STATE]
    scores = [sum(a * b for a, b in zip(STATE, h, strict=True)) for h in ANNOTATIONS]
    weights = softmax(scores)
    context = attend(weights, ANNOTATIONS)
    np.testing.assert_allclose(walkthrough["scores"][0], scores, rtol=1e-12)
    np.testing.assert_allclose(walkthrough["weights"][0], weights, rtol=1e-12)
    exponentials = walkthrough["exponentials"][0]
    np.testing.assert_allclose(exponentials, against_the_largest(weights), rtol=1e-12)
    np.testing.assert_allclose(walkthrough["context"][:, 0], context, rtol=1e-12)
    for place, (weight, annotation) in enumerate(zip(weights, ANNOTATIONS, strict=True)):
        weighted = [weight * number for number in annotation]
        np.testing.assert_allclose(
            walkthrough["weighted annotations"][:, place], weighted, rtol=1e-12
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dot_is_what_the_trainer_computes(dtype):
    memory = torch.tensor([ANNOTATIONS], dtype=dtype)
    mask = torch.ones(1, memory.shape[1], dtype=torch.bool)
    source = Source(memory, mask, memory[:, 0], memory)
    attention = DotAttention(memory.shape[2], memory.shape[2], AttentionConfig(kind="dot"))
    state = torch.tensor([STATE], dtype=dtype)
    context, weights = attention(state, source, attention.init_state(source))
    walkthrough = dot()
    np.testing.assert_allclose(walkthrough["weights"], weights, rtol=0, atol=1e-6)
    np.testing.assert_allclose(walkthrough["context"].T, context, rtol=1e-6)


def test_the_naive_softmax_overflows_in_silence_and_the_shifted_one_does_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        walkthrough = dot()
    assert walkthrough["naive exponentials"].dtype == np.float32
    assert np.isposinf(walkthrough["naive exponentials"]).all()
    assert np.isnan(walkthrough["naive weights"]).all()
    assert walkthrough["shifted scores"].tolist() == [[-2.0, -532.0, -781.0, 0.0]]
    assert walkthrough["exponentials"].max() == 1
    assert walkthrough["weights"].sum() == pytest.approx(1, abs=1e-15)
    # The two limits that the text names.
    for dtype, limit in ((np.float32, 88.7), (np.float64, 709.8)):
        assert math.log(float(np.finfo(dtype).max)) == pytest.approx(limit, abs=0.05)
