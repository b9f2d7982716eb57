"""The text of every walk-through, read back."""

import re

import numpy as np
import pytest

from seq2seq.config import EXAMPLES
from seq2seq.explain.explain import walk_through
from seq2seq.explain.printing import step_text, walkthrough_text
from seq2seq.explain.walkthrough import Labels, Step, numbered


def read(text: str) -> dict[str, tuple[str, list[list[float]], list[str]]]:
    """Name -> meaning, numbers and labels of rows, from nothing but the text."""
    found = {}
    for part in text.split("\n\n"):
        head, *lines = part.split("\n")
        if match := re.fullmatch(r"\d+\. (.+?) \((\d+) x (\d+)\): (.+)", head):
            height, width = int(match[2]), int(match[3])
            numbers, labels = [[] for _ in range(height)], [""] * height
            for start in range(0, len(lines), height + 1):
                columns, *rows = lines[start : start + height + 1]
                count = 1 if width == 1 else len(columns.split())
                for place, row in enumerate(rows):
                    texts = row.split()
                    numbers[place] += map(float, texts[-count:])
                    labels[place] = " ".join(texts[:-count])
            found[match[1]] = match[4], numbers, labels
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_array_is_printed_with_its_name_labels_and_numbers(name):
    walkthrough = walk_through(name)
    found = read(walkthrough_text(walkthrough))
    assert list(found) == [step.name for step in walkthrough.steps]
    for step in walkthrough.steps:
        meaning, numbers, labels = found[step.name]
        assert meaning == step.meaning
        assert labels == list(step.labels.rows)
        half_a_digit = 0.5001 * 10.0**-step.decimals
        np.testing.assert_allclose(numbers, step.values, rtol=0, atol=half_a_digit)


def test_known_numbers_stand_in_the_text():
    text = walkthrough_text(walk_through("additive"))
    assert text.startswith("additive: Additive alignment\n============================\nBahdanau")
    assert "\n8. scores (5 x 1): e_j = hidden layer_2\n               e\n  h1  4.35790943\n" in text
    assert "1.32985756" in text
    softmaxes = walkthrough_text(walk_through("softmax_axis"))
    assert "\n  w1  0.99290188  1.62883281  0.63593093\n" in softmaxes
    assert "\n  w1  0.99996933  1.64042681  0.64045748\n" in softmaxes


@pytest.mark.parametrize("name", EXAMPLES)
def test_lines_fit_a_terminal_and_are_plain(name):
    walkthrough = walk_through(name)
    text = walkthrough_text(walkthrough)
    assert text.isascii()
    assert max(map(len, text.split("\n"))) <= 100
    assert text.endswith(walkthrough.lesson.split()[-1])


def test_a_wide_array_goes_on_below():
    values = np.arange(24.0).reshape(2, 12) * 1000
    step = Step("e", "scores", values, Labels(["h1", "h2"], numbered("", 12)))
    lines = step_text(step).split("\n")
    assert lines[0] == "e (2 x 12): scores"
    assert [line.split()[0] for line in lines[1:]] == ["1", "h1", "h2", "7", "h1", "h2"]
    assert lines[5].split() == ["h1", *(f"{1000 * n}.00000000" for n in range(6, 12))]
