"""The update rule and the learning rate over time."""

import inspect
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2seq.config import OptimizerConfig


class _Adam(torch.optim.Adam):
    """Adam without the decorators that hide its methods from torch.compile.

    Nothing is compiled here, and they would import that compiler: two seconds and 150 MB.
    """

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


class ClippedStep(NamedTuple):
    """What a step was like; the tensors stay on the device."""

    norm: Float[Tensor, ""]
    """Of the gradient, before clipping."""
    taken: Bool[Tensor, ""]
    """False where the loss or the gradient was not finite: parameters and moments are as before."""


def clipped_step(
    optimizer: torch.optim.Optimizer, limit: float, loss: Float[Tensor, ""]
) -> ClippedStep:
    """One step along the gradient of ``loss``, scaled down to a norm of ``limit`` (0: as it is).

    Clipping is by norm (Pascanu et al. 2013). The fused Adam divides by a ``grad_scale`` as it
    reads the gradient, and does nothing where ``found_inf`` is set, so nothing waits for a GPU; the
    others need a pass over all gradients, and wait.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    taken = norm.isfinite() & loss.isfinite()
    if isinstance(optimizer, torch.optim.Adam) and optimizer.defaults["fused"]:
        # Attributes by which torch.amp.GradScaler passes them.
        fused: Any = optimizer
        fused.grad_scale = (norm / limit if limit else torch.ones_like(norm)).clamp(min=1).float()
        fused.found_inf = (~taken).float()
        try:
            fused.step()
        finally:
            del fused.grad_scale, fused.found_inf
    elif taken:
        if limit:
            torch.nn.utils.clip_grads_with_norm_(parameters, limit, norm)
        optimizer.step()
    return ClippedStep(norm, taken)


class LearningRate:
    """Linear warm-up, then constant, linear, inverse square root, or decay on a plateau.

    With u the update about to be made (from 1), w the warm-up and n ``updates``, the most that the
    training makes: rate = learning_rate * min(1, u / w) * decay, where decay is 1 (constant),
    min(1, (n + 1 - u) / (n + 1 - max(1, w))) (linear), min(1, sqrt(max(1, w) / u)) (inverse_sqrt),
    or decay_factor per plateau of the early-stopping metric. With batches of tokens, epochs differ
    in length: updates after n keep the rate of update n.
    """

    def __init__(
        self, optimizer: torch.optim.Optimizer, config: OptimizerConfig, updates: int
    ) -> None:
        self.optimizer = optimizer
        self.config = config
        self.updates = updates
        self.plateau_factor = 1.0
        self.stale = 0

    def at(self, update: int) -> float:
        """The rate of ``update``, counted from 1."""
        config = self.config
        rate = config.learning_rate * self.plateau_factor
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
        if self.config.schedule != "plateau":
            return
        self.stale = 0 if improved else self.stale + 1
        if self.stale > self.config.decay_patience:
            self.plateau_factor *= self.config.decay_factor
            self.stale = 0

    def state(self) -> dict[str, Any]:
        """What a checkpoint must keep."""
        return {"plateau_factor": self.plateau_factor, "stale": self.stale}

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from :meth:`state`."""
        self.plateau_factor, self.stale = state["plateau_factor"], state["stale"]
