"""Every shipped config composes, with every experiment, into valid dataclasses."""

from itertools import product
from pathlib import Path

import pytest
from launch import CONFIGS, SCHEMAS, compose_config
from overrides import SCALED

GIVEN = {
    "translate": ["checkpoint=x"],
    "evaluate": ["checkpoint=x"],
    "compare": ["evaluations=[x,y]"],
    "publish": ["comparisons=[x]"],
}
ROOTS = sorted(path.stem for path in CONFIGS.glob("*.yaml") if path.stem != "pipeline")
APART = {("bottleneck_width", "corpus")}
"""An experiment on the grammar alone: it sets how much of it is written."""
GROUPS = {
    folder.name: sorted(path.stem for path in folder.glob("*.yaml"))
    for folder in sorted(CONFIGS.iterdir())
    if folder.is_dir()
}


def test_each_script_has_its_config_and_the_other_way_round():
    scripts = {path.stem for path in (CONFIGS.parent / "scripts").glob("*.py")}
    scripts -= {"launch", "overrides"}  # what the scripts share
    assert set(ROOTS) == scripts == set(SCHEMAS)


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
        and not (group == "scale" and experiment not in SCALED)
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
