"""Learning-rate schedules by their formulas, the average, and steps against PyTorch's own."""

import math
from functools import partial

import pytest
import torch

from seq2seq.config import OptimizerConfig
from seq2seq.training.optimization import (
    WeightAverage,
    build_optimizer,
    clipped_step,
    learning_rate,
)


@pytest.mark.parametrize(
    ("schedule", "warmup", "updates", "rates"),
    [
        ("constant", 4, 100, {1: 0.025, 2: 0.05, 4: 0.1, 5: 0.1, 100: 0.1}),
        ("inverse_sqrt", 4, 100, {4: 0.1, 16: 0.05, 64: 0.025}),
        ("linear", 0, 4, {1: 0.1, 2: 0.075, 3: 0.05, 4: 0.025, 5: 0.025, 9: 0.025}),
        ("linear", 4, 8, {1: 0.025, 4: 0.1, 5: 0.08, 8: 0.02}),
        ("linear", 8, 4, {1: 0.0125, 4: 0.05}),
    ],
)
def test_the_rate_follows_its_formula(schedule, warmup, updates, rates):
    config = OptimizerConfig(learning_rate=0.1, warmup_updates=warmup, schedule=schedule)
    found = {update: learning_rate(config, update, updates) for update in rates}
    assert found == pytest.approx(rates)


def test_the_average_is_over_about_the_last_tenth_of_the_updates():
    """After update u, weight u is 1 and the others are 0: so each is the share of its update."""
    layer = torch.nn.Linear(3_000, 1, bias=False)
    average = WeightAverage(layer, wanted=True)
    ages = torch.arange(3_000.0)
    for update in range(1, 3_000):
        with torch.no_grad():
            layer.weight.zero_()[0, update] = 1.0
        average.add(update)
        with average.in_model():
            shares = layer.weight.detach()[0].clone()
        assert shares.sum().item() == pytest.approx(1.0, abs=1e-4)
        if update <= 10:
            assert shares[update] == 1
        if update >= 300:
            age = (shares * (update - ages)).sum().item()
            assert 0.06 * update < age < 0.12 * update
            assert shares[: update // 2].sum() < 0.02


PYTORCHS = {
    "adam": partial(torch.optim.Adam, betas=(0.6, 0.8), eps=1e-8),
    "adadelta": partial(torch.optim.Adadelta, rho=0.95, eps=1e-6),
    "sgd": torch.optim.SGD,
}


@pytest.mark.parametrize("limit", [0.0, 0.5, 100.0])
@pytest.mark.parametrize("kind", PYTORCHS)
def test_a_step_is_pytorchs_after_clipping_or_changes_nothing_if_not_finite(kind, limit):
    torch.manual_seed(0)
    model, other = (torch.nn.Linear(3, 2) for _ in range(2))
    other.load_state_dict(model.state_dict())
    mine, theirs = list(model.parameters()), list(other.parameters())
    config = OptimizerConfig(kind=kind, learning_rate=0.5, betas=[0.6, 0.8])
    optimizer, plain = build_optimizer(model, config), PYTORCHS[kind](theirs, lr=0.5)
    for size, loss in ((1.0, 1.0), (7.0, math.nan), (math.inf, 1.0), (7.0, 1.0)):
        for one, copy in zip(mine, theirs, strict=True):
            one.grad = size * torch.randn(one.shape)
            copy.grad = one.grad.clone()
        norm, taken = clipped_step(optimizer, limit, torch.tensor(loss))
        assert taken == math.isfinite(size * loss)
        if taken:
            expected = torch.nn.utils.clip_grad_norm_(theirs, limit or math.inf)
            torch.testing.assert_close(norm, expected)
            plain.step()
        torch.testing.assert_close(mine, theirs)
