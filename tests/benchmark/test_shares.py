"""An update cut into stages is the same update, and its stages make up its time."""

import functools
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch

from seq2seq.benchmark import shares
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
    ("path", "works", "stages"),
    [
        (
            "naive",
            {
                "training.model.encode": 1,
                "training.model.decode": 10,
                "shares.naive_loss": 100,
                "torch.autograd.backward": 1000,
                "torch.nn.utils.clip_grad_norm_": 10_000,
                "training.optimizer.step": 100_000,
            },
            {ENCODER: 1001, LOOP: 1110, OPTIMIZER: 110_000},
        ),
        (
            "fast",
            {
                "training.model.encode": 1,
                "training.model.decoder.unroll": 10,
                "shares.output_loss": 100,
                "torch.autograd.backward": 1000,
                "shares.clipped_step": 10_000,
            },
            {ENCODER: 1001, RECURRENCE: 1010, OUTPUT: 1100, OPTIMIZER: 10_000},
        ),
    ],
)
def test_the_time_of_each_work_is_put_down_to_its_stage(monkeypatch, path, works, stages):
    """By a clock that the works alone move, so that no other load of the machine counts."""
    now = [0.0]
    workload = Workload(SIZES["tiny"], "additive", seed=5, device=torch.device("cpu"))
    owners = {"training": PATHS[path].start(workload), "shares": shares, "torch": torch}

    def taking(seconds: int, work: Callable) -> Callable:
        def timed(*arguments, **settings):
            now[0] += seconds
            return work(*arguments, **settings)

        return timed

    for name, seconds in works.items():
        owner, *between, work = name.split(".")
        place = functools.reduce(getattr, between, owners[owner])
        monkeypatch.setattr(place, work, taking(seconds, getattr(place, work)))
    monkeypatch.setattr(shares, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    assert staged_update(owners["training"]) == stages
