"""A tiny checkpoint, and how one alters it on purpose."""

import hashlib
import json
from dataclasses import replace
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
)
from seq2seq.data.tokenization import TextCodec, WhitespaceTokenizer
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.model.translation import TranslationModel
from seq2seq.record import Progress

CPU = torch.device("cpu")


def experiment(tie=True):
    return replace(
        reversal_experiment(Path("text")),
        corpus=GrammarCorpus(),
        tokenization=TokenizationConfig(kind="whitespace", max_pieces=20),
        model=ModelConfig(
            embedding_dim=6,
            encoder=EncoderConfig(hidden_size=4),
            attention=AttentionConfig(size=5),
            decoder=DecoderConfig(hidden_size=7, tie_embedding=tie),
        ),
    )


def codec(language, words):
    return TextCodec(WhitespaceTokenizer(language), Vocabulary(words.split(), [1, 2, 3]))


ENGLISH, GERMAN = codec("en", "a dog barks"), codec("de", "ein hund bellt")
SOURCE, LENGTHS = torch.tensor([[4, 5, 6, 3], [6, 3, 0, 0]]), torch.tensor([4, 2])
TARGET = torch.tensor([[2, 4, 5], [2, 6, 0]])


def new_model(config):
    torch.manual_seed(0)
    return TranslationModel(config.model, len(ENGLISH.vocabulary), len(GERMAN.vocabulary))


def training_state(update=1):
    return TrainingState(Progress(update=update), MetricsState(), {})


def save(directory, model=None, config=None, optimizer=None, state=None, rng=()):
    config, state = config or experiment(), state or training_state()
    model = model or new_model(config)
    checkpoint = Checkpoint(config, model, ENGLISH, GERMAN, state, dict(rng))
    save_checkpoint(directory, checkpoint, optimizer)


def train(model, optimizer, steps):
    model.train()
    for _ in range(steps):  # with dropout, so that the random state counts
        loss = model.logits(model(SOURCE, LENGTHS, TARGET)[0]).logsumexp(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam(p, lr=1e-2, betas=(0.8, 0.9)),
    "fused adam": lambda p: torch.optim.Adam(p, lr=1e-2, fused=True),
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=0.5, rho=0.9),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
}


def save_whole(directory):
    """Write a checkpoint with the states of optimizer and random numbers; return its folder."""
    model = new_model(experiment())
    optimizer = OPTIMIZERS["adam"](model.parameters())
    train(model, optimizer, 1)
    save(directory, model, optimizer=optimizer, rng=capture_rng())
    return directory


def reseal(checkpoint, version=FORMAT):
    """Make the manifest agree with the files, as one who alters a checkpoint on purpose would."""
    files = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in checkpoint.iterdir()
        if path.name != "manifest.json"
    }
    manifest = {"format": version, "files": files}
    (checkpoint / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
