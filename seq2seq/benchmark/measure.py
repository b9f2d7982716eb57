"""The time of whole updates, or of other work, the paths taking turns.

A machine drifts: another program wakes up, a processor warms up and slows down. Paths that take
turns within one run meet the same conditions, so that their ratio holds where a figure in
milliseconds does not.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import torch

WARM_UP = 2
"""Updates of each path before the clock starts: first ones allocate and choose algorithms."""


class Speedup(NamedTuple):
    """How many times as fast one path is as another, over the rounds that both went through."""

    median: float
    low: float
    high: float


def synchronize(device: torch.device) -> None:
    """Wait until the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def time_in_turns(
    paths: Mapping[str, Callable[[], object]],
    updates: int,
    alternations: int,
    device: torch.device,
    warm_up: int = WARM_UP,
) -> dict[str, list[list[float]]]:
    """Seconds of each update: for each path one list per round.

    Args:
        paths: by name what makes an update; in each round they come in this order.
        updates: of one path before it is the next one's turn.
        alternations: rounds.
        device: what the paths compute on.
        warm_up: updates of each path before the first round.
    """
    for update in paths.values():
        for _ in range(warm_up):
            update()
    seconds: dict[str, list[list[float]]] = {name: [] for name in paths}
    for _ in range(alternations):
        for name, update in paths.items():
            seconds[name].append([_seconds(update, device) for _ in range(updates)])
    return seconds


def _seconds(update: Callable[[], object], device: torch.device) -> float:
    synchronize(device)
    start = time.perf_counter()
    update()
    synchronize(device)
    return time.perf_counter() - start


def median_of_all(rounds: Sequence[Sequence[float]]) -> float:
    """The median over the updates of all rounds."""
    return median(seconds for turn in rounds for seconds in turn)


def speedup_by_round(first: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> Speedup:
    """``first``'s median time over ``other``'s, round by round."""
    ratios = [median(one) / median(two) for one, two in zip(first, other, strict=True)]
    return Speedup(median(ratios), min(ratios), max(ratios))


def product_rate(device: torch.device, precision: torch.dtype) -> float:
    """Operations a second in large matrix products, which those of training hardly exceed."""
    # On a GPU enough that its launch and the wait for it do not count.
    width, tries = (8192 if device.type == "cuda" else 2048), 9
    left, right = (torch.randn(width, width, device=device).to(precision) for _ in range(2))
    result = torch.empty_like(left)
    seconds = [
        _seconds(lambda: torch.mm(left, right, out=result), device) for _ in range(WARM_UP + tries)
    ]
    return 2 * width**3 / min(seconds[WARM_UP:])
