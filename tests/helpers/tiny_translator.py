"""A real but tiny model with random weights, and sentences for it."""

from functools import cache
from pathlib import Path

import torch

from helpers.small_checkpoint import CPU, experiment, training_state
from seq2seq.checkpoint import Checkpoint, save_checkpoint
from seq2seq.config import AttentionConfig, TrainConfig
from seq2seq.data.tokenization import SentencePieceTokenizer, TextCodec
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.decoding.translator import Translator
from seq2seq.model.translation import TranslationModel

SENTENCES = ["a dog barks at the dog", "the cat sees a barking dog", "cats and dogs bark, 😀 ña"]
SHARPNESS = 3.0
"""How much larger weights are than at the start of a training, so that scores lie far apart."""


@cache
def tiny_codec() -> TextCodec:
    """Tokenizer and vocabulary of subwords, learned from ``SENTENCES``."""
    model = SentencePieceTokenizer.train_model(SENTENCES, 50, "the sentences")
    tokenizer = SentencePieceTokenizer("en", model)
    pieces = tokenizer.pieces[4:]
    return TextCodec(tokenizer, Vocabulary(pieces, [1] * len(pieces)))


def tiny_config(kind: str) -> TrainConfig:
    """Config of the model; lines are cut after 20 pieces."""
    config = experiment()
    config.model.attention = AttentionConfig(kind=kind, size=5)
    return config


def tiny_model(kind: str) -> TranslationModel:
    """The model, always with the same weights."""
    torch.manual_seed(1)
    size = len(tiny_codec().vocabulary)
    model = TranslationModel(tiny_config(kind).model, size, size)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(SHARPNESS)
    return model


@cache
def tiny_translator(kind: str = "additive") -> Translator:
    """Translator with the model, in float32, on the CPU."""
    codec = tiny_codec()
    sides = {"source": codec, "target": codec, "max_pieces": 20}
    return Translator.of_parts(tiny_model(kind), **sides, device=CPU, precision=torch.float32)


def save_tiny(folder: Path, kind: str = "additive") -> Path:
    """Save the model as a checkpoint; return its folder."""
    config, codec = tiny_config(kind), tiny_codec()
    checkpoint = Checkpoint(config, tiny_model(kind), codec, codec, training_state())
    save_checkpoint(folder, checkpoint)
    return folder
