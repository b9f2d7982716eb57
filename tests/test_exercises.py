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


def accepts(check, work):
    """Whether a check passes in all its cases."""
    marks = [mark for mark in getattr(check, "pytestmark", []) if mark.name == "parametrize"]
    name, cases = marks[0].args if marks else ("", [None])
    try:
        for case in cases:
            check(work, **({name: case} if name else {}))
    except (AssertionError, NotImplementedError, TypeError, pytest.fail.Exception):
        return False
    return True


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_answers_are_accepted_and_blanks_are_not(check):
    assert accepts(check, ANSWERS)
    assert not accepts(check, load("blanks.py"))


def early(order, state, word, attend, lstm):
    context = attend(state)
    return lstm(state, word, context if order == "bahdanau" else None), context


def without_penalty(hypothesis, reference):
    penalty = math.exp(min(0, 1 - len(reference) / len(hypothesis)))
    return ANSWERS.bleu(hypothesis, reference) / penalty


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("masked_softmax", lambda scores, lengths: scores.softmax(dim=1)),
        ("additive_scores", lambda q, h, W_a, U_a, v_a: (W_a @ q + h @ U_a.T) @ v_a),
        ("contexts", lambda scores, h: scores.softmax(dim=0) @ h),
        ("decoder_step", early),
        ("fixed_vector", lambda ahead, back, _: torch.cat([ahead[:, -1], back[:, 0]], dim=1)),
        ("bleu", without_penalty),
    ],
)
def test_likely_mistakes_are_found(name, mistake):
    wrong = SimpleNamespace(**{**vars(ANSWERS), name: mistake})
    assert [accepts(check, wrong) for check in CHECKS].count(False) == 1
