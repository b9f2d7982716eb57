"""The text of every example, read back."""

import re

import numpy as np
import pytest

from seq2seq.explain.example import Step
from seq2seq.explain.explain import COMPUTE

EVERY = [compute for both in COMPUTE.values() for compute in both]
COLUMNS = [str(number) for number in range(1, 13)]


def read(text):
    """Name -> remark, code, numbers and labels of rows, from nothing but the text."""
    found = {}
    for part in text.split("\n\n"):
        head, *lines = part.split("\n")
        if match := re.fullmatch(r"\d+\. (.+?) \((\d+) x (\d+)\)(?:: (.+))?", head):
            code = [line[3:] for line in lines if re.match(r" {3}\w+(, \w+)*( = \w+)* = ", line)]
            lines = lines[len(code) :]
            height, width = int(match[2]), int(match[3])
            numbers, labels = [[] for _ in range(height)], [""] * height
            for start in range(0, len(lines), height + 1):
                columns, *rows = lines[start : start + height + 1]
                count = 1 if width == 1 else len(columns.split())
                for place, row in enumerate(rows):
                    texts = row.split()
                    numbers[place] += map(float, texts[-count:])
                    labels[place] = " ".join(texts[:-count])
            found[match[1]] = match[4] or "", "\n".join(code), numbers, labels
    return found


@pytest.mark.parametrize("compute", EVERY)
def test_every_array_is_printed_with_its_name_labels_and_numbers(compute):
    example = compute()
    text = example.text()
    assert text.isascii()
    assert max(map(len, text.split("\n"))) <= 100
    assert text.startswith(f"{example.name}: {example.heading}\n=")
    assert text.endswith(example.lesson.split()[-1])
    found = read(text)
    assert list(found) == list(example.steps)
    for step in example.steps.values():
        remark, code, numbers, labels = found[step.name]
        assert (remark, code, labels) == (step.remark, step.code, step.rows)
        half_a_digit = 0.5001 * 10.0**-step.decimals
        np.testing.assert_allclose(numbers, step.values, rtol=0, atol=half_a_digit)


def test_numbers_have_their_decimals_and_zero_has_no_sign():
    values = np.array([[-0.0004, 1.23456789, -2.0], [np.inf, np.nan, 0.00049]])
    step = Step("e", "scores", "e = h @ s", values, ["h1", "h2"], COLUMNS[:3], 8, (0.0, 1.0))
    assert step.numbers(3) == [["0.000", "1.235", "-2.000"], ["inf", "nan", "0.000"]]
