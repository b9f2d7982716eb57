"""What an import costs."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "absent"),
    [("seq2seq", {"torch", "hydra", "numpy"}), ("seq2seq.explain.explain", {"torch"})],
)
def test_the_import_is_cheap(module, absent):
    code = f"import sys, {module}; print({absent} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
