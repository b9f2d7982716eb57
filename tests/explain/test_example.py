"""The text of every example, read back."""

import re

import numpy as np
import pytest

from seq2seq.explain.example import Step
from seq2seq.explain.explain import COMPUTE

EVERY = [compute for both in COMPUTE.values() for compute in both]


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
    step = Step("e", "scores", "e = h @ s", values, ["h1", "h2"], ["1", "2", "3"], 8, (0.0, 1.0))
    assert step.numbers(3) == [["0.000", "1.235", "-2.000"], ["inf", "nan", "0.000"]]


@pytest.mark.parametrize(
    ("name", "step", "row", "column", "said"),
    [
        ("additive", "weights", 1, 0, "0.328"),
        ("additive", "weights", 2, 0, "0.545"),
        ("additive-large", "weights", 1, 0, "0.71"),
        ("dot-large", "weights", 0, 1, "8e-232"),
        ("local", "predicted position", 0, 0, "1.91"),
        ("local", "distance", 2, 0, "1.09"),
        ("local", "sum of local weights", 0, 0, "0.76"),
        ("local-large", "distance", 0, 0, "2.17"),
        ("local-large", "sum of local weights", 0, 0, "0.58"),
        ("softmax_axis", "wrong sums", 2, 0, "0.93"),
        ("softmax_axis-large", "wrong sums", 0, 0, "0.993"),
        ("multi_head", "head 1 weights", 2, 1, "0.44"),
        ("multi_head", "head 2 weights", 2, 2, "0.50"),
        ("multi_head-large", "head 1 weights", 2, 0, "0.338"),
        ("multi_head-large", "head 2 weights", 2, 2, "0.403"),
        ("output_word", "probabilities", 0, 2, "0.71"),
    ],
)
def test_a_number_in_the_words_of_an_example_is_in_its_array(name, step, row, column, said):
    (example,) = (made for made in (compute() for compute in EVERY) if made.name == name)
    form = ".0e" if "e" in said else f".{len(said.partition('.')[2])}f"
    assert f"{abs(example[step][row, column]):{form}}" == said
    assert said in example.lesson
