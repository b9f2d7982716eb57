"""A model whose weights are large enough for every part to matter, and a ragged batch for it."""

import torch

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.data.vocabulary import PAD
from seq2seq.model.translation import TranslationModel

SOURCES = [[5, 6, 7, 3], [3], [9, 4, 3]]
SOURCE = torch.tensor([[5, 6, 7, 3], [3, PAD, PAD, PAD], [9, 4, 3, PAD]])
LENGTHS = torch.tensor([4, 1, 3])
TARGET = torch.tensor([[2, 5, 6, 9], [2, 7, PAD, PAD], [2, 8, 9, 4]])
# A window at either end does not hold the longest source.
HEADS, WINDOW = 2, 2


def build(kind="additive", layers=1, dtype=torch.float64, widen=1, settings=None, **decoder):
    torch.manual_seed(0)
    config = ModelConfig(
        embedding_dim=6 * widen,
        # The summary of several layers is wider than an annotation.
        encoder=EncoderConfig(hidden_size=4 * widen, layers=layers, summary="all"),
        attention=AttentionConfig(kind=kind, size=8 * widen, heads=HEADS, window=WINDOW),
        decoder=DecoderConfig(hidden_size=8 * widen, layers=layers, **decoder),
        **{"dropout": 0.0, **(settings or {})},
    )
    return TranslationModel(config, 11, 13).to(dtype)


def enlarge(model):
    """Enlarge the weights, so that every part of ``model`` matters; return it."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 1.5
        for linear in (model.decoder.readout_layer, model.output):
            torch.nn.init.normal_(linear.bias, std=0.5)
    return model
