"""What the README says of results is what the published tables say."""

import re

import pytest
from helpers.pages import PAGES, ROOT

RESULTS = PAGES[ROOT / "README.md"].partition("## Results")[2].partition("##")[0]
ROWS = [line for line in RESULTS.split("\n") if line.startswith("|") and "](" in line]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:30].strip())
def test_a_row_of_results_is_in_its_table(row):
    (link,) = re.findall(r"\]\(([^)]+)\)", row)
    published = (ROOT / link).read_text(encoding="utf-8")
    scores = re.findall(r"\| ([0-9.]+) (?=\|)", row)
    assert scores
    for score in scores:
        assert re.search(rf"(?<![0-9.]){re.escape(score)}(?![0-9.]*[0-9])", published), score
