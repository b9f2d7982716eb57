"""Numbers as reports write them; rounding never makes a number mean something else."""

import math

from seq2seq.evaluation.significance import TIE, Interval

DAGGER = "†"
"""Marks a result of fewer than 100 sentences."""


def percent(share: float) -> str:
    """``95%``, ``99.9%``: all digits that there are."""
    return f"{100 * share:g}%"


def signed(value: float) -> str:
    """A difference in BLEU: ``+1.2``. One that is not 0, but would read so, has more digits."""
    if abs(value) < TIE:
        return "+0.0"
    return f"{value:+.1f}" if abs(value) >= 0.05 else f"{value:+.1g}"


def with_interval(found: Interval) -> str:
    """A difference in BLEU: ``+0.4 [-0.3, +1.2]``."""
    return f"{signed(found.value)} [{signed(found.low)}, {signed(found.high)}]"


def p_text(p: float, trials: int) -> str:
    """A p-value; with "at most", and rounded up, where no trial was as extreme: the least of all.

    Below 0.0005 three digits would read as 0.
    """
    if p >= 1.5 / (trials + 1):
        return f"{p:.3f}" if p >= 0.0005 else f"{p:.1g}"
    digits = 3 if p >= 0.0005 else -math.floor(math.log10(p))
    least = math.ceil(round(p * 10**digits, 6)) / 10**digits
    return f"≤ {least:.3f}" if p >= 0.0005 else f"≤ {least:.1g}"


def or_dash(value: float | None, digits: int) -> str:
    """So many digits after the point; a dash for None."""
    return "–" if value is None else f"{value:,.{digits}f}"
