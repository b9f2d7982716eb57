"""One update: forward, backward, clipping, the optimizer's step."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2seq.allocator import return_idle_memory
from seq2seq.config import TrainingConfig
from seq2seq.data.batching import Batch, blank_batch
from seq2seq.device import mixed_precision
from seq2seq.model.translation import TranslationModel
from seq2seq.training.distributed import ALONE, Ranks
from seq2seq.training.loss import BatchLoss, batch_loss
from seq2seq.training.optimization import clipped_step


class Update(NamedTuple):
    """What an update leaves to report; tensors stay on the device until someone asks."""

    negative_log_likelihood: Float[Tensor, ""]
    """Summed over the target tokens, in nats."""
    gradient_norm: Float[Tensor, ""]
    """Before clipping."""
    taken: Bool[Tensor, ""]
    """False where loss or gradient was not finite, and the update therefore skipped."""
    tokens: int
    """Target tokens of all processes, ends of sentence included."""


class Updater:
    """Improves a model batch by batch; of several processes each has a part of every batch."""

    def __init__(
        self,
        model: TranslationModel,
        optimizer: torch.optim.Optimizer,
        config: TrainingConfig,
        device: torch.device,
        precision: torch.dtype,
        ranks: Ranks = ALONE,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.config = config
        self.device = device
        self.precision = precision
        self.ranks = ranks
        self.objective = ranks.shared(_Objective(model))
        if ranks.size > 1:
            # After its first pass back PyTorch arranges anew what it adds up together, which for
            # three processes or more decides the last bits. Let that not be in the first update:
            # a training that goes on from a checkpoint would end otherwise than one in one piece.
            self._loss(blank_batch(), 1.0).smoothed.backward()
            optimizer.zero_grad(set_to_none=True)

    def update(
        self, batches: list[Batch], tokens: int | None = None, sentences: int | None = None
    ) -> Update:
        """One update from micro-batches; the loss is the mean per token of all, or per sentence.

        Args:
            batches: this process's part of each micro-batch.
            tokens: target tokens of all processes' parts; None where this one has all.
            sentences: likewise.
        """
        self.model.train()
        if tokens is None:
            tokens = sum(len(batch.target_cells) for batch in batches)
        if sentences is None:
            sentences = sum(len(batch.indices) for batch in batches)
        # The gradient is a mean over the processes, and is to be a sum.
        scale = self.ranks.size / (
            tokens if self.config.loss_normalization == "token" else sentences
        )
        likelihood = torch.zeros((), device=self.device)
        for i, batch in enumerate(batches, start=1):
            with self.ranks.exchanging(self.objective, last=i == len(batches)):
                loss = self._loss(batch, scale)
                loss.smoothed.backward()
            likelihood += loss.negative_log_likelihood
        self.ranks.add_up(likelihood)
        norm, taken = clipped_step(self.optimizer, self.config.clip_norm, likelihood)
        self.optimizer.zero_grad(set_to_none=True)
        return_idle_memory()
        return Update(likelihood, norm, taken, tokens)

    def _loss(self, batch: Batch, scale: float) -> BatchLoss:
        with mixed_precision(self.device, self.precision):
            return self.objective(batch.to(self.device), self.config.label_smoothing, scale)


class _Objective(nn.Module):
    """The model and its loss as one module, which is what processes can share."""

    def __init__(self, model: TranslationModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch, smoothing: float, scale: float) -> BatchLoss:
        return batch_loss(self.model, batch, smoothing, scale)
