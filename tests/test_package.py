"""What ``import seq2seq`` gives, and what it costs."""

import subprocess
import sys


def test_the_import_is_cheap():
    code = "import sys, seq2seq; print({'torch', 'hydra', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
