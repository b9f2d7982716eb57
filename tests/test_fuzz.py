"""Malformed input of every kind: it is read, or refused in one sentence; nothing else is raised.

``docs/reliability.md`` tells what was tried, in rows that these tests write: run them with
``WRITE_DOCS=1`` and one process after a change. Without it they check that the rows are of the same
examples. How many of these were refused is that run's: paths and times are a part of some files.
"""

import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

import hypothesis
import pytest
from fuzz_kinds import KINDS, Kind
from hypothesis import HealthCheck, given

from seq2seq.errors import UserError

DOCUMENT = Path(__file__).parents[1] / "docs" / "reliability.md"
START, END = "<!-- tried -->", "<!-- /tried -->"
HEAD = "| What was malformed | Tried | Refused | Read |\n|---|---:|---:|---:|\n"
TOGETHER = "**together**"
PYTHON = ".".join(map(str, sys.version_info[:2]))
VERSIONS = f"Python {PYTHON} and hypothesis {hypothesis.__version__}"


def read_rows() -> dict[str, list[int]]:
    """The table of the document: tried, refused and read of each kind."""
    part = DOCUMENT.read_text(encoding="utf-8").split(START)[1].split(END)[0]
    rows = re.findall(r"^\| (.+?) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", part, re.MULTILINE)
    return {name: [int(n.replace(",", "")) for n in numbers] for name, *numbers in rows}


def write_row(name: str, counts: list[int]) -> None:
    rows = read_rows()
    rows[name] = counts
    ordered = {kind.name: rows.get(kind.name, [0, 0, 0]) for kind in KINDS}
    ordered[TOGETHER] = [sum(column) for column in zip(*ordered.values(), strict=True)]
    table = "".join(
        f"| {row} | {tried:,} | {refused:,} | {read:,} |\n"
        for row, (tried, refused, read) in ordered.items()
    )
    before, rest = DOCUMENT.read_text(encoding="utf-8").split(START)
    after = rest.split(END)[1]
    part = f"{START}\n{HEAD}{table}\nWritten with {VERSIONS}.\n{END}"
    DOCUMENT.write_text(f"{before}{part}{after}", encoding="utf-8")


def try_all(kind: Kind, folder: Path) -> list[int]:
    """Examples tried, refused and read."""
    outcomes: Counter[str] = Counter()

    @hypothesis.settings(
        max_examples=kind.examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(kind.broken)
    def attempt(broken):
        here = folder / str(outcomes.total())
        here.mkdir()
        try:
            kind.read(here, broken)
            outcomes["read"] += 1
        except UserError as error:
            sentence = str(error)
            assert "\n" not in sentence
            assert sentence.endswith((".", "?"))
            outcomes["refused"] += 1
        finally:
            shutil.rmtree(here)

    attempt()
    return [outcomes.total(), outcomes["refused"], outcomes["read"]]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.replace(" ", "-"))
def test_every_failure_is_one_sentence(kind, tmp_path, caplog):
    counts = try_all(kind, tmp_path)
    if os.environ.get("WRITE_DOCS"):
        write_row(kind.name, counts)
    rows = read_rows()
    assert counts[0] == rows[kind.name][0], "run: WRITE_DOCS=1 python -m pytest tests/test_fuzz.py"
    assert sum(counts[1:]) == counts[0]


def test_the_document_tells_of_every_kind_and_of_enough_examples():
    rows = read_rows()
    assert list(rows) == [*(kind.name for kind in KINDS), TOGETHER]
    columns = zip(*(rows[kind.name] for kind in KINDS), strict=True)
    assert rows[TOGETHER] == [sum(column) for column in columns]
    assert rows[TOGETHER][0] >= 2_000
