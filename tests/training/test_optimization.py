"""Learning-rate schedules by their formulas, and that each optimizer learns."""

import subprocess
import sys

import pytest
import torch

from seq2seq.config import OptimizerConfig
from seq2seq.training.optimization import LearningRate, build_optimizer, clipped_step


def rate_of(updates: int = 100, **settings) -> LearningRate:
    config = OptimizerConfig(learning_rate=0.1, **settings)
    return LearningRate(build_optimizer(torch.nn.Linear(2, 1), config), config, updates)


def test_warm_up_is_linear_and_ends_at_the_full_rate():
    rate = rate_of(warmup_updates=4, schedule="constant")
    assert [rate.at(u) for u in (1, 2, 4, 5, 100)] == pytest.approx([0.025, 0.05, 0.1, 0.1, 0.1])


def test_inverse_square_root_falls_from_the_end_of_the_warm_up():
    rate = rate_of(warmup_updates=4, schedule="inverse_sqrt")
    assert [rate.at(u) for u in (4, 16, 64)] == pytest.approx([0.1, 0.05, 0.025])


@pytest.mark.parametrize(
    ("warmup", "updates", "rates"),
    [
        (0, 4, [0.1, 0.075, 0.05, 0.025]),
        (1, 4, [0.1, 0.075, 0.05, 0.025]),
        (4, 8, [0.025, 0.05, 0.075, 0.1, 0.08, 0.06, 0.04, 0.02]),
        (4, 4, [0.025, 0.05, 0.075, 0.1]),
        (8, 4, [0.0125, 0.025, 0.0375, 0.05]),
    ],
)
def test_linear_falls_from_the_warm_up_to_a_zero_after_the_last_update(warmup, updates, rates):
    rate = rate_of(updates, warmup_updates=warmup, schedule="linear")
    assert [rate.at(u) for u in range(1, updates + 1)] == pytest.approx(rates)


def test_linear_keeps_its_last_rate_in_an_epoch_of_more_batches_than_foreseen():
    rate = rate_of(4, schedule="linear")
    assert rate.at(9) == rate.at(5) == rate.at(4) == pytest.approx(0.025)


def test_plateau_halves_after_more_stale_validations_than_its_patience():
    rate = rate_of(schedule="plateau", decay_patience=1)
    seen = []
    for improved in (True, False, True, False, False, False, False):
        rate.after_validation(improved)
        seen.append(rate.at(1))
    assert seen == pytest.approx([0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.025])


def test_constant_ignores_validations():
    rate = rate_of(schedule="constant")
    for _ in range(10):
        rate.after_validation(False)
    assert rate.at(1) == 0.1


def test_state_round_trip_and_apply():
    rate = rate_of(decay_patience=0)
    rate.after_validation(False)
    other = rate_of(decay_patience=0)
    other.restore(rate.state())
    assert other.apply(1) == rate.at(1) == pytest.approx(0.05)
    assert other.optimizer.param_groups[0]["lr"] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("adam", {"lr": 0.5, "betas": (0.6, 0.8), "eps": 0.25, "weight_decay": 0.125}),
        ("adadelta", {"lr": 0.5, "rho": 0.7, "eps": 0.25, "weight_decay": 0.125}),
        ("sgd", {"lr": 0.5, "momentum": 0.3, "weight_decay": 0.125}),
    ],
)
def test_each_optimizer_gets_its_settings(kind, expected):
    config = OptimizerConfig(
        kind=kind,
        learning_rate=0.5,
        epsilon=0.25,
        rho=0.7,
        betas=[0.6, 0.8],
        momentum=0.3,
        weight_decay=0.125,
    )
    (group,) = build_optimizer(torch.nn.Linear(2, 1), config).param_groups
    assert {name: group[name] for name in expected} == expected


@pytest.mark.parametrize(("kind", "rate"), [("adam", 0.05), ("adadelta", 50.0), ("sgd", 0.1)])
def test_each_optimizer_fits_a_line(kind, rate):
    torch.manual_seed(0)
    model = torch.nn.Linear(1, 1)
    optimizer = build_optimizer(model, OptimizerConfig(kind=kind, learning_rate=rate))
    x = torch.linspace(-1, 1, 20)[:, None]
    for _ in range(300):
        optimizer.zero_grad()
        loss = (model(x) - (3 * x + 1)).square().mean()
        loss.backward()
        optimizer.step()
    assert loss.item() < 1e-2


@pytest.mark.parametrize("limit", [0.0, 0.5, 100.0])
@pytest.mark.parametrize("kind", ["adam", "adadelta", "sgd"])
def test_clipping_equals_pytorchs_own_before_a_plain_step(kind, limit):
    """Two steps, so that Adam's moments show which gradient they were made from."""
    torch.manual_seed(0)
    models = [torch.nn.Linear(3, 2) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    config = OptimizerConfig(kind=kind)
    optimizers = [build_optimizer(model, config) for model in models]
    if kind == "adam":
        optimizers[1] = torch.optim.Adam(models[1].parameters(), lr=config.learning_rate)
    for size in (1.0, 7.0):
        for parameters in zip(*(model.parameters() for model in models), strict=True):
            gradient = size * torch.randn(parameters[0].shape)
            for parameter in parameters:
                parameter.grad = gradient.clone()
        norm, taken = clipped_step(optimizers[0], limit, torch.tensor(1.0))
        assert taken
        expected = torch.nn.utils.clip_grad_norm_(models[1].parameters(), limit or float("inf"))
        optimizers[1].step()
        torch.testing.assert_close(norm, expected)
    for mine, theirs in zip(*(model.parameters() for model in models), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("limit", [0.0, 1.0])
@pytest.mark.parametrize("kind", ["adam", "adadelta", "sgd"])
@pytest.mark.parametrize(
    ("gradient", "loss"), [(torch.nan, 1.0), (torch.inf, 1.0), (1.0, torch.nan)]
)
def test_a_step_that_is_not_finite_changes_nothing(kind, limit, gradient, loss):
    torch.manual_seed(0)
    models = [torch.nn.Linear(3, 2) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    optimizers = [build_optimizer(model, OptimizerConfig(kind=kind)) for model in models]

    def step(which: int, size: float, loss: float) -> bool:
        for parameter in models[which].parameters():
            parameter.grad = torch.ones_like(parameter)
        models[which].weight.grad[0, 0] = size
        return bool(clipped_step(optimizers[which], limit, torch.tensor(loss)).taken)

    for which in (0, 1):
        assert step(which, 2.0, 1.0)
    assert not step(0, gradient, loss)
    for which in (0, 1):
        assert step(which, 3.0, 1.0)
    for mine, theirs in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(mine, theirs)


def test_a_clipped_step_leaves_nothing_for_the_next_one():
    """Neither for a step without a limit nor for one that is called directly."""
    torch.manual_seed(0)
    models = [torch.nn.Linear(3, 2).double() for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    optimizers = [build_optimizer(model, OptimizerConfig()) for model in models]

    def give(size: float) -> None:
        for parameters in zip(*(model.parameters() for model in models), strict=True):
            gradient = size * torch.randn(parameters[0].shape, dtype=torch.float64)
            for parameter in parameters:
                parameter.grad = gradient.clone()

    give(50.0)
    clipped_step(optimizers[0], 0.5, torch.tensor(1.0))
    torch.nn.utils.clip_grad_norm_(models[1].parameters(), 0.5)
    optimizers[1].step()
    give(3.0)
    clipped_step(optimizers[0], 0.0, torch.tensor(1.0))
    optimizers[1].step()
    give(2.0)
    for optimizer in optimizers:
        optimizer.step()
    for mine, theirs in zip(*(model.parameters() for model in models), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-6)


def test_adam_leaves_pytorchs_compiler_alone():
    """It is two seconds and 150 MB; other optimizers may load it."""
    program = """
import sys, torch
from seq2seq.config import OptimizerConfig
from seq2seq.training.optimization import build_optimizer, clipped_step
layer = torch.nn.Linear(2, 1)
optimizer = build_optimizer(layer, OptimizerConfig())
layer(torch.ones(1, 2)).sum().backward()
clipped_step(optimizer, 1.0, torch.ones(()))
optimizer.zero_grad()
optimizer.load_state_dict(optimizer.state_dict())
print("torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
