"""The kind of attention of CONTRIBUTING.md passes the tests that the page names."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap

import pytest
from helpers.commands import ROOT


@pytest.mark.slow
def test_the_page_followed_step_by_step_ends_in_tests_that_pass(tmp_path):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, _, page = text.partition("A kind of attention")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    made, line, loop = map(textwrap.dedent, blocks[:3])
    for name in ("seq2seq", "tests", "configs", "scripts"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    score, loops = "seq2seq/model/attention/dot_product.py", "tests/helpers/attention_loops.py"
    for name, added in {score: made, loops: loop}.items():
        with (tmp_path / name).open("a", encoding="utf-8") as file:
            file.write(added)
    registry = tmp_path / "seq2seq" / "config" / "settings.py"
    kinds = registry.read_text(encoding="utf-8")
    begin = "ATTENTION_KINDS = {\n"
    registry.write_text(kinds.replace(begin, begin + line), encoding="utf-8")
    (command,) = re.findall(r"Run `\S+/python (-m pytest [^`]+)`", page)
    done = subprocess.run(
        [sys.executable, *shlex.split(command), "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
