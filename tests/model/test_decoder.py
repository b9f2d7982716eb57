"""The decoder: the cell against PyTorch's, the paper's order of things, unroll against steps."""

import pytest
import torch
from torch import nn

from seq2seq.config import AttentionConfig, DecoderConfig
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.model.attention import build_attention
from seq2seq.model.bahdanau import BahdanauDecoder
from seq2seq.model.decoder import lstm_cell
from seq2seq.model.encoder import Encoded, length_mask


def build(kind: str = "additive", layers: int = 1, readout: str = "tanh") -> BahdanauDecoder:
    torch.manual_seed(0)
    # Only dot needs states as wide as annotations.
    hidden = 6 if kind == "dot" else 5
    settings = AttentionConfig(kind=kind, size=4, heads=2, window=1, positions=3)
    attention = build_attention(settings, hidden, memory_size=6)
    for parameter in attention.parameters():
        nn.init.normal_(parameter)
    config = DecoderConfig(hidden_size=hidden, layers=layers, readout=readout)
    return BahdanauDecoder(3, 6, 6, attention, config, dropout=0.0)


@pytest.fixture
def encoded() -> Encoded:
    torch.manual_seed(1)
    mask = length_mask(torch.tensor([4, 2]), 4)
    return Encoded(torch.randn(2, 4, 6) * mask[:, :, None], mask, torch.randn(2, 6))


def test_cell_equals_pytorchs_lstm_cell():
    torch.manual_seed(0)
    reference = nn.LSTMCell(3, 5)
    x, hidden, cell = torch.randn(2, 3), torch.randn(2, 5), torch.randn(2, 5)
    gates = nn.functional.linear(x, reference.weight_ih, reference.bias_ih)
    gates = gates + nn.functional.linear(hidden, reference.weight_hh, reference.bias_hh)
    torch.testing.assert_close(lstm_cell(gates, cell), reference(x, (hidden, cell)))


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
@pytest.mark.parametrize(("layers", "readout"), [(1, "tanh"), (2, "maxout")])
def test_unroll_equals_steps(encoded, kind, layers, readout):
    decoder = build(kind, layers, readout)
    embedded = torch.randn(2, 3, 3)
    outputs, weights = decoder.unroll(embedded, encoded)
    state, keys = decoder.initial_state(encoded), decoder.attention.keys(encoded.memory)
    for position in range(3):
        output, state, step_weights = decoder.step(embedded[:, position], state, encoded, keys)
        torch.testing.assert_close(outputs[:, position], output)
        torch.testing.assert_close(weights[:, position], step_weights)


def test_the_query_is_the_state_before_the_step(encoded):
    """Bahdanau's order: the first weights depend on s_0 and not on the first word."""
    decoder = build()
    state, keys = decoder.initial_state(encoded), decoder.attention.keys(encoded.memory)
    _, expected = decoder.attention(state.hidden[-1], keys, encoded, state.past)
    for embedded in (torch.zeros(2, 3), torch.randn(2, 3)):
        _, _, weights = decoder.step(embedded, state, encoded, keys)
        torch.testing.assert_close(weights, expected)


@pytest.mark.parametrize("part", ["state_gates", "readout_layer"])
def test_the_context_enters_the_recurrence_and_the_readout(encoded, part):
    """With the context's columns zeroed in the other of the two, the output still sees it."""
    decoder = build("fixed")
    with torch.no_grad():
        decoder.initial.weight.zero_()  # s_0 must not carry the summary here
        if part == "state_gates":
            decoder.readout_layer.weight[:, 5 + 3 :].zero_()
        else:
            decoder.state_gates.weight[:, :6].zero_()
    embedded = torch.randn(2, 2, 3)
    outputs, _ = decoder.unroll(embedded, encoded)
    other = encoded._replace(summary=encoded.summary + 1)
    assert (decoder.unroll(embedded, other)[0] - outputs).abs().max() > 1e-3


def test_the_initial_state_comes_from_the_summary(encoded):
    decoder = build(layers=2)
    state = decoder.initial_state(encoded)
    assert state.hidden.shape == state.cell.shape == (2, 2, 5)
    flat = torch.tanh(decoder.initial(encoded.summary))  # hidden of both layers, then cells
    torch.testing.assert_close(state.hidden[1], flat[:, 5:10])
    torch.testing.assert_close(state.cell[0], flat[:, 10:15])


def test_maxout_takes_the_larger_of_each_pair():
    decoder = build(readout="maxout")
    hidden, embedded, context = torch.randn(2, 5), torch.randn(2, 3), torch.randn(2, 6)
    mixed = decoder.readout_layer(torch.cat([hidden, embedded, context], dim=1))
    expected = torch.stack(
        [torch.maximum(mixed[:, 2 * k], mixed[:, 2 * k + 1]) for k in range(3)], dim=1
    )
    torch.testing.assert_close(decoder.readout(hidden, embedded, context), expected)
