"""Who imports whom, and what lies in the package of pip."""

import ast
import graphlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from seq2seq.stages import STAGES

ROOT = Path(__file__).resolve().parent.parent
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "seq2seq").rglob("*.py")
}


def imports(path: Path) -> set[str]:
    """The modules of the package that a file imports, also inside of functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in FILES else node.module for name in names}
    return found & FILES.keys()


def folder(module: str) -> str:
    """The folder of the package that holds a module, or a module directly in it."""
    return module.partition(".")[2].partition(".")[0]


IMPORTS = {module: imports(path) for module, path in FILES.items()}


def test_folders_import_only_from_those_before_them_and_no_module_itself():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"have this order:\s(.*?)\.", page, re.DOTALL)
    order = re.findall(r"`(\w+)`", listed)
    assert {*order} == {path.parent.name for path in ROOT.glob("seq2seq/*/__init__.py")}
    for module, used in IMPORTS.items():
        if folder(module) in order:
            later = order[order.index(folder(module)) + 1 :]
            assert not {folder(name) for name in used} & {*later}, module
    graphlib.TopologicalSorter(IMPORTS).prepare()


def test_of_the_model_only_its_whole_knows_the_fast_folder():
    fast = {name for name in FILES if name.startswith("seq2seq.model.fast")}
    parts = {name for name in FILES if name.startswith("seq2seq.model")} - fast
    assert {name for name in parts if IMPORTS[name] & fast} == {"seq2seq.model.translation"}


@pytest.mark.slow
def test_the_wheel_holds_every_file_and_its_command_runs_each_script(tmp_path):
    source, target, work = (tmp_path / name for name in ("source", "target", "work"))
    for folder in ("seq2seq", "configs"):
        shutil.copytree(ROOT / folder, source / folder)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    work.mkdir()

    def python(folder: Path, code: str, *words: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONPATH": str(target)}
        command = [sys.executable, "-c", code, *words]
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)

    def seq2seq(*words: str) -> subprocess.CompletedProcess[str]:
        return python(work, "from seq2seq.command import main; main()", *words)

    python(source, "from setuptools import build_meta; build_meta.build_wheel('.')")
    zipfile.ZipFile(next(source.glob("*.whl"))).extractall(target)
    for folder, place in (("seq2seq", "."), ("configs", "configs")):
        for path in (ROOT / folder).rglob("*.*"):
            packed = target / "seq2seq" / place / path.relative_to(ROOT / folder)
            assert packed.exists() or path.suffix == ".pyc"
    overview = seq2seq("--help").stdout
    assert [script for script in STAGES if f"\n  {script} " not in overview] == []
    assert "\n  model=base | small\n" in seq2seq("train", "--help").stdout
    toy = ["corpus.train=30", "corpus.valid=5", "corpus.test_per_bucket=1", "corpus.max_words=10"]
    assert seq2seq("prepare", *toy).stdout.startswith("train: ")
    assert [path.name for path in work.iterdir()] == ["data"]
    refused = seq2seq("trian")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


def test_make_installs_what_its_targets_need():
    command = ["make", "-nB", "lint", "TORCH_INDEX=http://a/whl"]
    steps = subprocess.check_output(command, cwd=ROOT, text=True)
    torch, package = re.findall("pip install .*", steps)
    assert "--index-url http://a/whl torch ||" in torch
    assert "-e '.[dev]'" in package
