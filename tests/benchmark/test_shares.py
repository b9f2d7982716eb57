"""An update cut into stages is the same update, and its stages make up its time."""

import time

import pytest
import torch

from seq2seq.benchmark.paths import PATHS, Training, Workload
from seq2seq.benchmark.shares import ENCODER, LOOP, OPTIMIZER, OUTPUT, RECURRENCE, staged_update
from seq2seq.benchmark.sizes import SIZES


def gradients(training: Training) -> list[torch.Tensor]:
    """Of the first update, clipped and up to a factor: Adam's first moments after it."""
    return [state["exp_avg"] for state in training.optimizer.state.values()]


@pytest.mark.parametrize("kind", ["additive", "fixed"])
@pytest.mark.parametrize("path", list(PATHS))
def test_a_staged_update_is_an_update(path, kind):
    workload = Workload(SIZES["tiny"], kind, seed=5, device=torch.device("cpu"))
    whole, staged = PATHS[path].start(workload), PATHS[path].start(workload)
    torch.manual_seed(6)  # of dropout
    whole.update()
    torch.manual_seed(6)
    staged_update(staged)
    size = apart = 0.0
    for one, two in zip(gradients(whole), gradients(staged), strict=True):
        size += one.square().sum().item()
        apart += (one - two).square().sum().item()
    assert apart < 1e-5 * size  # not 0: autocast adds up the gradients of a leaf in bfloat16


@pytest.mark.parametrize(
    ("path", "stages"),
    [
        ("naive", {ENCODER, LOOP, OPTIMIZER}),
        ("fast", {ENCODER, RECURRENCE, OUTPUT, OPTIMIZER}),
    ],
)
def test_the_stages_cover_the_whole_time(path, stages):
    workload = Workload(SIZES["tiny"], "additive", seed=5, device=torch.device("cpu"))
    training = PATHS[path].start(workload)
    staged_update(training)
    start = time.perf_counter()
    seconds = staged_update(training)
    whole = time.perf_counter() - start
    assert set(seconds) == stages
    assert min(seconds.values()) > 0
    assert 0.5 * whole < sum(seconds.values()) <= whole
