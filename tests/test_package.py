"""What an import costs and shows, who imports whom, and what lies in the package of pip."""

import ast
import graphlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest

import seq2seq
from seq2seq.stages import STAGES

ROOT = Path(__file__).resolve().parent.parent


IMPORTS = """
import sys
def expect_none(*names):
    found = [name for name in sys.modules if name.startswith(names)]
    assert not found, found
import seq2seq
expect_none("torch", "hydra", "numpy")
import seq2seq.config
expect_none("torch", "numpy")
import seq2seq.data.encoding
expect_none("torch")
import seq2seq.training.trainer  # which imports the kind of corpus and the tracker when it runs
assert len([name for name in sys.modules if name.startswith("seq2seq.")]) < 57
kinds = [f"seq2seq.data.{kind}" for kind in seq2seq.config.CORPORA]
expect_none(*kinds, "seq2seq.report", "seq2seq.drawing", "matplotlib", "hydra", "tensorboard")
"""


def test_an_import_is_cheap():
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_names_of_the_package_are_its_interface():
    for name in dir(seq2seq):
        assert getattr(seq2seq, name).__doc__
    assert {"Translator", "Hypothesis", "DecodingConfig", "UserError"} < set(dir(seq2seq))


def test_folders_import_only_from_those_before_them():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"have this order:\s(.*?)\.", page, re.DOTALL)
    order = re.findall(r"`(\w+)`", listed)
    package = ROOT / "seq2seq"
    assert set(order) == {path.parent.name for path in package.glob("*/__init__.py")}
    for place, folder in enumerate(order):
        for path in (package / folder).rglob("*.py"):
            used = re.findall(r"^\s*(?:from|import) seq2seq\.(\w+)", path.read_text(), re.MULTILINE)
            assert not set(used) & set(order[place + 1 :]), path


def test_no_test_imports_a_test():
    """What two of them need is in helpers/."""
    for path in (ROOT / "tests").rglob("*.py"):
        imported = re.search(r"^\s*(from|import) test_", path.read_text(), re.MULTILINE)
        assert not imported, path


@cache
def imports(path: Path) -> set[str]:
    """The modules of the package that a file imports, also inside of functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("seq2seq"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in MODULES else node.module for name in names}
    return found


MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "seq2seq").rglob("*.py")
}


def test_no_module_imports_itself_on_any_way():
    graphlib.TopologicalSorter({name: imports(MODULES[name]) for name in MODULES}).prepare()


def test_of_the_model_only_its_whole_knows_the_fast_folder():
    fast = {name for name in MODULES if name.startswith("seq2seq.model.fast")}
    parts = {name for name in MODULES if name.startswith("seq2seq.model")} - fast
    assert {name for name in parts if imports(MODULES[name]) & fast} == {
        "seq2seq.model.translation"
    }


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with the unpacked wheel, which was built outside of the repository."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for folder in ("seq2seq", "configs"):
        shutil.copytree(ROOT / folder, source / folder)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    code = "from setuptools import build_meta; build_meta.build_wheel('.')"
    subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, check=True)
    zipfile.ZipFile(next(source.glob("*.whl"))).extractall(target)
    return target


def test_the_wheel_holds_every_file(installed):
    for folder, place in (("seq2seq", "."), ("configs", "configs")):
        for path in (ROOT / folder).rglob("*.*"):
            packed = installed / "seq2seq" / place / path.relative_to(ROOT / folder)
            assert packed.exists() or path.suffix == ".pyc"


@pytest.mark.slow
def test_the_installed_command_runs_each_script(installed, tmp_path):
    def seq2seq(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from seq2seq.command import main; main()", *arguments]
        env = {**os.environ, "PYTHONPATH": str(installed)}
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    overview = seq2seq("--help").stdout
    for script in STAGES:
        assert f"\n  {script} " in overview
    assert "\n  model=base | small\n" in seq2seq("train", "--help").stdout
    toy = ["corpus.train=30", "corpus.valid=5", "corpus.test_per_bucket=1", "corpus.max_words=10"]
    assert seq2seq("prepare", *toy).stdout.startswith("train: ")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    refused = seq2seq("trian")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


def test_make_installs_what_its_targets_need():
    command = ["make", "-nB", "lint", "TORCH_INDEX=http://a/whl"]
    steps = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    torch, package = re.findall("pip install .*", steps)
    assert "--index-url http://a/whl torch ||" in torch
    assert "-e '.[dev]'" in package
