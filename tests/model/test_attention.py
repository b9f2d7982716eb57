"""Attention against a slow loop over sentences and positions written from the equations."""

import math

import pytest
import torch

from seq2seq.config import AttentionConfig
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.model.attention import (
    AdditiveAttention,
    FixedContext,
    NoContext,
    UniformAttention,
    build_attention,
)
from seq2seq.model.encoder import Encoded, length_mask

LENGTHS = torch.tensor([4, 1, 3])


@pytest.fixture
def encoded() -> Encoded:
    torch.manual_seed(0)
    mask = length_mask(LENGTHS, 4)
    return Encoded(torch.randn(3, 4, 6) * mask[:, :, None], mask, torch.randn(3, 6))


@pytest.fixture
def additive() -> AdditiveAttention:
    torch.manual_seed(1)
    attention = AdditiveAttention(query_size=5, memory_size=6, size=7)
    torch.nn.init.normal_(attention.score)
    return attention


def slow_additive(attention, query, memory, length):
    """e_j = v . tanh(W s + U h_j), a = softmax(e), c = sum a_j h_j, one number at a time."""
    scores = []
    for position in range(length):
        total = 0.0
        for unit in range(attention.key_size):
            inner = sum(
                attention.query.weight[unit, k].item() * query[k].item() for k in range(len(query))
            ) + sum(
                attention.key.weight[unit, k].item() * memory[position, k].item()
                for k in range(memory.shape[1])
            )
            total += attention.score[unit].item() * math.tanh(inner)
        scores.append(total)
    exponentials = [math.exp(score) for score in scores]
    weights = [e / sum(exponentials) for e in exponentials]
    context = [
        sum(weights[j] * memory[j, k].item() for j in range(length)) for k in range(memory.shape[1])
    ]
    return context, weights


def test_additive_equals_the_slow_loop(additive, encoded):
    query = torch.randn(3, 5)
    context, weights = additive(query, additive.keys(encoded.memory), encoded)
    for row, length in enumerate(LENGTHS.tolist()):
        slow_context, slow_weights = slow_additive(
            additive, query[row], encoded.memory[row], length
        )
        torch.testing.assert_close(context[row], torch.tensor(slow_context))
        torch.testing.assert_close(weights[row, :length], torch.tensor(slow_weights))


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
@pytest.mark.parametrize("learning", [True, False])
def test_hypotheses_that_share_a_sentence_are_as_if_each_had_a_copy(
    kind, learning, additive, encoded
):
    attention = (
        additive if kind == "additive" else build_attention(AttentionConfig(kind=kind), 5, 6)
    )
    query, keys = torch.randn(12, 5), attention.keys(encoded.memory)
    copies = torch.arange(3).repeat_interleave(4)
    with torch.set_grad_enabled(learning):
        shared = attention(query, keys, encoded)
        copied = attention(query, keys[copies], encoded.select(copies))
    for ours, theirs in zip(shared, copied, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_without_a_gradient_the_numbers_are_the_same(dtype, additive, encoded):
    additive = additive.to(dtype)
    memory, mask, summary = encoded
    encoded = Encoded(memory.to(dtype), mask, summary.to(dtype))
    query, keys = torch.randn(6, 5, dtype=dtype), additive.keys(encoded.memory)
    learning = additive(query, keys, encoded)
    with torch.no_grad():
        inference = additive(query, keys, encoded)
    for ours, theirs in zip(inference, learning, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_weights_are_a_distribution_over_real_positions(additive, encoded):
    _, weights = additive(torch.randn(3, 5), additive.keys(encoded.memory), encoded)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(3))
    assert weights[~encoded.mask].abs().max() == 0
    assert weights[1, 0] == 1


def test_scores_of_hundreds_do_not_overflow(additive, encoded):
    with torch.no_grad():
        additive.score.fill_(1e4)
    context, weights = additive(torch.randn(3, 5), additive.keys(encoded.memory), encoded)
    assert torch.isfinite(context).all()
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(3))


def test_bfloat16_autocast_keeps_the_query_gradient(additive, encoded):
    """The gradient of W_a is a small difference of large terms: it must survive mixed precision."""

    def gradient(enabled):
        additive.zero_grad()
        torch.manual_seed(2)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            context, _ = additive(torch.randn(3, 5), additive.keys(encoded.memory), encoded)
        (context * torch.randn(3, 6)).sum().backward()
        return additive.query.weight.grad.clone()

    exact, mixed = gradient(False), gradient(True)
    assert (mixed - exact).norm() / exact.norm() < 0.05


def test_fixed_gives_the_summary_whatever_the_query(encoded):
    attention = FixedContext()
    keys = attention.keys(encoded.memory)
    for query in (torch.zeros(3, 5), torch.randn(3, 5)):
        context, weights = attention(query, keys, encoded)
        assert context is encoded.summary
        assert weights.abs().max() == 0
    assert not list(attention.parameters())


def test_init_only_gives_nothing(encoded):
    attention = NoContext()
    context, weights = attention(torch.randn(3, 5), attention.keys(encoded.memory), encoded)
    assert context.shape == (3, 6)
    assert context.abs().max() == weights.abs().max() == 0


def test_uniform_gives_the_mean_of_real_positions(encoded):
    attention = UniformAttention()
    context, weights = attention(torch.randn(3, 5), attention.keys(encoded.memory), encoded)
    for row, length in enumerate(LENGTHS.tolist()):
        mean = sum(encoded.memory[row, position] for position in range(length)) / length
        torch.testing.assert_close(context[row], mean)
        assert weights[row].tolist() == pytest.approx([1 / length] * length + [0] * (4 - length))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("additive", AdditiveAttention),
        ("fixed", FixedContext),
        ("init_only", NoContext),
        ("uniform", UniformAttention),
    ],
)
def test_the_config_names_the_kind(kind, expected):
    assert isinstance(build_attention(AttentionConfig(kind=kind), 5, 6), expected)
