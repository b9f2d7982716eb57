"""The encoder against PyTorch's LSTM, sentence by sentence."""

import pytest
import torch

from seq2seq.config import EncoderConfig
from seq2seq.model.encoder import Encoder


@pytest.mark.parametrize("summary", ["top", "all"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("directions", ["both", "forward", "backward"])
def test_a_batch_equals_pytorchs_lstm_on_each_sentence(directions, layers, summary):
    torch.manual_seed(0)
    config = EncoderConfig(hidden_size=3, layers=layers, directions=directions, summary=summary)
    encoder = Encoder(5, config, dropout=0.0)
    batch, lengths = torch.randn(4, 7, 5), torch.tensor([7, 1, 4, 6])  # noise as padding
    source = encoder(batch, lengths)
    assert source.mask.sum(dim=1).tolist() == lengths.tolist()
    assert not source.annotations[~source.mask].any()
    for row, length in enumerate(lengths.tolist()):
        states, ends = batch[row, :length], []
        for layer in range(layers):
            read = []
            if directions != "backward":
                read.append(encoder.forwards[layer](states)[0])
                ends.append(read[-1][-1])
            if directions != "forward":
                read.append(encoder.backwards[layer](states.flip(0))[0].flip(0))
                ends.append(read[-1][0])
            states = torch.cat(read, dim=1)
        expected = torch.cat(ends if summary == "all" else ends[-len(read) :])
        torch.testing.assert_close(source.annotations[row, :length], states)
        torch.testing.assert_close(source.summary[row], expected)
