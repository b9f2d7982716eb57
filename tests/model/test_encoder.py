"""The encoder against PyTorch's packed LSTM, and its indifference to padding."""

import pytest
import torch
from torch import nn

from seq2seq.config import EncoderConfig
from seq2seq.model.encoder import Encoder, length_mask

LENGTHS = torch.tensor([7, 1, 4, 6])


@pytest.fixture
def embedded():
    torch.manual_seed(0)
    return torch.randn(len(LENGTHS), 7, 5)


def build(**choices):
    return Encoder(5, EncoderConfig(hidden_size=3, **choices), dropout=0.0)


def packed_reference(encoder, embedded):
    """The same weights in one packed bidirectional nn.LSTM: annotations, final states by layer."""
    layers = len(encoder.forwards)
    lstm = nn.LSTM(5, 3, layers, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for layer in range(layers):
            for suffix, part in (("", encoder.forwards), ("_reverse", encoder.backwards)):
                for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                    mine = getattr(part[layer], f"{kind}_l0")
                    getattr(lstm, f"{kind}_l{layer}{suffix}").copy_(mine)
    packed = nn.utils.rnn.pack_padded_sequence(
        embedded, LENGTHS, batch_first=True, enforce_sorted=False
    )
    annotations, (final, _) = lstm(packed)
    annotations, _ = nn.utils.rnn.pad_packed_sequence(annotations, batch_first=True)
    return annotations, torch.cat([*final], dim=1)


@pytest.mark.parametrize("summary", ["top", "all"])
@pytest.mark.parametrize("layers", [1, 2])
def test_it_equals_the_packed_lstm_in_numbers_and_gradients(embedded, layers, summary):
    encoder = build(layers=layers, summary=summary)
    mine, theirs = embedded.clone().requires_grad_(), embedded.clone().requires_grad_()
    source = encoder(mine, LENGTHS)
    annotations, final = packed_reference(encoder, theirs)
    torch.testing.assert_close(source.annotations, annotations)
    torch.testing.assert_close(source.summary, final if summary == "all" else final[:, -6:])
    assert source.summary.shape[1] == encoder.summary_size
    weights = torch.randn(len(LENGTHS), 7, 6)
    for each in (source.annotations, annotations):
        (each * weights).sum().backward()
    torch.testing.assert_close(mine.grad, theirs.grad)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("directions", ["forward", "backward"])
def test_one_direction_equals_pytorchs_lstm_on_each_sentence(embedded, directions, layers):
    encoder = build(layers=layers, directions=directions)
    turn = (lambda states: states) if directions == "forward" else (lambda states: states.flip(0))
    source = encoder(embedded, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        states = turn(embedded[row, :length])
        for lstm in encoder.forwards if directions == "forward" else encoder.backwards:
            states = lstm(states)[0]
        torch.testing.assert_close(source.annotations[row, :length], turn(states))
        torch.testing.assert_close(source.summary[row], states[-1])


@pytest.mark.parametrize("directions", ["both", "forward", "backward"])
def test_padding_changes_nothing(embedded, directions):
    encoder = build(layers=2, directions=directions)
    together = encoder(embedded, LENGTHS)
    noisy = embedded.masked_fill(~length_mask(LENGTHS, 7)[:, :, None], 1e3)
    torch.testing.assert_close(encoder(noisy, LENGTHS), together)
    assert together.mask.sum(dim=1).tolist() == LENGTHS.tolist()
    assert not together.annotations[~together.mask].any()
