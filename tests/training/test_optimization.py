"""Learning-rate schedules by their formulas, and that each optimizer learns."""

import contextlib
import subprocess
import sys

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
        ("average", 4, 100, {1: 0.025, 2: 0.05, 4: 0.1, 5: 0.1, 100: 0.1}),
        ("constant", 4, 100, {1: 0.025, 2: 0.05, 4: 0.1, 5: 0.1, 100: 0.1}),
        ("inverse_sqrt", 4, 100, {4: 0.1, 16: 0.05, 64: 0.025}),
        ("linear", 0, 4, {1: 0.1, 2: 0.075, 3: 0.05, 4: 0.025, 5: 0.025, 9: 0.025}),
        ("linear", 4, 8, {1: 0.025, 4: 0.1, 5: 0.08, 8: 0.02}),
        ("linear", 4, 4, {1: 0.025, 2: 0.05, 3: 0.075, 4: 0.1}),
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


def test_the_model_has_its_own_weights_back_even_after_an_error():
    layer = torch.nn.Linear(1, 1)
    average = WeightAverage(layer, wanted=True)
    with torch.no_grad():
        layer.weight += 1.0
    before = layer.weight.detach().clone()
    with contextlib.suppress(KeyError), average.in_model():
        assert layer.weight == before - 1.0
        raise KeyError
    assert layer.weight == before


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("adam", {"lr": 0.5, "betas": (0.6, 0.8), "eps": 1e-8}),
        ("adadelta", {"lr": 0.5, "rho": 0.95, "eps": 1e-6}),
        ("sgd", {"lr": 0.5, "momentum": 0}),
    ],
)
def test_each_optimizer_gets_its_settings(kind, expected):
    config = OptimizerConfig(kind=kind, learning_rate=0.5, betas=[0.6, 0.8])
    (group,) = build_optimizer(torch.nn.Linear(2, 1), config).param_groups
    assert {name: group[name] for name in expected} == expected


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
        optimizers[1] = torch.optim.Adam(
            models[1].parameters(), lr=config.learning_rate, betas=(*config.betas,)
        )
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
    assert not {"grad_scale", "found_inf"} & vars(optimizers[0]).keys()  # for the next step


@pytest.mark.parametrize(("gradient", "loss"), [(torch.inf, 1.0), (1.0, torch.nan)])
@pytest.mark.parametrize(("kind", "limit"), [("adam", 1.0), ("adam", 0.0), ("adadelta", 1.0)])
def test_a_step_that_is_not_finite_changes_nothing(kind, limit, gradient, loss):
    torch.manual_seed(0)
    models = [torch.nn.Linear(3, 2) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    optimizers = [build_optimizer(model, OptimizerConfig(kind=kind)) for model in models]

    def step(which: int, size: float, loss: float) -> bool:
        for parameter in models[which].parameters():
            parameter.grad = torch.ones_like(parameter)
        models[which].weight.grad[0, 0] = size
        _, taken = clipped_step(optimizers[which], limit, torch.tensor(loss))
        return bool(taken)

    for which in (0, 1):
        assert step(which, 2.0, 1.0)
    assert not step(0, gradient, loss)
    for which in (0, 1):
        assert step(which, 3.0, 1.0)
    for mine, theirs in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(mine, theirs)


def test_training_leaves_pytorchs_compiler_alone():
    """It is two seconds and 150 MB; optimizers other than Adam may load it."""
    program = """
import sys, torch
from seq2seq.config import ModelConfig, OptimizerConfig
from seq2seq.device import deterministic
from seq2seq.model.translation import TranslationModel
from seq2seq.model.fast.choose import compiled_operations
from seq2seq.training.optimization import build_optimizer, clipped_step
compiled_operations("cpu")
with torch.device("meta"):  # as a checkpoint is loaded
    TranslationModel(ModelConfig(), 9, 9)
layer = torch.nn.Linear(2, 1)
optimizer = build_optimizer(layer, OptimizerConfig())
layer(torch.ones(1, 2)).sum().backward()
with deterministic(False):
    clipped_step(optimizer, 1.0, torch.ones(()))
optimizer.zero_grad()
optimizer.load_state_dict(optimizer.state_dict())
print({"torch._dynamo", "sympy"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
