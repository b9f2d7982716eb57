"""Turns are taken in order, warm-up is not timed, and ratios are ratios."""

import pytest
import torch

from seq2seq.benchmark import measure
from seq2seq.benchmark.measure import median_of_all, speedup_by_round, time_in_turns

CPU = torch.device("cpu")


def test_paths_take_turns_after_a_warm_up(monkeypatch):
    diary, clock = [], [0.0]

    def taking(name: str, seconds: float):
        def update() -> None:
            diary.append(name)
            clock[0] += seconds

        return update

    monkeypatch.setattr(measure.time, "perf_counter", lambda: clock[0])
    paths = {"a": taking("a", 4.0), "b": taking("b", 1.0)}
    seconds = time_in_turns(paths, updates=3, alternations=2, device=CPU)
    assert seconds == {"a": [[4.0] * 3] * 2, "b": [[1.0] * 3] * 2}
    warm_up = ["a"] * measure.WARM_UP + ["b"] * measure.WARM_UP
    assert diary == warm_up + 2 * (["a"] * 3 + ["b"] * 3)


def test_one_slow_update_does_not_move_the_median():
    assert median_of_all([[1.0, 1.0, 90.0], [1.0, 2.0, 2.0]]) == 1.5


def test_ratios_by_round_are_not_moved_by_a_machine_that_slows_down():
    steady = [[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]
    slowing = [[6.0, 6.0], [12.0, 12.0], [60.0, 60.0]]
    assert speedup_by_round(slowing, [[s / 3 for s in turn] for turn in slowing]) == (3, 3, 3)
    assert speedup_by_round(slowing, steady) == pytest.approx((6, 3, 30))


def test_the_rate_of_products_is_that_of_the_fastest_try(monkeypatch):
    ticks = iter(float(t) for pair in enumerate([9, 9, *[4] * 8, 2]) for t in (0, pair[1]))
    monkeypatch.setattr(measure.time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(measure.torch, "mm", lambda *_, **__: None)
    assert measure.product_rate(CPU, torch.float32) == 2 * 2048**3 / 2
