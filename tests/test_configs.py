"""Every config file composes; the values of configs/ are the defaults of the dataclasses."""

import dataclasses

import pytest
import yaml
from cli import CONFIGS, SCHEMAS
from helpers.composing import compose_config, runs
from make_settings import settings_page

from seq2seq import config as schema

ROOT = CONFIGS.parent
GIVEN = {
    "translate": ["checkpoint=x"],
    "evaluate": ["checkpoint=x"],
    "compare": ["evaluations=[x,y]"],
    "explain": ["checkpoint=x", "text=y"],
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
            is_group = dataclasses.is_dataclass(default)
            plain = dataclasses.asdict(default) if is_group else default
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
    same_text = {"opponent": "figure2", "width": "slots"}
    folder = same_text.get(experiment, experiment)
    assert {run.name.partition("-")[0] for run in composed.values()} == {folder}
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
    """Else: python docs/make_settings.py."""
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == settings_page()
