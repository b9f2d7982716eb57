"""One update: forward, backward, clipping, the optimizer's step, the learning rate over time."""

import inspect
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from seq2seq.config import OptimizerConfig, TrainingConfig
from seq2seq.data.batching import Batch, blank_batch
from seq2seq.device import mixed_precision
from seq2seq.model.translation import TranslationModel
from seq2seq.training.distributed import SINGLE, ProcessGroup
from seq2seq.training.loss import BatchLoss, batch_loss
from seq2seq.training.processor import return_idle_memory


class Update(NamedTuple):
    """What an update leaves to report; tensors stay on the device."""

    negative_log_likelihood: Float[Tensor, ""]
    """Summed over the target tokens, in nats."""
    gradient_norm: Float[Tensor, ""]
    """Before clipping."""
    taken: Bool[Tensor, ""]
    """False where loss or gradient was not finite, and the update was skipped."""
    tokens: int
    """Target tokens of all processes, ends of sentence included."""


@dataclass
class TrainingStep:
    """Updates a model from micro-batches, of which each process has its share."""

    model: TranslationModel
    optimizer: torch.optim.Optimizer
    config: TrainingConfig
    device: torch.device
    precision: torch.dtype
    group: ProcessGroup = SINGLE

    def __post_init__(self) -> None:
        self.objective: Any = _Objective(self.model)
        if self.group.size > 1:
            self.objective = DistributedDataParallel(self.objective, gradient_as_bucket_view=True)
            # After its first backward pass DDP regroups the gradients that it sums together, which
            # with three processes or more decides the last bits. That must not happen in the first
            # update: a resumed training would end otherwise than an uninterrupted one.
            self._loss(blank_batch(), 1.0).smoothed.backward()
            self.optimizer.zero_grad(set_to_none=True)

    def run(self, batches: list[Batch], tokens: int, sentences: int) -> Update:
        """One update; its loss is the mean per token of all micro-batches, or per sentence.

        ``batches`` are this process's shares of the micro-batches, ``tokens`` and ``sentences``
        what all processes have together.
        """
        self.model.train()
        count = tokens if self.config.loss_normalization == "token" else sentences
        scale = self.group.size / count  # DDP's gradient is a mean over the processes, not a sum
        likelihood = torch.zeros((), device=self.device)
        for i, batch in enumerate(batches, start=1):
            # Processes exchange gradients in the last pass of an update only.
            self.objective.require_backward_grad_sync = i == len(batches)
            loss = self._loss(batch, scale)
            loss.smoothed.backward()
            likelihood += loss.negative_log_likelihood
        self.group.sum(likelihood)
        norm, taken = clipped_step(self.optimizer, self.config.clip_norm, likelihood)
        self.optimizer.zero_grad(set_to_none=True)
        return_idle_memory()
        return Update(likelihood, norm, taken, tokens)

    def _loss(self, batch: Batch, scale: float) -> BatchLoss:
        with mixed_precision(self.device, self.precision):
            return self.objective(batch.to(self.device), self.config.label_smoothing, scale)


class _Objective(nn.Module):
    """The model and its loss as one module, for DDP."""

    def __init__(self, model: TranslationModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch, smoothing: float, scale: float) -> BatchLoss:
        return batch_loss(self.model, batch, smoothing, scale)


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
    return norm, taken


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
        """What a checkpoint keeps."""
        return {"plateau_factor": self.plateau_factor, "stale": self.stale}

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from :meth:`state`."""
        self.plateau_factor, self.stale = state["plateau_factor"], state["stale"]
