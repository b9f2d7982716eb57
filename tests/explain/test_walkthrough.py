import numpy as np
import pytest

from seq2seq.explain.decoder_attention import dot
from seq2seq.explain.walkthrough import Labels, Step, Walkthrough, numbered


def step(name="e", shape=(2, 3)) -> Step:
    return Step(name, "scores", np.zeros(shape), Labels(["h1", "h2"], numbered("", 3)))


def walkthrough(*steps: Step) -> Walkthrough:
    text = dict.fromkeys(("name", "heading", "source", "story", "lesson", "caption"), "some text")
    return Walkthrough(**text, steps=steps, picture=())


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"e has shape \(3, 2\), its labels \(2, 3\)"):
        step(shape=(3, 2))


def test_two_steps_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two steps of some text have one name"):
        walkthrough(step(), step())


def test_a_step_is_found_by_its_name():
    first, second = step("e"), step("alpha")
    found = walkthrough(first, second)
    assert found.step("alpha") is second
    assert found["e"] is first.values
    with pytest.raises(KeyError, match="some text has no step 'beta'"):
        _ = found["beta"]


def test_numbers_are_written_with_their_decimals_and_zero_has_no_sign():
    values = np.array([[-0.0004, 1.23456789, -2.0], [np.inf, np.nan, 0.00049]])
    labels = Labels(["h1", "h2"], numbered("", 3))
    written = Step("e", "scores", values, labels, decimals=3).written(8)
    assert written == [["0.000", "1.235", "-2.000"], ["inf", "nan", "0.000"]]
    assert Step("e", "scores", values, labels).written(2)[0] == ["0.00", "1.23", "-2.00"]


def test_arrays_are_float64_but_for_the_naive_ones():
    narrow = {step.name for step in dot().steps if step.values.dtype != np.float64}
    assert narrow == {"naive exponentials", "naive weights"}
