"""Bahdanau's order against slow loops from the paper, by every kind of attention."""

import pytest
import torch
from decoder_loops import slow_bahdanau

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.data.vocabulary import PAD
from seq2seq.model.translation import TranslationModel

SOURCES = [[5, 6, 7, 3], [8, 3], [9, 4, 3]]
SOURCE = torch.tensor([[5, 6, 7, 3], [8, 3, PAD, PAD], [9, 4, 3, PAD]])
LENGTHS = torch.tensor([4, 2, 3])
TARGET = torch.tensor([[2, 5, 6, 9], [2, 7, PAD, PAD], [2, 8, 9, 4]])


def build(
    kind: str, layers: int, recurrence: str, query: str = "state_and_word", readout: str = "linear"
) -> TranslationModel:
    """A model whose weights are large enough for every part to matter."""
    torch.manual_seed(0)
    config = ModelConfig(
        embedding_dim=6,
        dropout=0.0,
        # The summary of several layers is wider than an annotation.
        encoder=EncoderConfig(hidden_size=4, layers=layers, summary="all"),
        # Neither the window nor the positions hold the longest source.
        attention=AttentionConfig(kind=kind, size=8, heads=2, window=2, positions=3),
        decoder=DecoderConfig(
            hidden_size=8, layers=layers, recurrence=recurrence, query=query, readout=readout
        ),
    )
    model = TranslationModel(config, 11, 13).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 1.5
        for linear in (model.decoder.readout_layer, model.output):
            torch.nn.init.normal_(linear.bias, std=0.5)
    return model


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
@pytest.mark.parametrize(
    ("layers", "recurrence", "query", "readout"),
    [
        (1, "fast", "state_and_word", "linear"),
        (1, "fast", "state", "tanh"),
        (1, "reference", "state_and_word", "tanh"),
        (1, "reference", "state", "linear"),
        (2, "fast", "state_and_word", "linear"),
    ],
)
def test_a_batch_equals_slow_loops_over_its_sentences(kind, layers, recurrence, query, readout):
    """Of the paper's equations; so no sentence is touched by its company, or by padding."""
    model = build(kind, layers, recurrence, query, readout)
    outputs, weights = model.decoder.unroll(
        model.target_embedding(TARGET), model.encode(SOURCE, LENGTHS)
    )
    logits = model.logits(outputs)
    for row, source in enumerate(SOURCES):
        expected, looked = slow_bahdanau(model, kind, source, TARGET[row].tolist())
        torch.testing.assert_close(logits[row], torch.tensor(expected, dtype=torch.float64))
        mine = weights[row, :, : len(source)]
        torch.testing.assert_close(mine, torch.tensor(looked, dtype=torch.float64))
        assert not weights[row, :, len(source) :].any()
