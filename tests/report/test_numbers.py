"""No rounding says what the number does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.report.tables import p_text, percent, signed


@pytest.mark.parametrize(
    ("share", "text"), [(0.95, "95%"), (0.999, "99.9%"), (0.975, "97.5%"), (0.29, "29%")]
)
def test_a_share_has_all_its_digits(share, text):
    assert percent(share) == text


@given(st.floats(-100, 100))
def test_what_is_not_zero_does_not_read_as_zero(value):
    equal = abs(value) < 1e-9  # but for rounding
    assert (float(signed(value)) == 0) == equal
    assert float(signed(value)) == pytest.approx(value, abs=0.0501)
    assert signed(value)[0] == ("-" if value < 0 and not equal else "+")


@pytest.mark.parametrize(
    ("p", "trials", "text"),
    [
        (1 / 1001, 1000, "≤ 0.001"),
        (1.0, 1000, "1.000"),
        (1 / 100_001, 100_000, "≤ 1e-05"),
        (3 / 100_001, 100_000, "3e-05"),
    ],
)
def test_the_least_p_that_trials_can_show_is_said_to_be_one(p, trials, text):
    assert p_text(p, trials) == text


@given(st.integers(1, 200_000))
def test_at_most_is_never_said_of_less(trials):
    least = 1 / (trials + 1)
    assert float(p_text(least, trials).removeprefix("≤ ")) >= least * (1 - 1e-6)
