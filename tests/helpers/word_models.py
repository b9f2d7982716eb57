"""Random models of words, as checkpoints and with the rounded weights of the live page."""

import random
from dataclasses import replace
from pathlib import Path

import torch

from helpers.small_checkpoint import experiment, training_state
from seq2seq.checkpoint import Checkpoint, save_checkpoint
from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.data.tokenization import TextCodec, WhitespaceTokenizer
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.decoding.translator import Translator
from seq2seq.model.translation import TranslationModel
from seq2seq.report.live import rounded

ENGLISH = ["the", "old", "man", "sees", "dog", "Paris", ",", ".", "ß", "</script>", "isn't", "a"]
GERMAN = ["der", "alte", "Mann", "sieht", "den", "Hund", ",", ".", "<b>", "&amp;", "über", "ein"]


def word_checkpoint(kind: str, seed: int = 1, system: str = "", **decoder) -> Checkpoint:
    """Checkpoint of a random model of words; it cuts lines after 20 words."""
    model = ModelConfig(
        embedding_dim=12,
        encoder=EncoderConfig(hidden_size=9),
        attention=AttentionConfig(kind=kind, size=10),
        decoder=DecoderConfig(hidden_size=14, **decoder),
    )
    config = replace(experiment(), model=model, system=system or kind)
    sides = [
        TextCodec(WhitespaceTokenizer(language), Vocabulary(words, [1] * len(words)))
        for language, words in (("en", ENGLISH), ("de", GERMAN))
    ]
    torch.manual_seed(seed)
    network = TranslationModel(model, *(len(side.vocabulary) for side in sides))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(2.5)
        network.output.bias.normal_()
    return Checkpoint(config, network, *sides, training_state())


def save_words(folder: Path, kind: str, seed: int = 1, system: str = "") -> Path:
    save_checkpoint(folder, word_checkpoint(kind, seed, system))
    return folder


def rounded_translator(checkpoint: Checkpoint) -> Translator:
    """Round the checkpoint's weights as the page unpacks them; return a translator with them."""
    with torch.no_grad():
        for parameter in checkpoint.model.parameters():
            if parameter.ndim == 2:
                steps, step = rounded(parameter.numpy())
                parameter.copy_(torch.from_numpy(steps * step[:, None]))
    return Translator(checkpoint, precision="fp32")


def sentences(count: int, seed: int = 0) -> list[str]:
    """Sentences of known words, some as people type them, and now and then an unknown one."""
    luck = random.Random(seed)
    found = []
    for number in range(count):
        words = [luck.choice([*ENGLISH, "unknown"]) for _ in range(luck.randint(1, 24))]
        found.append(" ".join(words))
        if number % 3 == 1:
            found[-1] = found[-1].capitalize().replace(" .", ".").replace(" ,", ",") + "."
    return found
