"""What an import costs and shows, and what lies in the package that pip installs."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import seq2seq

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("module", "absent"),
    [("seq2seq", {"torch", "hydra", "numpy"}), ("seq2seq.explain.explain", {"torch"})],
)
def test_the_import_is_cheap(module, absent):
    code = f"import sys, {module}; print({absent} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_names_of_the_package_are_its_interface(monkeypatch):
    for name in dir(seq2seq):
        assert getattr(seq2seq, name).__doc__
    assert {"Translator", "Hypothesis", "DecodingConfig", "UserError"} < set(dir(seq2seq))

    def absent(name):
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"1.2 of {name}")
    assert seq2seq.__version__ == "1.2 of seq2seq"
    monkeypatch.setattr(importlib.metadata, "version", absent)
    assert "unknown" in seq2seq.__version__


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with the unpacked wheel, which was built outside of the repository."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for folder in ("seq2seq", "configs", "scripts"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, source / folder, ignore=ignored)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    code = "from setuptools import build_meta; build_meta.build_wheel('.')"
    subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, check=True)
    (wheel,) = source.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(target)
    return target


def test_the_wheel_holds_every_file(installed):
    places = {"seq2seq": ".", "scripts": "commands", "configs": "configs"}
    expected = {
        str(Path(place, path.relative_to(ROOT / folder)))
        for folder, place in places.items()
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix != ".pyc"
    }
    package = installed / "seq2seq"
    found = {str(path.relative_to(package)) for path in package.rglob("*.*")}
    assert found == expected


def test_the_installed_command_runs_each_script(installed, tmp_path):
    def seq2seq(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from seq2seq.command import main; main()", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(installed)},
            capture_output=True,
            encoding="utf-8",
        )

    overview = seq2seq("--help").stdout
    for script in {path.stem for path in (ROOT / "scripts").glob("*.py")} - {"cli"}:
        assert f"\n  {script} " in overview
    assert "\nmodel: base, small\n" in seq2seq("train", "--help").stdout
    shown = seq2seq("explain", "examples=[dot]", "output=pictures")
    assert shown.returncode == 0, shown.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["pictures"]
    refused = seq2seq("trian")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "train" in refused.stderr


def test_make_installs_what_its_target_needs():
    def steps(target: str, *variables: str) -> str:
        command = ["make", "-nB", target, *variables]
        return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8").stdout

    for target, extra in {"test": "dev", "lint": "dev", "docs": "docs"}.items():
        assert f".[{extra}]" in steps(target)
    assert ".[" not in steps("install")
    first, second = re.findall("pip install .*", steps("install", "TORCH_INDEX=http://a/whl"))
    assert "--index-url http://a/whl torch ||" in first
    assert "-e ." in second
    assert "--index-url" not in second + steps("install", "TORCH_INDEX=")
