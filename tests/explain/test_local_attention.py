"""Local attention: a slow loop over positions, plain operations of PyTorch, the trainer's own."""

import math

import numpy as np
import pytest
import torch
from slow_loops import against_the_largest, attend, softmax

from seq2seq.config import AttentionConfig
from seq2seq.explain.decoder_attention import additive, draw
from seq2seq.explain.local_attention import local
from seq2seq.model.attention.local import PredictiveLocalAttention
from seq2seq.model.encoder import Source


def test_it_starts_from_the_scores_of_additive_alignment():
    walkthrough, other = local(), additive()
    for name in ("annotations", "state"):
        np.testing.assert_array_equal(walkthrough[name], other[name])
    np.testing.assert_allclose(walkthrough["scores"], other["scores"], rtol=1e-12)
    np.testing.assert_allclose(walkthrough["global weights"], other["weights"], rtol=1e-12)


def test_it_equals_the_slow_loop():
    walkthrough = local()
    annotations, state, _, _, layer_1, layer_2 = (array.tolist() for array in draw())
    logit = 0.0
    for unit in range(10):
        logit += (
            math.tanh(sum(state[0][k] * layer_1[k][unit] for k in range(16))) * layer_2[unit][0]
        )
    predicted = 5 / (1 + math.exp(-logit))
    assert walkthrough["position logit"].item() == pytest.approx(logit)
    assert walkthrough["predicted position"].item() == pytest.approx(predicted)

    scores = walkthrough["scores"][:, 0].tolist()  # themselves checked against additive alignment
    inside = [j for j in range(1, 6) if predicted - 2 <= j <= predicted + 2]
    aligned = dict(zip(inside, softmax([scores[j - 1] for j in inside]), strict=True))
    exponentials = against_the_largest([aligned.get(j, 0.0) for j in range(1, 6)])
    np.testing.assert_allclose(walkthrough["exponentials"][:, 0], exponentials, rtol=1e-12)
    weights = []
    for j in range(1, 6):
        gaussian = math.exp(-((j - predicted) ** 2) / (2 * 1**2))
        weights.append(aligned.get(j, 0.0) * gaussian)
        assert walkthrough["distance"][j - 1, 0] == pytest.approx(j - predicted)
        assert walkthrough["window"][j - 1, 0] == (j in inside)
        assert walkthrough["window weights"][j - 1, 0] == pytest.approx(aligned.get(j, 0.0))
        assert walkthrough["Gaussian"][j - 1, 0] == pytest.approx(gaussian)
    np.testing.assert_allclose(walkthrough["local weights"][:, 0], weights, rtol=1e-12)
    np.testing.assert_allclose(walkthrough["context"][0], attend(weights, annotations), rtol=1e-12)
    assert walkthrough["sum of local weights"].item() == pytest.approx(sum(weights))
    np.testing.assert_allclose(
        walkthrough["weighted annotations"].sum(axis=0), walkthrough["context"][0], rtol=1e-12
    )


def test_it_equals_torch():
    walkthrough = local()
    annotations, state, layer_1, layer_2, position_1, position_2 = map(torch.tensor, draw())
    predicted = 5 * torch.sigmoid(torch.tanh(state @ position_1) @ position_2)
    pairs = torch.cat([annotations, state.expand(5, -1)], dim=1)
    scores = (torch.tanh(pairs @ layer_1) @ layer_2)[:, 0]
    distance = torch.arange(1, 6) - predicted[0, 0]
    aligned = scores.masked_fill(distance.abs() > 2, float("-inf")).softmax(dim=0)
    weights = aligned * torch.exp(-(distance**2) / 2)
    close = {"rtol": 0, "atol": 1e-6}
    np.testing.assert_allclose(walkthrough["predicted position"], predicted.numpy(), **close)
    np.testing.assert_allclose(walkthrough["window weights"][:, 0], aligned.numpy(), **close)
    np.testing.assert_allclose(walkthrough["local weights"][:, 0], weights.numpy(), **close)
    np.testing.assert_allclose(walkthrough["context"][0], (weights @ annotations).numpy(), **close)


def test_window_and_gaussian_are_what_the_trainer_computes():
    """Its scores are those of "general", and it predicts p from the first word to the last.

    So it is given weights by which scores and p are those of the example.
    """
    walkthrough = local()
    memory = torch.tensor(walkthrough["annotations"])[None]
    state = torch.tensor(walkthrough["state"])
    attention = PredictiveLocalAttention(16, 16, AttentionConfig(window=2)).double()
    # Some W with s W h_j = e_j for the five j: there are 16 unknowns in W's shadow of s.
    shadow = torch.linalg.lstsq(memory[0], torch.tensor(walkthrough["scores"])).solution
    share = (walkthrough["predicted position"].item() - 1) / 4
    with torch.no_grad():
        attention.query.weight.copy_(shadow @ state / state.square().sum())
        asked = torch.tanh(state @ attention.inner.weight.T)
        wanted = math.log(share / (1 - share))
        attention.position.weight.copy_(wanted * asked / asked.square().sum())
        mask = torch.ones(1, 5, dtype=torch.bool)
        source = Source(memory, mask, torch.zeros_like(state), memory)
        context, weights = attention(state, source, attention.init_state(source))
    close = {"rtol": 0, "atol": 1e-6}
    np.testing.assert_allclose(weights.numpy().T, walkthrough["local weights"], **close)
    np.testing.assert_allclose(context.numpy(), walkthrough["context"], **close)


def test_what_the_text_says_of_the_numbers():
    walkthrough = local()
    assert f"{walkthrough['predicted position'].item():.2f}" == "3.17"
    assert f"{-walkthrough['distance'][0, 0]:.2f}" == "2.17"
    assert walkthrough["window"][:, 0].tolist() == [0, 1, 1, 1, 1]
    assert walkthrough["window weights"].sum() == pytest.approx(1)
    assert f"{walkthrough['sum of local weights'].item():.2f}" == "0.58"
