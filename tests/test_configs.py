"""Every config file composes; the values of configs/ are the defaults of the dataclasses."""

import dataclasses
from functools import cache

import pytest
import yaml
from cli import CONFIGS, SCHEMAS, compose_config

from seq2seq import config as schema
from seq2seq.config.reference import settings_page

ROOT = CONFIGS.parent
GIVEN = {
    "translate": ["checkpoint=x"],
    "evaluate": ["checkpoint=x"],
    "compare": ["evaluations=[x,y]"],
}
EXPERIMENTS = sorted(path.stem for path in (CONFIGS / "experiment").glob("*.yaml"))
DATACLASSES = {
    "pipeline": schema.ExperimentConfig,
    **{name: SCHEMAS[name] for name in ("translate", "evaluate", "compare", "explain")},
    **{f"corpus/{kind}": corpus for kind, corpus in schema.CORPORA.items()},
    "tokenization/whitespace": schema.TokenizationConfig,
    "model/base": schema.ModelConfig,
    "training/base": schema.TrainingConfig,
    "decoding/beam5": schema.DecodingConfig,
    "evaluation/by_length": schema.EvaluationConfig,
}


@cache
def runs(*overrides: str) -> dict[str, schema.ExperimentConfig]:
    """The config of each system, by its name."""
    return {run.system: run for run in compose_config("reproduce", [*overrides])}


@pytest.mark.parametrize("script", SCHEMAS)
def test_each_script_has_its_config(script):
    assert (ROOT / "scripts" / f"{script}.py").exists()
    composed = compose_config(script, GIVEN.get(script, []))
    one = composed[0] if script == "reproduce" else composed
    assert isinstance(one, SCHEMAS[script])


@pytest.mark.parametrize("path", DATACLASSES)
def test_the_values_in_yaml_are_the_defaults_of_the_dataclass(path):
    written = yaml.safe_load((CONFIGS / f"{path}.yaml").read_text())
    for field in dataclasses.fields(DATACLASSES[path]):
        default = field.default_factory() if callable(field.default_factory) else field.default
        if default is not dataclasses.MISSING:
            plain = schema.to_json(default) if dataclasses.is_dataclass(default) else default
            assert written[field.name] == plain, field.name


@pytest.mark.parametrize(
    "choice",
    [
        f"{group.name}={path.stem}"
        for group in sorted(CONFIGS.iterdir())
        if group.is_dir() and group.name not in ("experiment", "hydra")
        for path in sorted(group.glob("*.yaml"))
    ],
)
def test_each_choice_of_each_group_composes(choice):
    size = ["tokenization.vocabulary_size=6000"] if choice == "tokenization=sentencepiece" else []
    config = compose_config("train", [choice, *size])
    group, _, name = choice.partition("=")
    if group in ("corpus", "tokenization"):
        assert getattr(config, group).kind == name


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_each_experiment_composes_and_says_how_it_is_run(experiment):
    composed = runs(f"experiment={experiment}")
    assert {run.name.partition("-")[0] for run in composed.values()} == {experiment}
    assert {run.system for run in composed.values()} == set(composed[next(iter(composed))].systems)
    text = (CONFIGS / "experiment" / f"{experiment}.yaml").read_text()
    assert "python scripts/reproduce.py" in text
    assert f"experiment={experiment}" in text or experiment == "quickstart"


@pytest.mark.parametrize("experiment", ["quickstart", "multi30k"])
def test_the_arms_differ_in_the_attention_alone(experiment):
    with_attention, without = runs(f"experiment={experiment}").values()
    assert with_attention.model.attention.kind == "additive"
    model = dataclasses.replace(with_attention.model, attention=without.model.attention)
    assert without.model.attention.kind == "fixed"
    assert dataclasses.replace(with_attention, model=model, system=without.system) == without


def test_the_page_of_settings_is_current():
    """Else: python -m seq2seq.config.reference."""
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == settings_page()


STUDY = """
corpus.train_pairs=120000
tokenization.kind=sentencepiece tokenization.vocabulary_size=8000 tokenization.joint=false
tokenization.max_pieces=250
model.embedding_dim=256 model.dropout=0.2 model.encoder.hidden_size=256
model.encoder.directions=both model.attention.size=256 model.decoder.hidden_size=512
model.decoder.order=bahdanau model.decoder.readout=linear model.decoder.tie_embedding=true
training.label_smoothing=0.1 training.batch_size=128 training.batch_unit=sentences
training.gradient_accumulation=1 training.loss_normalization=token training.max_epochs=14
training.max_updates=null training.validate_every=500 training.patience=5
training.early_stopping_metric=loss training.clip_norm=1.0
training.optimizer.kind=adam training.optimizer.learning_rate=0.001
training.optimizer.betas=[0.9,0.999] training.optimizer.weight_decay=0.0
training.optimizer.warmup_updates=0 training.optimizer.schedule=plateau
training.optimizer.decay_factor=0.5 training.optimizer.decay_patience=1
beams=[5] evaluation.length_buckets=[10,20,30,40,50,60] evaluation.confidence=0.95
evaluation.bootstrap=1000
"""
"""What docs/study.md fixed before the first training, most of it by being the default."""
SCALED_UP = """
corpus.train_pairs=500000 tokenization.vocabulary_size=16000 model.embedding_dim=512
model.encoder.hidden_size=512 model.attention.size=512 model.decoder.hidden_size=1024
training.max_epochs=20 training.validate_every=1000
"""


@pytest.mark.parametrize("scale", ["cpu", "gpu"])
def test_the_study_is_trained_by_the_settings_fixed_in_advance(scale):
    figure2 = ["experiment=figure2", f"scale={scale}", "seeds=[1]"]
    fixed = STUDY.split() + (SCALED_UP.split() if scale == "gpu" else [])
    composed = runs(*figure2)
    assert runs(*figure2, *fixed) == composed
    for system, run in composed.items():
        kind, _, limit = system.rpartition("-")
        assert run.corpus.train_max_words == int(limit)
        assert run.model.attention.kind == {"attention": "additive", "no-attention": "fixed"}[kind]
