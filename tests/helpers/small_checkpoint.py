"""Tiny models with random weights, their checkpoints, and how one alters these on purpose."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch

from helpers.reversal import reversal_experiment
from seq2seq.checkpoint import Checkpoint, MetricsState, TrainingState, capture_rng, save_checkpoint
from seq2seq.config import GrammarCorpus, TokenizationConfig, TrainConfig
from seq2seq.data.tokenization import SentencePieceTokenizer, TextCodec, Tokenizer
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.decoding.translator import Translator
from seq2seq.model.translation import TranslationModel
from seq2seq.record import Progress

CPU = torch.device("cpu")
SENTENCES = ["a dog barks at the dog", "the cat sees a barking dog", "cats and dogs bark, 😀 ña"]


def experiment(kind: str = "additive", widen: int = 1, **decoder: object) -> TrainConfig:
    """Config of a tiny model; lines are cut after 20 pieces."""
    config = reversal_experiment(Path("text"))
    config.corpus = GrammarCorpus()
    config.tokenization = TokenizationConfig(kind="whitespace", max_pieces=20)
    config.model = replace(
        config.model,
        embedding_dim=6 * widen,
        encoder=replace(config.model.encoder, hidden_size=4 * widen),
        attention=replace(config.model.attention, kind=kind, size=5 * widen),
        decoder=replace(config.model.decoder, hidden_size=7 * widen, **decoder),
    )
    return config


def codec(language: str, words: Sequence[str]) -> TextCodec:
    return TextCodec(Tokenizer(language), Vocabulary(words, [1] * len(words)))


SIDES = codec("en", ["a", "dog", "barks"]), codec("de", ["ein", "hund", "bellt"])


def training_state(update: int = 1) -> TrainingState:
    return TrainingState(Progress(update=update), MetricsState())


def small(config=None, sides=SIDES, seed=0) -> Checkpoint:
    """A random model, whose weights are so large that scores lie far apart."""
    config = config or experiment()
    torch.manual_seed(seed)
    model = TranslationModel(config.model, *(len(side.vocabulary) for side in sides))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
    return Checkpoint(config, model, *sides, training_state())


def word_translator() -> Translator:
    return Translator(small(experiment(tie_embedding=False)), "cpu", "fp32")


def save(folder: Path, config: TrainConfig | None = None, **fields: object) -> Path:
    """Save ``small(config)`` with other ``fields`` as a checkpoint; return its folder."""
    save_checkpoint(folder, replace(small(config), **fields))
    return folder


OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam(p, lr=1e-2, betas=(0.8, 0.9)),
    "fused adam": lambda p: torch.optim.Adam(p, lr=1e-2, fused=True),
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=0.5, rho=0.9),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
}


def train(model: TranslationModel, optimizer: torch.optim.Optimizer, steps: int) -> None:
    source, lengths = torch.tensor([[4, 5, 6, 3], [6, 3, 0, 0]]), torch.tensor([4, 2])
    model.train()
    for _ in range(steps):  # with dropout, so that the random state counts
        readouts, _ = model(source, lengths, torch.tensor([[2, 4, 5], [2, 6, 0]]))
        optimizer.zero_grad()
        model.logits(readouts).logsumexp(-1).mean().backward()
        optimizer.step()


def save_whole(folder: Path) -> Path:
    """Save a checkpoint with the states of optimizer and random numbers; return its folder."""
    made = small()
    optimizer = OPTIMIZERS["adam"](made.model.parameters())
    train(made.model, optimizer, 1)
    save_checkpoint(folder, replace(made, rng=capture_rng()), optimizer)
    return folder


def reseal(checkpoint: Path) -> None:
    """Make the manifest agree with the files, as one who alters a checkpoint on purpose would."""
    manifest = checkpoint / "manifest.json"
    paths = [path for path in checkpoint.iterdir() if path != manifest]
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    content = {**json.loads(manifest.read_bytes()), "files": files}
    manifest.write_text(json.dumps(content), encoding="utf-8")


@cache
def subwords() -> TextCodec:
    """Tokenizer and vocabulary of subwords, learned from ``SENTENCES``."""
    model = SentencePieceTokenizer.train_model(SENTENCES, 50, "the sentences")
    tokenizer = SentencePieceTokenizer("en", model)
    pieces = tokenizer.pieces[4:]
    return TextCodec(tokenizer, Vocabulary(pieces, [1] * len(pieces)))


def tiny(kind: str) -> Checkpoint:
    """A model of subwords."""
    return small(experiment(kind), [subwords()] * 2, seed=1)


@cache
def tiny_translator(kind: str = "additive") -> Translator:
    return Translator(tiny(kind), "cpu", "fp32")


def save_tiny(folder: Path, kind: str = "additive") -> Path:
    save_checkpoint(folder, tiny(kind))
    return folder
