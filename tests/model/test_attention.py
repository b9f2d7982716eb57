"""Every kind of attention against slow loops over sentences and positions, from the equations."""

import pytest
import torch
from helpers.attention_loops import delta_memory, elu_sums, look, mixed, product, softmax

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.model.attention import build_attention
from seq2seq.model.encoder import Source, length_mask
from seq2seq.model.translation import TranslationModel

LENGTHS = torch.tensor([7, 1, 5])
WIDTH = 6
"""Of states and annotations."""
KINDS = pytest.mark.parametrize("kind", ATTENTION_KINDS)
WITHOUT, POOLED = ("fixed", "init_only", "none"), ("slots", "linear", "elu", "delta")


@pytest.fixture(autouse=True)
def few_positions(monkeypatch):
    monkeypatch.setattr("seq2seq.model.attention.local.POSITIONS", 6)


def build(kind):
    """A kind with large random weights, and a batch with a sentence longer than its window."""
    torch.manual_seed(1)
    config = AttentionConfig(kind=kind, size=4, heads=2, window=2, slots=3)
    attention = build_attention(config, WIDTH, WIDTH)
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter)
    mask = length_mask(LENGTHS, 7)
    annotations = torch.randn(3, 7, WIDTH) * mask[:, :, None]
    encoded = Source(annotations, mask, torch.randn(3, WIDTH), annotations[:, :, :0])
    return attention, encoded, Source(*(part.detach() for part in attention.read(encoded)))


@pytest.mark.parametrize("kind", sorted({*ATTENTION_KINDS} - {*WITHOUT, *POOLED}))
def test_each_kind_equals_its_slow_loop_over_several_steps(kind):
    attention, _, source = build(kind)
    state = attention.init_state(source)
    for _ in range(4):
        query = torch.randn(3, WIDTH)
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


@KINDS
def test_neither_padding_nor_scores_of_thousands_reach_the_context(kind):
    attention, encoded, source = build(kind)
    query, state = torch.randn(3, WIDTH), attention.init_state(source)
    outside = ~encoded.mask[:, :, None]
    noisy = attention.read(
        encoded._replace(annotations=encoded.annotations.masked_fill(outside, 1e3))
    )
    torch.testing.assert_close(attention(query, source, state), attention(query, noisy, state))
    context, weights = attention(1e4 * query, source, state)
    assert context.isfinite().all()
    assert weights.isfinite().all()


@KINDS
def test_each_kind_has_its_settings(kind):
    config = AttentionConfig(kind=kind, size=15, heads=5, window=3)
    attention = build_attention(config, query_size=7, annotation_size=20)
    for setting in ("heads", "window"):
        assert getattr(attention, setting, None) in (None, getattr(config, setting))
    assert attention.needs_query == (kind not in (*WITHOUT, "uniform"))


@pytest.mark.parametrize("kind", POOLED)
def test_a_pooled_memory_equals_its_slow_loop(kind):
    attention, encoded, source = build(kind)
    query = torch.randn(3, WIDTH)
    context, weights = attention(query, source, attention.init_state(source))
    for row, length in enumerate(LENGTHS.tolist()):
        words = encoded.annotations[row, :length].tolist()
        asked = query[row].tolist()
        if kind == "elu":
            expected, shares, memory = elu_sums(attention, asked, words)
        elif kind == "delta":
            memory = delta_memory(attention, words)
            expected, shares = look(kind, attention, asked, memory, [])
        else:
            scores = [[product(p, h) for h in words] for p in attention.pool.weight.tolist()]
            memory = [mixed(softmax(of_slot), words) for of_slot in scores]
            expected, shares = look(kind, attention, asked, memory, [])
        if kind == "linear":  # which needs no memory in this order
            to_words = mixed(shares, [softmax(of_slot) for of_slot in scores])
            expected = mixed(to_words, words)
        found = context[row], weights[row], source.summary[row]
        slow = expected, shares, mixed([1 / 3] * 3, memory)
        torch.testing.assert_close(found, tuple(torch.tensor(part) for part in slow))


def model(kind, **settings):
    torch.manual_seed(2)
    config = ModelConfig(
        embedding_dim=WIDTH,
        encoder=EncoderConfig(hidden_size=WIDTH // 2),
        attention=AttentionConfig(kind=kind, size=4, **settings),
        decoder=DecoderConfig(hidden_size=WIDTH, query="state"),
        dropout=0.0,
    )
    return TranslationModel(config, 9, 9).decoder


def decode(decoder, weights, target, encoded):
    """What a decoder with these weights makes of the source as its attention reads it."""
    common = {name: value for name, value in weights.items() if name in decoder.state_dict()}
    left = decoder.load_state_dict(common, strict=False).missing_keys
    assert {*left} <= {"attention.pool.weight"}
    if left:  # slot j asks for annotation j, and its softmax sees nothing else
        pool = decoder.attention.pool.weight
        pool.data = 1e3 * encoded.annotations[0, : len(pool)]
    return decoder(target, decoder.attention.read(encoded))


def test_one_slot_is_the_fixed_vector_and_a_slot_for_each_word_is_attention():
    annotations = torch.eye(WIDTH)[None, :5]
    mask = torch.ones(1, 5, dtype=torch.bool)
    encoded = Source(annotations, mask, annotations.mean(dim=1), annotations[:, :, :0])
    additive = model("additive")
    given = additive.state_dict(), torch.randn(1, 4, WIDTH)
    slots, attention = (
        decode(each, *given, encoded) for each in (model("slots", slots=5), additive)
    )
    torch.testing.assert_close(slots, attention)
    alone = encoded._replace(
        annotations=annotations[:, :1], mask=mask[:, :1], summary=annotations[:, 0]
    )
    one, fixed = (
        decode(each, *given, alone)[0] for each in (model("slots", slots=1), model("fixed"))
    )
    torch.testing.assert_close(one, fixed)
