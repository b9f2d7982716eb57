"""What an import costs, and what it shows."""

import importlib.metadata
import subprocess
import sys

import pytest

import seq2seq


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
