"""Optimizer, gradient clipping, learning-rate schedule, and average of the weights."""

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2seq.config import OptimizerConfig


class _Adam(torch.optim.Adam):
    """Adam without the decorators that import torch.compile; the import takes 2 s and 150 MB."""

    add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
    state_dict = inspect.unwrap(torch.optim.Adam.state_dict)
    load_state_dict = inspect.unwrap(torch.optim.Adam.load_state_dict)
    zero_grad = inspect.unwrap(torch.optim.Adam.zero_grad)
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))


def build_optimizer(model: nn.Module, config: OptimizerConfig) -> torch.optim.Optimizer:
    """Build Adam (Kingma & Ba 2015), Adadelta (Zeiler 2012) with the paper's constants, or SGD."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    rate = config.learning_rate
    if config.kind == "adam":
        first, second = config.betas
        return _Adam(parameters, lr=rate, betas=(first, second), eps=1e-8, fused=True)
    if config.kind == "adadelta":
        return torch.optim.Adadelta(parameters, lr=rate, rho=0.95, eps=1e-6)
    return torch.optim.SGD(parameters, lr=rate)


def clipped_step(
    optimizer: torch.optim.Optimizer, limit: float, loss: Float[Tensor, ""]
) -> tuple[Float[Tensor, ""], Bool[Tensor, ""]]:
    """Make one step with the gradient clipped to the norm ``limit`` (Pascanu et al. 2013; 0: none).

    Returns the norm before, and whether the step was made: loss and gradient must be finite.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    taken = norm.isfinite() & loss.isfinite()
    if isinstance(optimizer, _Adam):
        # The fused Adam divides by the one, and does nothing if the other is set: so the CPU does
        # not wait for a GPU. Normally torch.amp.GradScaler sets them.
        fused: Any = optimizer
        fused.grad_scale = (norm / limit if limit else torch.ones_like(norm)).clamp(min=1).float()
        fused.found_inf = (~taken).float()
        fused.step()
        del fused.grad_scale, fused.found_inf
    elif taken:
        if limit:
            torch.nn.utils.clip_grads_with_norm_(parameters, limit, norm)
        optimizer.step()
    return norm, taken


def learning_rate(config: OptimizerConfig, update: int, updates: int) -> float:
    """Return the learning rate of ``update`` (from 1): a warm-up, then the schedule's decay.

    It is learning_rate * min(1, u / w) * decay, where u is ``update``, w is warmup_updates (at
    least 1), and decay is:

    - constant, average: 1
    - linear: min(1, (n + 1 - u) / (n + 1 - w)), where n is ``updates``, their number in all
    - inverse_sqrt: min(1, sqrt(w / u))
    """
    rate, top = config.learning_rate, max(1, config.warmup_updates)
    if update < top:
        return rate * update / top
    if config.schedule == "linear":
        return rate * max(1, updates + 1 - update) / max(1, updates + 1 - top)
    if config.schedule == "inverse_sqrt":
        return rate * (top / update) ** 0.5
    return rate


class WeightAverage:
    r"""Average of the weights over about the last tenth of the updates so far.

    At a constant learning rate, the weights move around a better point, which their average is near
    (Polyak & Juditsky 1992). After update u, the average a moves towards the weights w:

    .. math::
        a \leftarrow a + \min(1, \frac{k}{u / 10}) (w - a)

    It moves after every k-th update, where k is u / 100, rounded down, but at least 1. So the cost
    per update falls. Without ``wanted``, there is no average.
    """

    def __init__(self, model: nn.Module, wanted: bool) -> None:
        self.parameters = [*model.parameters()] if wanted else []
        self.others = [parameter.detach().clone() for parameter in self.parameters]
        """The average; in the context :meth:`in_model`, what the next update changes."""
        with self.in_model():
            for module in model.modules():
                if isinstance(module, nn.LSTM):
                    module.flatten_parameters()  # on a GPU, it needs its weights side by side

    def add(self, update: int) -> None:
        """Move the average towards the weights after ``update``, counted from 1."""
        every = max(1, update // 100)
        if update % every == 0:
            for average, parameter in zip(self.others, self.parameters, strict=True):
                average.lerp_(parameter.detach(), min(1.0, every / (update / 10)))

    @contextlib.contextmanager
    def in_model(self) -> Iterator[None]:
        """Context in which the model has the average as its weights."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    def _exchange(self) -> None:
        for place, parameter in enumerate(self.parameters):
            parameter.data, self.others[place] = self.others[place], parameter.data
