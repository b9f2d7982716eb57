"""What turns gradients into updates: the optimizer, clipping, the learning rate over time."""

import inspect
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2seq.checkpoint import RateState
from seq2seq.config import OptimizerConfig


class _Adam(torch.optim.Adam):
    """Adam without decorators that import torch.compile, unused here: two seconds and 150 MB."""

    add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
    state_dict = inspect.unwrap(torch.optim.Adam.state_dict)
    load_state_dict = inspect.unwrap(torch.optim.Adam.load_state_dict)
    zero_grad = inspect.unwrap(torch.optim.Adam.zero_grad)
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))


def build_optimizer(model: nn.Module, config: OptimizerConfig) -> torch.optim.Optimizer:
    """Adam (Kingma & Ba 2015), Adadelta (Zeiler 2012, the paper's choice) or plain SGD."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    common: dict[str, Any] = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
    if config.kind == "adam":
        first, second = config.betas
        return _Adam(parameters, betas=(first, second), eps=config.epsilon, fused=True, **common)
    if config.kind == "adadelta":
        return torch.optim.Adadelta(parameters, rho=config.rho, eps=config.epsilon, **common)
    return torch.optim.SGD(parameters, momentum=config.momentum, **common)


def clipped_step(
    optimizer: torch.optim.Optimizer, limit: float, loss: Float[Tensor, ""]
) -> tuple[Float[Tensor, ""], Bool[Tensor, ""]]:
    """One step along the gradient of ``loss``, scaled down to a norm of ``limit`` (0: as it is).

    Returns the gradient's norm before clipping (Pascanu et al. 2013), and whether the step was
    taken: where loss or gradient is not finite, parameters and moments stay as they are. The fused
    Adam divides by a ``grad_scale`` as it reads the gradient, and does nothing where ``found_inf``
    is set, so nothing waits for a GPU; the others need a pass over all gradients, and wait.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    taken = norm.isfinite() & loss.isfinite()
    if isinstance(optimizer, _Adam):
        # Attributes by which torch.amp.GradScaler passes them.
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


@dataclass
class LearningRate:
    """Linear warm-up, then constant, linear, inverse square root, or decay on a plateau.

    With u the update about to be made (from 1), w the warm-up and n ``updates``, the most that the
    training makes: rate = learning_rate * min(1, u / w) * decay, where decay is 1 (constant),
    min(1, (n + 1 - u) / (n + 1 - max(1, w))) (linear), min(1, sqrt(max(1, w) / u)) (inverse_sqrt),
    or decay_factor per plateau of the early-stopping metric. With batches of tokens, epochs differ
    in length: updates after n keep the rate of update n.
    """

    optimizer: torch.optim.Optimizer
    config: OptimizerConfig
    updates: int
    state: RateState = field(default_factory=RateState)

    def at(self, update: int) -> float:
        """The rate of ``update``, counted from 1."""
        config = self.config
        rate = config.learning_rate * self.state.plateau_factor
        if update < config.warmup_updates:
            return rate * update / config.warmup_updates
        top = max(1, config.warmup_updates)
        if config.schedule == "linear":
            return rate * max(1, self.updates + 1 - update) / max(1, self.updates + 1 - top)
        if config.schedule == "inverse_sqrt":
            return rate * (top / update) ** 0.5
        return rate

    def apply(self, update: int) -> float:
        """Set the optimizer's rate for ``update`` and return it."""
        rate = self.at(update)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def after_validation(self, improved: bool) -> None:
        """Lower the rate after more than decay_patience validations without improvement."""
        state = self.state
        if self.config.schedule == "plateau":
            state.stale = 0 if improved else state.stale + 1
            if state.stale > self.config.decay_patience:
                state.plateau_factor *= self.config.decay_factor
                state.stale = 0
