"""Random models of words, as checkpoints and with the rounded weights of the live page."""

import random
from dataclasses import replace
from pathlib import Path

import torch

from helpers.small_checkpoint import codec, experiment, small
from seq2seq.checkpoint import Checkpoint, save_checkpoint
from seq2seq.decoding.translator import Translator
from seq2seq.report.live import rounded

ENGLISH = ["the", "old", "man", "sees", "dog", "Paris", ",", ".", "ß", "</script>", "isn't", "a"]
GERMAN = ["der", "alte", "Mann", "sieht", "den", "Hund", ",", ".", "<b>", "&amp;", "über", "ein"]


def word_checkpoint(kind: str, seed: int = 3, system: str = "", **decoder: object) -> Checkpoint:
    config = replace(experiment(kind, widen=2, **decoder), system=system or kind)
    made = small(config, [codec("en", ENGLISH), codec("de", GERMAN)], seed)
    torch.nn.init.normal_(made.model.output.bias)
    return made


def save_words(folder: Path, kind: str, seed: int = 3, system: str = "") -> Path:
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
