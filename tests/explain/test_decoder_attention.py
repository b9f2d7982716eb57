"""Additive, dot and local attention: slow loops, the trainer's own attention.

The large arrays stand for the small ones, which the same lines of code make.
"""

import math
import warnings

import numpy as np
import pytest
import torch
from attention_loops import mixed, softmax
from slow_loops import against_the_largest, assert_steps, product, weighted

from seq2seq.config import AttentionConfig
from seq2seq.explain.decoder_attention import additive, dot, local
from seq2seq.model.attention.additive import AdditiveAttention
from seq2seq.model.attention.dot_product import DotAttention
from seq2seq.model.attention.local import PredictiveLocalAttention
from seq2seq.model.encoder import Source

STATE = [5.0, 1.0, 20.0]
ANNOTATIONS = [[3.0, 12.0, 45.0], [59.0, 2.0, 5.0], [1.0, 43.0, 5.0], [4.0, 3.0, 45.3]]


def draw():
    """Annotations, state, two layers that give scores, two that predict a position."""
    normal = np.random.RandomState(42).randn
    shapes = (5, 16), (1, 16), (32, 10), (10, 1), (16, 10), (10, 1)
    return [normal(*shape) for shape in shapes]


def look(attention, annotations, state):
    """Context and weights of the trainer's attention, in the dtype of ``state``."""
    annotations, mask = annotations[None], torch.ones(1, len(annotations), dtype=torch.bool)
    attention = attention.to(state.dtype)
    source = Source(annotations, mask, annotations[:, 0], attention.keys(annotations))
    context, weights = attention(state, source, attention.init_state(source))
    return context.detach().numpy(), weights.detach().numpy()


def test_additive_equals_the_slow_loop():
    h, s, layer_1, layer_2, _, _ = (array.tolist() for array in draw())
    pairs = [annotation + s[0] for annotation in h]
    hidden = [[math.tanh(number) for number in row] for row in product(pairs, layer_1)]
    scores = [row[0] for row in product(hidden, layer_2)]
    weights = softmax(scores)
    expected = {
        "annotations": h,
        "state": s,
        "layer_1": layer_1,
        "layer_2": layer_2,
        "keys": product(h, layer_1[: len(h[0])]),
        "query": product(s, layer_1[len(h[0]) :]),
        "hidden": hidden,
        "scores": scores,
        "exponentials": against_the_largest(weights),
        "weights": weights,
        "weighted annotations": weighted(weights, h),
        "context": mixed(weights, h),
    }
    assert_steps(additive(large=True), expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_additive_is_what_the_trainer_computes(dtype):
    example = additive(large=True)
    h, s, layer_1, layer_2, _, _ = (torch.tensor(array, dtype=dtype) for array in draw())
    attention = AdditiveAttention(16, 16, AttentionConfig(size=10)).to(dtype)
    attention.load_state_dict(
        {"key.weight": layer_1[:16].T, "query.weight": layer_1[16:].T, "vector": layer_2[:, 0]}
    )
    context, weights = look(attention, h, s)
    close = {"rtol": 0, "atol": 1e-6 if dtype == torch.float64 else 1e-5}
    np.testing.assert_allclose(
        attention.keys(h[None])[0].detach().numpy(), example["keys"], **close
    )
    np.testing.assert_allclose(weights.T, example["weights"], **close)
    np.testing.assert_allclose(context, example["context"], **close)


def test_dot_equals_the_slow_loop_and_the_trainer():
    example = dot(large=True)
    scores = [927.0, 397.0, 148.0, 929.0]
    weights = softmax(scores)
    expected = {
        "state": STATE,
        "annotations": np.transpose(ANNOTATIONS),
        "products": [15.0, 12.0, 900.0],
        "first score": scores[0],
        "scores": scores,
        "shifted scores": [score - max(scores) for score in scores],
        "exponentials": against_the_largest(weights),
        "weights": weights,
        "weighted annotations": np.transpose(weighted(weights, ANNOTATIONS)),
        "context": mixed(weights, ANNOTATIONS),
    }
    assert_steps(example, expected)
    attention = DotAttention(len(STATE), len(STATE), AttentionConfig(kind="dot"))
    context, weights = look(attention, torch.tensor(ANNOTATIONS), torch.tensor([STATE]))
    np.testing.assert_allclose(weights, example["weights"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(context, example["context"].T, rtol=1e-6)


@pytest.mark.parametrize("large", [False, True])
def test_the_naive_softmax_overflows_in_silence_and_the_shifted_one_does_not(large):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        example = dot(large)
    wrong = {step.name for step in example.steps.values() if step.values.dtype != np.float64}
    assert wrong == {"naive exponentials", "naive weights"}
    assert np.isposinf(example["naive exponentials"]).all()
    assert np.isnan(example["naive weights"]).all()


def test_local_equals_the_slow_loop():
    h, s, _, _, layer_1, layer_2 = (array.tolist() for array in draw())
    positions, reach = range(1, len(h) + 1), 2
    hidden = [[math.tanh(number) for number in row] for row in product(s, layer_1)]
    [[logit]] = product(hidden, layer_2)
    predicted = len(h) / (1 + math.exp(-logit))
    scores = additive(large=True)["scores"][:, 0].tolist()
    inside = [j for j in positions if predicted - reach <= j <= predicted + reach]
    found = dict(zip(inside, softmax([scores[j - 1] for j in inside]), strict=True))
    aligned = [found.get(j, 0.0) for j in positions]
    gaussian = [math.exp(-((j - predicted) ** 2) / (2 * (reach / 2) ** 2)) for j in positions]
    weights = [share * near for share, near in zip(aligned, gaussian, strict=True)]
    expected = {
        "annotations": h,
        "state": s,
        "position layer_1": layer_1,
        "position layer_2": layer_2,
        "position hidden": hidden,
        "position logit": logit,
        "predicted position": predicted,
        "scores": scores,
        "global weights": softmax(scores),
        "distance": [j - predicted for j in positions],
        "window": [float(j in inside) for j in positions],
        "exponentials": against_the_largest(aligned),
        "window weights": aligned,
        "Gaussian": gaussian,
        "local weights": weights,
        "sum of local weights": sum(weights),
        "weighted annotations": weighted(weights, h),
        "context": mixed(weights, h),
    }
    assert_steps(local(large=True), expected)


def test_window_and_gaussian_are_what_the_trainer_computes():
    """Its scores are those of "general", and it predicts p from the first word to the last.

    So it is given weights by which scores and p are those of the example.
    """
    example = local(large=True)
    h, s = torch.tensor(example["annotations"]), torch.tensor(example["state"])
    attention = PredictiveLocalAttention(16, 16, AttentionConfig(window=2)).double()
    # Some W with s W h_j = e_j for the five j: there are 16 unknowns in W's shadow of s.
    shadow = torch.linalg.lstsq(h, torch.tensor(example["scores"])).solution
    share = (example["predicted position"].item() - 1) / 4
    with torch.no_grad():
        attention.query.weight.copy_(shadow @ s / s.square().sum())
        asked = torch.tanh(s @ attention.inner.weight.T)
        wanted = math.log(share / (1 - share))
        attention.position.weight.copy_(wanted * asked / asked.square().sum())
    context, weights = look(attention, h, s)
    np.testing.assert_allclose(weights.T, example["local weights"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(context, example["context"], rtol=0, atol=1e-6)
