"""Every kind of attention against slow loops over sentences and positions, from the equations."""

import dataclasses

import pytest
import torch
from attention_loops import LOOPS

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.errors import UserError
from seq2seq.model.attention import (
    AdditiveAttention,
    Attention,
    ConcatAttention,
    FixedContext,
    NoContext,
    ScoredAttention,
    build_attention,
)
from seq2seq.model.encoder import Encoded, length_mask

LENGTHS = torch.tensor([7, 1, 5])
WIDTH = 6
"""Of states and annotations."""
SETTINGS = AttentionConfig(size=4, heads=2, window=2, positions=6)
"""A window and positions that do not hold the longest sentence."""


@pytest.fixture
def encoded() -> Encoded:
    torch.manual_seed(0)
    mask = length_mask(LENGTHS, 7)
    return Encoded(torch.randn(3, 7, WIDTH) * mask[:, :, None], mask, torch.randn(3, WIDTH))


def build(kind: str) -> Attention:
    """A kind with random weights, large enough to matter."""
    torch.manual_seed(1)
    attention = build_attention(dataclasses.replace(SETTINGS, kind=kind), WIDTH, WIDTH)
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter)
    return attention


@pytest.fixture
def additive() -> Attention:
    return build("additive")


def test_every_kind_that_looks_has_a_loop_to_be_compared_with():
    looking = {kind for kind in ATTENTION_KINDS if build(kind).attends}
    assert looking == set(LOOPS)
    assert set(ATTENTION_KINDS) - looking == {"fixed", "init_only"}


@pytest.mark.parametrize("learning", [True, False])
@pytest.mark.parametrize("kind", LOOPS)
def test_each_kind_equals_its_slow_loop_over_several_steps(kind, learning, encoded):
    attention = build(kind)
    keys, past = attention.keys(encoded.memory), attention.begin(encoded)
    for step in range(4):
        torch.manual_seed(step + 2)
        query = torch.randn(3, WIDTH)
        with torch.set_grad_enabled(learning):
            context, weights = attention(query, keys, encoded, past)
        for row, length in enumerate(LENGTHS.tolist()):
            slow_context, slow_weights = LOOPS[kind](
                attention,
                query[row].tolist(),
                encoded.memory[row, :length].tolist(),
                past[row].tolist(),
            )
            torch.testing.assert_close(context[row], torch.tensor(slow_context))
            torch.testing.assert_close(weights[row, :length], torch.tensor(slow_weights))
            assert not weights[row, length:].any()
        past = attention.remember(past, weights)


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
@pytest.mark.parametrize("learning", [True, False])
def test_hypotheses_that_share_a_sentence_are_as_if_each_had_a_copy(kind, learning, encoded):
    attention = build(kind)
    query, keys = torch.randn(12, WIDTH), attention.keys(encoded.memory)
    copies = torch.arange(3).repeat_interleave(4)
    past = torch.rand_like(attention.begin(encoded)[copies])
    with torch.set_grad_enabled(learning):
        shared = attention(query, keys, encoded, past)
        copied = attention(query, keys[copies], encoded.select(copies), past)
    for ours, theirs in zip(shared, copied, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_without_a_gradient_the_numbers_are_the_same(dtype, additive, encoded):
    additive = additive.to(dtype)
    memory, mask, summary = encoded
    encoded = Encoded(memory.to(dtype), mask, summary.to(dtype))
    query, keys = torch.randn(6, WIDTH, dtype=dtype), additive.keys(encoded.memory)
    past = torch.empty(6, 0, dtype=dtype)
    learning = additive(query, keys, encoded, past)
    with torch.no_grad():
        inference = additive(query, keys, encoded, past)
    for ours, theirs in zip(inference, learning, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("kind", sorted(set(LOOPS) - {"local_p"}))
def test_weights_are_a_distribution_over_real_positions(kind, encoded):
    attention = build(kind)
    keys, past = attention.keys(encoded.memory), attention.begin(encoded)
    _, weights = attention(torch.randn(3, WIDTH), keys, encoded, past)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(3))
    assert weights[~encoded.mask].abs().max() == 0
    assert weights[1, 0].item() == pytest.approx(1)


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_scores_of_hundreds_do_not_overflow(kind, encoded):
    attention = build(kind)
    keys, past = attention.keys(encoded.memory), attention.begin(encoded)
    context, weights = attention(1e4 * torch.randn(3, WIDTH), keys, encoded, past)
    assert torch.isfinite(context).all()
    assert torch.isfinite(weights).all()


def test_bfloat16_autocast_keeps_the_query_gradient(additive, encoded):
    """The gradient of W_a is a small difference of large terms: it must survive mixed precision."""

    def gradient(enabled):
        additive.zero_grad()
        torch.manual_seed(2)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            context, _ = additive(
                torch.randn(3, WIDTH), additive.keys(encoded.memory), encoded, torch.empty(3, 0)
            )
        (context * torch.randn(3, WIDTH)).sum().backward()
        return additive.query.weight.grad.clone()

    exact, mixed = gradient(False), gradient(True)
    assert (mixed - exact).norm() / exact.norm() < 0.05


def test_concat_is_additive_with_its_matrices_side_by_side(additive, encoded):
    concat = build("concat")
    assert isinstance(concat, ConcatAttention)
    assert isinstance(additive, AdditiveAttention)
    with torch.no_grad():
        joined = torch.cat([additive.query.weight, additive.key.weight], dim=1)
        concat.joint.weight.copy_(joined)
        concat.score.copy_(additive.score)
    query, past = torch.randn(3, WIDTH), torch.empty(3, 0)
    one = concat(query, concat.keys(encoded.memory), encoded, past)
    other = additive(query, additive.keys(encoded.memory), encoded, past)
    torch.testing.assert_close(one, other)


def test_fixed_gives_the_summary_whatever_the_query(encoded):
    attention = build_attention(AttentionConfig(kind="fixed"), WIDTH, WIDTH)
    assert isinstance(attention, FixedContext)
    keys = attention.keys(encoded.memory)
    for query in (torch.zeros(3, WIDTH), torch.randn(3, WIDTH)):
        context, weights = attention(query, keys, encoded, torch.empty(3, 0))
        assert context is encoded.summary
        assert weights.abs().max() == 0
    assert not list(attention.parameters())


def test_init_only_gives_nothing(encoded):
    attention = NoContext()
    keys = attention.keys(encoded.memory)
    context, weights = attention(torch.randn(3, WIDTH), keys, encoded, torch.empty(3, 0))
    assert context.shape == (3, WIDTH)
    assert context.abs().max() == weights.abs().max() == 0


def test_coverage_remembers_where_it_looked(encoded):
    attention = build("coverage")
    keys, past = attention.keys(encoded.memory), attention.begin(encoded)
    looked = torch.zeros(3, 7)
    for _ in range(3):
        _, weights = attention(torch.randn(3, WIDTH), keys, encoded, past)
        past, looked = attention.remember(past, weights), looked + weights
    torch.testing.assert_close(past, looked)
    torch.testing.assert_close(past.sum(dim=1), torch.full((3,), 3.0))


def test_the_monotonic_window_moves_with_the_target_and_stays_at_the_end(encoded):
    attention = build("local_m")
    keys, past = attention.keys(encoded.memory), attention.begin(encoded)
    seen = []
    for _ in range(9):
        _, weights = attention(torch.randn(3, WIDTH), keys, encoded, past)
        seen.append(weights[0].nonzero().flatten().tolist())
        past = attention.remember(past, weights)
    assert seen[:4] == [[0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4], [1, 2, 3, 4, 5]]
    assert seen[6:] == [[4, 5, 6]] * 3


def test_no_kind_reads_beyond_its_sentence(encoded):
    noisy = Encoded(
        torch.where(encoded.mask[:, :, None], encoded.memory, torch.tensor(1e3)),
        encoded.mask,
        encoded.summary,
    )
    query = torch.randn(3, WIDTH)
    for kind in ATTENTION_KINDS:
        attention = build(kind)
        clean, dirty = (
            attention(query, attention.keys(each.memory), each, attention.begin(each))
            for each in (encoded, noisy)
        )
        torch.testing.assert_close(clean, dirty)


@pytest.mark.parametrize(
    ("kind", "shapes"),
    [
        ("additive", {"score": (15,), "query.weight": (15, 7), "key.weight": (15, 20)}),
        ("concat", {"score": (15,), "joint.weight": (15, 27)}),
        (
            "coverage",
            {
                "score": (15,),
                "query.weight": (15, 7),
                "key.weight": (15, 20),
                "covered.weight": (15, 1),
            },
        ),
        ("general", {"query.weight": (20, 7)}),
        ("scaled_dot", {"query.weight": (15, 7), "key.weight": (15, 20)}),
        (
            "multi_head",
            {
                "query.weight": (15, 7),
                "key.weight": (15, 20),
                "value.weight": (20, 20),
                "joined.weight": (20, 20),
            },
        ),
        ("location", {"query.weight": (11, 7)}),
        ("local_m", {"query.weight": (20, 7)}),
        (
            "local_p",
            {"query.weight": (20, 7), "inner.weight": (7, 7), "position.weight": (1, 7)},
        ),
        *((kind, {}) for kind in ("dot", "fixed", "init_only", "uniform")),
    ],
)
def test_each_kind_is_as_large_as_its_settings_say(kind, shapes):
    settings = AttentionConfig(kind=kind, size=15, heads=5, window=3, positions=11)
    attention = build_attention(settings, query_size=7, memory_size=20)
    assert {name: tuple(p.shape) for name, p in attention.named_parameters()} == shapes
    if kind == "multi_head":
        assert attention.heads == 5
    if kind in ("local_m", "local_p"):
        assert attention.window == 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "dot"}, "compares states of model.decoder.hidden_size=10 with annotations of 12"),
        ({"kind": "multi_head", "size": 10, "heads": 4}, "size=10 cannot be cut into model.att"),
        ({"kind": "multi_head", "size": 10, "heads": 5}, "Annotations of 12 .* cannot be cut"),
    ],
)
def test_widths_that_do_not_go_together_are_refused(changes, said):
    with pytest.raises(UserError, match=said):
        ModelConfig(
            encoder=EncoderConfig(hidden_size=6),
            decoder=DecoderConfig(hidden_size=10),
            attention=AttentionConfig(**changes),
        )


def test_the_kinds_of_the_fast_recurrence():
    fast = {kind for kind in ATTENTION_KINDS if isinstance(build(kind), ScoredAttention)}
    assert fast == {"additive", "concat", "dot", "general", "scaled_dot", "location"}
