"""The exercises: their checks accept the answers, and refuse blanks and likely mistakes."""

import math
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "exercises"


def load(name):
    return SimpleNamespace(**runpy.run_path(str(FOLDER / name)))


CHECKS = [check for name, check in vars(load("test_blanks.py")).items() if name[:5] == "test_"]
ANSWERS = load("answers.py")


def outcome(check, work):
    """The first error of a check over all its cases; None if it accepts the work."""
    marks = [mark for mark in getattr(check, "pytestmark", []) if mark.name == "parametrize"]
    names, cases = marks[0].args if marks else (None, [None])
    for case in cases:
        try:
            check(work, **({names: case} if marks else {}))
        except (AssertionError, NotImplementedError, TypeError, pytest.fail.Exception) as error:
            return error
    return None


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_answers_are_accepted_and_blanks_are_not(check):
    assert outcome(check, ANSWERS) is None
    assert outcome(check, load("blanks.py")) is not None


def unmasked(scores, lengths):
    real = torch.arange(scores.shape[1]) < lengths[:, None]
    return scores.softmax(dim=1) * real  # no longer sums to 1


def early(order, state, word, attend, lstm):
    context = attend(state)
    return lstm(state, word, context if order == "bahdanau" else None), context


def last(forward, backward, lengths):
    return torch.cat([forward[:, -1], backward[:, 0]], dim=1)


def unclipped(hypothesis, reference):
    product = 1.0
    for n in range(1, 5):
        ours, theirs = (
            [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
            for words in (hypothesis, reference)
        )
        product *= sum(gram in theirs for gram in ours) / len(ours)
    return 100 * product**0.25 * math.exp(min(0, 1 - len(reference) / len(hypothesis)))


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("masked_softmax", unmasked),
        ("additive_scores", lambda q, h, W_a, U_a, v_a: (W_a @ q + h @ U_a.T) @ v_a),
        ("contexts", lambda scores, h: scores.softmax(dim=0) @ h),
        ("decoder_step", early),
        ("fixed_vector", last),
        ("bleu", unclipped),
    ],
)
def test_likely_mistakes_are_found(name, mistake):
    wrong = SimpleNamespace(**{**vars(ANSWERS), name: mistake})
    assert [outcome(check, wrong) is not None for check in CHECKS].count(True) == 1
