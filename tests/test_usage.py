"""What ``--help`` says, by a reader of its lines against the folders of configs."""

import re
from pathlib import Path

import pytest
from test_scripts import ROOT, run

OWN = {
    "train": "corpus decoding evaluation experiment model scale tokenization training",
    "compare": "evaluation",
    "explain": "",
}


def choices(shown: str) -> dict[str, tuple[str, list[str]]]:
    """Group -> what is chosen now, and what there is."""
    found = re.findall(r"^  (\w+)=(\w*) +of (.*)$", shown, re.MULTILINE)
    return {group: (now, of.split(", ")) for group, now, of in found}


def files(group: str) -> list[str]:
    return sorted(file.stem for file in (ROOT / "configs" / group).iterdir())


@pytest.mark.parametrize("script", OWN)
def test_help_names_the_groups_of_this_script_and_every_choice(tmp_path, script):
    shown = run(tmp_path, script, "--help").stdout
    groups = OWN[script].split()
    assert {group: of for group, (_, of) in choices(shown).items()} == {
        group: files(group) for group in groups
    }
    purpose = (ROOT / "scripts" / f"{script}.py").read_text().split('"""')[1]
    assert shown.startswith(purpose.replace("``", "`"))


def test_help_tells_what_is_chosen_and_knows_a_folder_of_ones_own(tmp_path: Path):
    folder = tmp_path / "of mine" / "experiment"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(
        "# @package _global_\nname: mine\nsystems: {a: [model.attention.size=7], b: []}\n"
        "system: a\nbaseline: b\n"
    )
    arguments = ["--config-dir=of mine", "experiment=mine", "corpus=multi30k", "--help"]
    shown = run(tmp_path, "train", *arguments).stdout
    found = choices(shown)
    assert found["experiment"] == ("mine", sorted([*files("experiment"), "mine"]))
    assert found["corpus"][0] == "multi30k"
    assert found["scale"][0] == ""
    assert "\n    size: 7\n" in shown
