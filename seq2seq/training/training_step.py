"""One update: forward, backward, clipping, the optimizer's step."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2seq.config import TrainingConfig
from seq2seq.data.batching import Batch, blank_batch
from seq2seq.device import mixed_precision
from seq2seq.model.translation import TranslationModel
from seq2seq.training.allocator import return_idle_memory
from seq2seq.training.distributed import SINGLE, ProcessGroup
from seq2seq.training.loss import BatchLoss, batch_loss
from seq2seq.training.optimization import clipped_step


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
        self.objective = self.group.wrap(_Objective(self.model))
        if self.group.size > 1:
            # After its first backward pass DDP regroups the gradients that it sums together, which
            # with three processes or more decides the last bits. That must not happen in the first
            # update: a resumed training would end otherwise than an uninterrupted one.
            self._loss(blank_batch(), 1.0).smoothed.backward()
            self.optimizer.zero_grad(set_to_none=True)

    def run(
        self, batches: list[Batch], tokens: int | None = None, sentences: int | None = None
    ) -> Update:
        """One update; its loss is the mean per token of all micro-batches, or per sentence.

        Args:
            batches: this process's share of each micro-batch.
            tokens: target tokens of all processes' shares; None where this process has all.
            sentences: sentence pairs of all processes' shares, or None.
        """
        self.model.train()
        if tokens is None or sentences is None:
            tokens = sum(len(batch.target_cells) for batch in batches)
            sentences = sum(len(batch.indices) for batch in batches)
        count = tokens if self.config.loss_normalization == "token" else sentences
        scale = self.group.size / count  # DDP's gradient is a mean over the processes, not a sum
        likelihood = torch.zeros((), device=self.device)
        for i, batch in enumerate(batches, start=1):
            with self.group.sync(self.objective, last=i == len(batches)):
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
