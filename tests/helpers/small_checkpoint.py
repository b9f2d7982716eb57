"""Tiny models with random weights, their checkpoints, and how one alters these on purpose."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch

from helpers.reversal import reversal_experiment
from seq2seq.checkpoint import (
    FORMAT,
    Checkpoint,
    MetricsState,
    TrainingState,
    capture_rng,
    save_checkpoint,
)
from seq2seq.config import (
    AttentionConfig,
    DecoderConfig,
    EncoderConfig,
    GrammarCorpus,
    ModelConfig,
    TokenizationConfig,
    TrainConfig,
)
from seq2seq.data.tokenization import SentencePieceTokenizer, TextCodec, WhitespaceTokenizer
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.decoding.translator import Translator
from seq2seq.model.translation import TranslationModel
from seq2seq.record import Progress

CPU = torch.device("cpu")
SENTENCES = ["a dog barks at the dog", "the cat sees a barking dog", "cats and dogs bark, 😀 ña"]


def experiment(kind: str = "additive", tie: bool = True) -> TrainConfig:
    """Config of a tiny model; lines are cut after 20 pieces."""
    return replace(
        reversal_experiment(Path("text")),
        corpus=GrammarCorpus(),
        tokenization=TokenizationConfig(kind="whitespace", max_pieces=20),
        model=ModelConfig(
            embedding_dim=6,
            encoder=EncoderConfig(hidden_size=4),
            attention=AttentionConfig(kind=kind, size=5),
            decoder=DecoderConfig(hidden_size=7, tie_embedding=tie),
        ),
    )


def codec(language: str, words: str) -> TextCodec:
    return TextCodec(WhitespaceTokenizer(language), Vocabulary(words.split(), [1, 2, 3]))


ENGLISH, GERMAN = codec("en", "a dog barks"), codec("de", "ein hund bellt")


def training_state(update: int = 1) -> TrainingState:
    return TrainingState(Progress(update=update), MetricsState())


def new_model(config: TrainConfig) -> TranslationModel:
    torch.manual_seed(0)
    return TranslationModel(config.model, len(ENGLISH.vocabulary), len(GERMAN.vocabulary))


def save(
    directory: Path,
    model: TranslationModel | None = None,
    config: TrainConfig | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    state: TrainingState | None = None,
    rng: Mapping[str, torch.Tensor] | tuple = (),
) -> Path:
    """Save a model of words as a checkpoint; return its folder."""
    config = config or experiment()
    model, state = model or new_model(config), state or training_state()
    checkpoint = Checkpoint(config, model, ENGLISH, GERMAN, state, dict(rng))
    save_checkpoint(directory, checkpoint, optimizer)
    return directory


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


def save_whole(directory: Path) -> Path:
    """Save a checkpoint with the states of optimizer and random numbers; return its folder."""
    model = new_model(experiment())
    optimizer = OPTIMIZERS["adam"](model.parameters())
    train(model, optimizer, 1)
    return save(directory, model, optimizer=optimizer, rng=capture_rng())


def reseal(checkpoint: Path) -> None:
    """Make the manifest agree with the files, as one who alters a checkpoint on purpose would."""
    files = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in checkpoint.iterdir()
        if path.name != "manifest.json"
    }
    manifest = {"format": FORMAT, "files": files}
    (checkpoint / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


@cache
def tiny_codec() -> TextCodec:
    """Tokenizer and vocabulary of subwords, learned from ``SENTENCES``."""
    model = SentencePieceTokenizer.train_model(SENTENCES, 50, "the sentences")
    tokenizer = SentencePieceTokenizer("en", model)
    pieces = tokenizer.pieces[4:]
    return TextCodec(tokenizer, Vocabulary(pieces, [1] * len(pieces)))


def _tiny_model(kind: str) -> TranslationModel:
    """A model of subwords, whose weights are so large that scores lie far apart."""
    torch.manual_seed(1)
    size = len(tiny_codec().vocabulary)
    model = TranslationModel(experiment(kind).model, size, size)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
    return model


@cache
def tiny_translator(kind: str = "additive") -> Translator:
    """Translator of subwords, in float32, on the CPU."""
    sides = dict.fromkeys(("source", "target"), tiny_codec())
    settings = {"max_pieces": 20, "device": CPU, "precision": torch.float32}
    return Translator.of_parts(_tiny_model(kind), **sides, **settings)


def save_tiny(folder: Path, kind: str = "additive") -> Path:
    """Save the model of subwords as a checkpoint; return its folder."""
    sides = tiny_codec(), tiny_codec()
    checkpoint = Checkpoint(experiment(kind), _tiny_model(kind), *sides, training_state())
    save_checkpoint(folder, checkpoint)
    return folder
