"""docs/worked-examples.md is current, and its own lines of code give its own numbers."""

import html
import re

import numpy as np
import pytest
from make_worked_examples import DOCS, FIGURES, PAGE, worked_examples_page

from seq2seq.config import EXAMPLES
from seq2seq.explain.explain import COMPUTE

CELLS = re.compile(
    r"<tr><td>\d+\. <b>.*?</b>.*?<br>\n((?:<code>.*?</code>(?:<br>\n)?)+)</td>\n"
    r"<td><pre>(.*?)</pre></td></tr>",
    re.DOTALL,
)


def test_the_page_is_current_and_its_pictures_are_there():
    """Else: python docs/make_worked_examples.py."""
    assert PAGE.read_text(encoding="utf-8") == worked_examples_page()
    assert {path.stem for path in (DOCS / FIGURES).iterdir()} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_the_lines_of_the_page_give_the_numbers_of_the_page(name):
    text = PAGE.read_text(encoding="utf-8")
    (section,) = (part for part in text.split("\n## ") if f"\n*{name}* after" in part)
    cells, variables = CELLS.findall(section), {"np": np}
    assert len(cells) == len(COMPUTE[name][0]().steps)
    for code, table in cells:
        lines = [html.unescape(line) for line in re.findall(r"<code>(.*?)</code>", code)]
        exec("\n".join(lines), variables)
        values = variables[lines[-1].split(" = ")[0]]
        rows = [row.split()[-values.shape[1] :] for row in html.unescape(table).split("\n")[1:]]
        decimals = len(rows[0][0].partition(".")[2])
        half_a_digit = 0.5001 * 10.0**-decimals
        np.testing.assert_allclose(np.array(rows, float), values, rtol=0, atol=half_a_digit)
