"""Wrong edits of the program that the tests have to notice; those that they miss are printed.

python tests/mutations.py [FILE...]: of ``mutations.yaml``, all files or some, such as files.py.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from omegaconf import OmegaConf

ROOT = Path(__file__).resolve().parent.parent
PYTEST = [sys.executable, "-m", "pytest", "-qx", "-m", "not gpu and not edition"]


def passes(copy: Path, tests: list[str]) -> bool:
    """Whether tests of the copy pass; if there are none, an error."""
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run([*PYTEST, *tests], cwd=copy, env=environment, capture_output=True)
    assert done.returncode in (0, 1, 2), done.stdout.decode() + done.stderr.decode()
    return done.returncode == 0


def survives(copy: Path, path: Path, old: str, new: str, tests: list[str]) -> bool:
    """Whether the tests pass although ``new`` stands in place of ``old``."""
    right = path.read_text(encoding="utf-8")
    assert right.count(old) == 1, f"{path.name} has {old!r} {right.count(old)} times"
    path.write_text(right.replace(old, new), encoding="utf-8")
    try:
        return passes(copy, tests)
    finally:
        path.write_text(right, encoding="utf-8")


def main(names: list[str]) -> None:
    rooms = OmegaConf.to_container(OmegaConf.load(ROOT / "tests" / "mutations.yaml"))
    with tempfile.TemporaryDirectory() as folder:
        copy, left = Path(folder, "copy"), shutil.ignore_patterns(".*", "outputs")
        shutil.copytree(ROOT, copy, ignore=left)
        for name in names or rooms:
            tests = rooms[name]["tests"].split()
            assert passes(copy, tests), f"{tests} fail without an edit"
            for old, new in rooms[name]["edits"].items():
                missed = survives(copy, copy / "seq2seq" / name, old, new, tests)
                print(
                    f"{'SURVIVES' if missed else 'noticed'}: {name}: {old!r} -> {new!r}", flush=True
                )


if __name__ == "__main__":
    main(sys.argv[1:])
