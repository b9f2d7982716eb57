"""The encoder against PyTorch's packed LSTM, and its indifference to padding."""

import pytest
import torch
from torch import nn

from seq2seq.config import EncoderConfig
from seq2seq.config.model import DIRECTIONS
from seq2seq.model.encoder import Encoder, flip_index, length_mask

LENGTHS = torch.tensor([7, 1, 4, 6])


@pytest.fixture
def embedded() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(len(LENGTHS), 7, 5)


def packed_reference(encoder: Encoder, embedded: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The same weights in one packed bidirectional nn.LSTM: memory, final states of all layers."""
    hidden = encoder.forwards[0].hidden_size
    layers = len(encoder.forwards)
    lstm = nn.LSTM(embedded.shape[2], hidden, layers, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for layer in range(layers):
            for suffix, part in (("", encoder.forwards), ("_reverse", encoder.backwards)):
                for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                    mine = getattr(part[layer], f"{kind}_l0")
                    getattr(lstm, f"{kind}_l{layer}{suffix}").copy_(mine)
    packed = nn.utils.rnn.pack_padded_sequence(
        embedded, LENGTHS, batch_first=True, enforce_sorted=False
    )
    memory, (final, _) = lstm(packed)
    memory, _ = nn.utils.rnn.pad_packed_sequence(memory, batch_first=True)
    return memory, torch.cat([*final], dim=1)


@pytest.mark.parametrize("summary", ["top", "all"])
@pytest.mark.parametrize("layers", [1, 2])
def test_equals_the_packed_bidirectional_lstm(embedded, layers, summary):
    encoder = Encoder(5, EncoderConfig(hidden_size=3, layers=layers, summary=summary), dropout=0.0)
    encoded = encoder(embedded, LENGTHS)
    memory, final = packed_reference(encoder, embedded)
    torch.testing.assert_close(encoded.memory, memory)
    torch.testing.assert_close(encoded.summary, final if summary == "all" else final[:, -6:])
    assert encoded.summary.shape[1] == encoder.summary_size


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("directions", ["forward", "backward"])
def test_one_direction_equals_pytorchs_lstm_on_each_sentence(embedded, directions, layers):
    encoder = Encoder(
        5, EncoderConfig(hidden_size=3, layers=layers, directions=directions), dropout=0.0
    )
    read = encoder.forwards if directions == "forward" else encoder.backwards
    encoded = encoder(embedded, LENGTHS)
    assert encoder.memory_size == 3
    for row, length in enumerate(LENGTHS.tolist()):
        states = embedded[row, :length]
        for lstm in read:
            in_order = states if directions == "forward" else states.flip(0)
            states = lstm(in_order)[0]
            states = states if directions == "forward" else states.flip(0)
        torch.testing.assert_close(encoded.memory[row, :length], states)
        last = states[-1 if directions == "forward" else 0]
        torch.testing.assert_close(encoded.summary[row], last)


def test_gradients_equal_the_packed_ones(embedded):
    encoder = Encoder(5, EncoderConfig(hidden_size=3), dropout=0.0)
    weights = torch.randn(len(LENGTHS), 7, 6)
    mine, theirs = embedded.clone().requires_grad_(), embedded.clone().requires_grad_()
    (encoder(mine, LENGTHS).memory * weights).sum().backward()
    (packed_reference(encoder, theirs)[0] * weights).sum().backward()
    torch.testing.assert_close(mine.grad, theirs.grad)


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_padding_and_company_change_nothing(embedded, directions):
    encoder = Encoder(5, EncoderConfig(hidden_size=3, layers=2, directions=directions), dropout=0.0)
    together = encoder(embedded, LENGTHS)
    noisy = embedded.clone()
    noisy[~length_mask(LENGTHS, 7)] = 1e3
    torch.testing.assert_close(encoder(noisy, LENGTHS), together)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = encoder(embedded[row : row + 1, :length], LENGTHS[row : row + 1])
        torch.testing.assert_close(alone.memory[0], together.memory[row, :length])
        torch.testing.assert_close(alone.summary[0], together.summary[row])


def test_memory_is_zero_at_padding_and_mask_is_true_at_tokens(embedded):
    encoded = Encoder(5, EncoderConfig(hidden_size=3), dropout=0.0)(embedded, LENGTHS)
    assert encoded.mask.sum(dim=1).tolist() == LENGTHS.tolist()
    assert encoded.memory[~encoded.mask].abs().max() == 0


def test_flip_index_reverses_each_sentence_and_undoes_itself():
    index = flip_index(torch.tensor([3, 1, 5]), 5)
    assert index.tolist() == [[2, 1, 0, 3, 4], [0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]
    torch.testing.assert_close(index.gather(1, index), torch.arange(5).expand(3, 5))


def test_select_repeats_and_reorders_sentences(embedded):
    encoded = Encoder(5, EncoderConfig(hidden_size=3), dropout=0.0)(embedded, LENGTHS)
    chosen = encoded.select(torch.tensor([2, 2, 0]))
    torch.testing.assert_close(chosen.summary, encoded.summary[[2, 2, 0]])
    torch.testing.assert_close(chosen.memory[1], encoded.memory[2])
    assert chosen.mask.sum(dim=1).tolist() == [4, 4, 7]
