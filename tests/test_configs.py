"""Every config file composes."""

import dataclasses
import re

import pytest
from helpers.composing import compose_config, runs
from make_settings import settings_page

from seq2seq import config as schema
from seq2seq.composition import CONFIGS
from seq2seq.config.checks import groups

STUDY = CONFIGS.parent / "study"
EXPERIMENTS = {p.stem: p for at in (CONFIGS, STUDY) for p in (at / "experiment").glob("*.yaml")}
CHOICES = {
    f"{path.parent.name}={path.stem}"
    for path in CONFIGS.glob("*/*.yaml")
    if path.parent.name != "experiment"
}
CHOICES |= {f"corpus={kind}" for kind in schema.CORPORA}


@pytest.mark.parametrize("choice", sorted(CHOICES))
@pytest.mark.slow
def test_each_choice_of_each_group_composes(choice):
    group, _, name = choice.partition("=")
    if group == "decoding":
        compose_config("evaluate", ["checkpoint=x", choice])
        return
    config = compose_config("train", [choice])
    assert group not in ("corpus", "tokenization") or getattr(config, group).kind == name


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.slow
def test_each_experiment_composes_and_says_how_it_is_run(experiment):
    assert runs(f"experiment={experiment}")
    text = EXPERIMENTS[experiment].read_text()
    assert "python scripts/reproduce.py" in text
    assert f"experiment={experiment}" in text or experiment == "quickstart"


@pytest.mark.slow
def test_every_kind_of_attention_is_in_an_experiment():
    found = [runs(f"experiment={name}") for name in ("attention_kinds", "longer")]
    kinds = {system.model.attention.kind for systems in found for system in systems.values()}
    assert kinds == set(schema.ATTENTION_KINDS)


@pytest.mark.parametrize("experiment", ["quickstart", "multi30k"])
def test_the_arms_differ_in_the_attention_alone(experiment):
    with_attention, without = runs(f"experiment={experiment}").values()
    assert with_attention.model.attention.kind == "additive"
    model = dataclasses.replace(with_attention.model, attention=without.model.attention)
    assert without.model.attention.kind == "fixed"
    assert dataclasses.replace(with_attention, model=model, system=without.system) == without


def test_the_page_of_settings_has_them_all():
    settings = {*schema.setting_names(schema.ReproduceConfig)}
    settings -= {key.partition("=")[0] for key, _ in groups(schema.ReproduceConfig)}
    assert settings <= {*re.findall(r"^- `([\w.]+)`", settings_page(), re.MULTILINE)}
