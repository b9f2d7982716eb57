"""A toy language pair for tests: the target is the source backwards, in capitals."""

import random
from dataclasses import replace
from pathlib import Path

from helpers.samples import joined, put
from seq2seq.config import (
    AttentionConfig,
    DecoderConfig,
    DecodingConfig,
    EncoderConfig,
    EvaluateConfig,
    EvaluationConfig,
    FilesCorpus,
    ModelConfig,
    OptimizerConfig,
    TokenizationConfig,
    TrainConfig,
    TrainingConfig,
)

SCORING = EvaluationConfig(length_buckets=[2, 4], bootstrap=100)


def write_reversal_corpus(directory: Path, train: int = 200, longest: int = 6) -> Path:
    """Write train, valid and test text of words a-h, one to ``longest`` a line."""
    luck = random.Random(1)
    for split, count in (("train", train), ("valid", 30), ("test", 100)):
        lines = [luck.choices("abcdefgh", k=luck.randint(1, longest)) for _ in range(count)]
        target = joined(" ".join(reversed(line)).upper() for line in lines)
        source = joined(" ".join(line) for line in lines)
        put(directory, {f"{split}.source": source, f"{split}.target": target})
    return directory


def reversal_experiment(
    folder: Path, kind: str = "additive", learning_rate: float = 0.005, **training: object
) -> TrainConfig:
    """A tiny experiment on the reversal corpus, on one CPU core, in float32."""
    settings = {"batch_size": 20, "max_epochs": 2, "patience": 10, "log_every": 5}
    settings |= {"precision": "fp32", "device": "cpu", "dev_bleu_sentences": 10, **training}
    return TrainConfig(
        name="reversal",
        system="attention" if kind == "additive" else "no-attention",
        corpus=FilesCorpus(source="en", target="de", directory=str(folder / "corpus")),
        tokenization=TokenizationConfig(kind="whitespace"),
        model=ModelConfig(
            embedding_dim=16,
            dropout=0.1,
            encoder=EncoderConfig(hidden_size=16),
            attention=AttentionConfig(kind=kind, size=16),
            decoder=DecoderConfig(hidden_size=32),
        ),
        training=TrainingConfig(**settings, optimizer=OptimizerConfig(learning_rate=learning_rate)),
        evaluation=SCORING,
        data=str(folder / "data"),
        output=str(folder / "outputs"),
    )


def evaluation_of(run: Path, **changes: object) -> EvaluateConfig:
    """How to evaluate its run folder: greedily, on one CPU core, in float32."""
    usual = {"decoding": DecodingConfig(beam=1), "device": "cpu", "precision": "fp32"}
    places = {"checkpoint": str(run), "data": str(run / "data"), "evaluation": SCORING}
    return EvaluateConfig(**{**usual, **places, **changes})


def with_optimizer(config: TrainConfig, **settings: object) -> TrainConfig:
    """The config with other settings of the optimizer."""
    optimizer = replace(config.training.optimizer, **settings)
    return replace(config, training=replace(config.training, optimizer=optimizer))


def without_dropout(config: TrainConfig) -> TrainConfig:
    """The config without dropout, for which each device and process draws other numbers."""
    return replace(config, model=replace(config.model, dropout=0.0))
