"""Every shipped config composes, with every experiment, into valid dataclasses."""

from itertools import product
from pathlib import Path

import pytest
from launch import CONFIGS, SCHEMAS, compose_config

from seq2seq.config import flatten, to_json

GIVEN = {
    "translate": ["checkpoint=x"],
    "evaluate": ["checkpoint=x"],
    "compare": ["evaluations=[x,y]"],
}
ROOTS = sorted(path.stem for path in CONFIGS.glob("*.yaml") if path.stem != "pipeline")
APART = {("bottleneck_width", "corpus"), ("paper", "model")}
"""An experiment on the grammar alone, of which it sets how much is written; and one that sets all
of its model."""
GROUPS = {
    folder.name: sorted(path.stem for path in folder.glob("*.yaml"))
    for folder in sorted(CONFIGS.iterdir())
    if folder.is_dir()
}


def test_each_script_has_its_config_and_the_other_way_round():
    scripts = {path.stem for path in (CONFIGS.parent / "scripts").glob("*.py")}
    shared = {"launch", "schemas", "overrides", "hydra_errors", "endings", "usage"}
    assert set(ROOTS) == scripts - shared == set(SCHEMAS)


@pytest.mark.parametrize("script", ROOTS)
def test_each_script_composes(script):
    assert isinstance(compose_config(script, GIVEN.get(script, [])), SCHEMAS[script])


@pytest.mark.parametrize(
    ("experiment", "group", "choice"),
    [
        (experiment, group, choice)
        for experiment, group in product(GROUPS["experiment"], GROUPS)
        if (experiment, group) not in APART
        and group != "experiment"
        and not (group == "scale" and experiment != "figure2")
        for choice in GROUPS[group]
    ],
)
def test_each_experiment_composes_with_each_choice_of_each_group(experiment, group, choice):
    config = compose_config("train", [f"experiment={experiment}", f"{group}={choice}"])
    assert config.name.partition("-")[0] == experiment  # a scale adds its name
    if group == "corpus":
        assert config.corpus.kind == choice
    if group == "tokenization":
        assert config.tokenization.kind == choice


@pytest.mark.parametrize("path", sorted(CONFIGS.rglob("*.yaml")), ids=lambda path: path.name)
def test_each_experiment_says_how_it_is_run(path: Path):
    if path.parent.name == "experiment":
        assert f"experiment={path.stem}" in path.read_text() or path.stem == "quickstart"
        assert "python scripts/reproduce.py" in path.read_text()


STUDY = {
    "corpus.train_pairs": 120_000,
    "tokenization.kind": "sentencepiece",
    "tokenization.vocabulary_size": 8_000,
    "tokenization.joint": False,
    "tokenization.max_pieces": 250,
    "model.embedding_dim": 256,
    "model.encoder.hidden_size": 256,
    "model.encoder.directions": "both",
    "model.attention.size": 256,
    "model.decoder.hidden_size": 512,
    "model.decoder.order": "bahdanau",
    "model.decoder.readout": "linear",  # tanh in the study as published; see its last section
    "model.decoder.tie_embedding": True,
    "model.dropout": 0.2,
    "training.label_smoothing": 0.1,
    "training.batch_size": 128,
    "training.batch_unit": "sentences",
    "training.gradient_accumulation": 1,
    "training.loss_normalization": "token",
    "training.max_epochs": 14,
    "training.max_updates": None,
    "training.validate_every": 500,
    "training.patience": 5,
    "training.early_stopping_metric": "loss",
    "training.clip_norm": 1.0,
    "training.optimizer.kind": "adam",
    "training.optimizer.learning_rate": 0.001,
    "training.optimizer.betas": [0.9, 0.999],
    "training.optimizer.weight_decay": 0.0,
    "training.optimizer.warmup_updates": 0,
    "training.optimizer.schedule": "plateau",
    "training.optimizer.decay_factor": 0.5,
    "training.optimizer.decay_patience": 1,
    "decoding.beam": 5,
    "decoding.length_penalty": "power",
    "decoding.length_normalization": 1.0,
    "evaluation.length_buckets": [10, 20, 30, 40, 50, 60],
    "evaluation.confidence": 0.95,
    "evaluation.bootstrap": 1_000,
}
"""What docs/study.md fixed before the first training, most of it by being the default."""
SCALED_UP = {
    "corpus.train_pairs": 500_000,
    "tokenization.vocabulary_size": 16_000,
    "model.embedding_dim": 512,
    "model.encoder.hidden_size": 512,
    "model.attention.size": 512,
    "model.decoder.hidden_size": 1_024,
    "training.max_epochs": 20,
    "training.validate_every": 1_000,
}


@pytest.mark.parametrize("scale", ["cpu", "gpu"])
@pytest.mark.parametrize("limit", [30, 50])
@pytest.mark.parametrize(("system", "kind"), [("attention", "additive"), ("no-attention", "fixed")])
def test_the_study_is_trained_by_the_settings_fixed_in_advance(scale, limit, system, kind):
    given = ["experiment=figure2", f"scale={scale}", f"system={system}-{limit}"]
    config = flatten(to_json(compose_config("train", given)))
    fixed = STUDY | (SCALED_UP if scale == "gpu" else {})
    fixed |= {"corpus.train_max_words": limit, "model.attention.kind": kind}
    assert {key: config[key] for key in fixed} == fixed
