"""Every kind of attention against slow loops over sentences and positions, from the equations."""

import pytest
import torch
from attention_loops import look

from seq2seq.config import AttentionConfig
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.model.attention import build_attention
from seq2seq.model.encoder import Source, length_mask

LENGTHS = torch.tensor([7, 1, 5])
WIDTH = 6
"""Of states and annotations."""
KINDS = pytest.mark.parametrize("kind", ATTENTION_KINDS)
LEARNING = pytest.mark.parametrize("learning", [True, False])


def build(kind):
    """A kind with random weights, large enough to matter, and a batch for it.

    Neither window nor positions hold the longest sentence.
    """
    torch.manual_seed(1)
    config = AttentionConfig(kind=kind, size=4, heads=2, window=2, positions=6)
    attention = build_attention(config, WIDTH, WIDTH)
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter)
    mask = length_mask(LENGTHS, 7)
    annotations = torch.randn(3, 7, WIDTH) * mask[:, :, None]
    keys = attention.keys(annotations).detach()
    return attention, Source(annotations, mask, torch.randn(3, WIDTH), keys)


@LEARNING
@pytest.mark.parametrize("kind", sorted({*ATTENTION_KINDS} - {"fixed", "init_only"}))
def test_each_kind_equals_its_slow_loop_over_several_steps(kind, learning):
    attention, source = build(kind)
    state = attention.init_state(source)
    for _ in range(4):
        query = torch.randn(3, WIDTH)
        with torch.set_grad_enabled(learning):
            context, weights = attention(query, source, state)
        for row, length in enumerate(LENGTHS.tolist()):
            slow = look(
                *(kind, attention, query[row].tolist()),
                *(source.annotations[row, :length].tolist(), state[row].tolist()),
            )
            found = context[row], weights[row, :length]
            torch.testing.assert_close(found, tuple(torch.tensor(part) for part in slow))
            assert not weights[row, length:].any()
        state = attention.update_state(state, weights)


@LEARNING
@KINDS
def test_hypotheses_that_share_a_sentence_are_as_if_each_had_a_copy(kind, learning):
    attention, source = build(kind)
    query, copies = torch.randn(12, WIDTH), torch.arange(3).repeat_interleave(4)
    state = torch.rand_like(attention.init_state(source)[copies])
    with torch.set_grad_enabled(learning):
        shared = attention(query, source, state)
        copied = attention(query, source.select(copies), state)
    torch.testing.assert_close(shared, copied)


@KINDS
def test_neither_padding_nor_scores_of_thousands_reach_the_context(kind):
    attention, source = build(kind)
    query, state = torch.randn(3, WIDTH), attention.init_state(source)
    outside = ~source.mask[:, :, None]
    annotations = source.annotations.masked_fill(outside, 1e3)
    noisy = source._replace(annotations=annotations, keys=attention.keys(annotations))
    torch.testing.assert_close(attention(query, source, state), attention(query, noisy, state))
    context, weights = attention(1e4 * query, source, state)
    assert context.isfinite().all()
    assert weights.isfinite().all()


@KINDS
def test_each_kind_has_its_settings_and_its_path(kind):
    config = AttentionConfig(kind=kind, size=15, heads=5, window=3, positions=11)
    attention = build_attention(config, query_size=7, annotation_size=20)
    for setting in ("heads", "window"):
        assert getattr(attention, setting, None) in (None, getattr(config, setting))
    asked = build_attention(config, 7, 20, word_size=4).word_query
    assert (asked is None) == (kind in ("fixed", "init_only", "uniform"))
    attention, source = build(kind)
    fast = ("additive", "concat", "dot", "general", "scaled_dot")
    assert (attention.score(source) is not None) == (kind in fast)
