"""Each room of the house stays within its budget; who adds to one takes as much out of it."""

import ast
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
from helpers.pages import ROOT, WRITTEN

TOOL = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
TABLE, SHELVES = TOOL["budget"], TOOL["shelves"]


def size(*patterns: str) -> tuple[int, int]:
    """Lines and statements (docstrings are none) of the Python files that the patterns name."""
    texts = [path.read_text(encoding="utf-8") for one in patterns for path in ROOT.glob(one)]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    words = [n for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    statements = sum(isinstance(node, ast.stmt) for node in nodes) - len(words)
    return sum(len(text.splitlines()) for text in texts), statements


@pytest.mark.parametrize("room", TABLE)
def test_a_room_is_no_larger_than_its_budget(room):
    budget = TABLE[room]
    found = size(*budget["files"])
    assert found[0] <= budget["lines"]
    assert found[1] <= budget["statements"]


def test_every_file_is_in_a_room():
    files = {
        path
        for one in ("seq2seq", "scripts", "tests", "study", "benchmarks")
        for path in (ROOT / one).rglob("*.py")
    }
    counted = {path for room in TABLE.values() for one in room["files"] for path in ROOT.glob(one)}
    assert files <= counted


def words(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").split()) for path in paths)


def test_pages_and_tracked_files_are_few_and_short():
    pages = {*(ROOT / "docs").glob("*.md")} - {WRITTEN}
    assert len(pages) <= SHELVES["pages"]
    assert words(pages) <= SHELVES["words"]
    assert words([ROOT / "README.md"]) <= SHELVES["readme"]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    tracked = [path for path in map(ROOT.joinpath, listed.stdout.split("\0")) if path.is_file()]
    assert sum(path.stat().st_size for path in tracked) <= SHELVES["bytes"]
