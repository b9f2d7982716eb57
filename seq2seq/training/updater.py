"""One update: forward, backward, clipping, the optimizer's step."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from seq2seq.config import TrainingConfig
from seq2seq.data.batching import Batch
from seq2seq.device import mixed_precision
from seq2seq.model.translation import TranslationModel
from seq2seq.training.loss import batch_loss
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
    """Target tokens, ends of sentence included."""


class Updater:
    """Improves a model batch by batch."""

    def __init__(
        self,
        model: TranslationModel,
        optimizer: torch.optim.Optimizer,
        config: TrainingConfig,
        device: torch.device,
        precision: torch.dtype,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.config = config
        self.device = device
        self.precision = precision

    def update(self, batches: list[Batch]) -> Update:
        """One update from micro-batches; the loss is divided by the tokens of all of them."""
        self.model.train()
        tokens = sum(int(batch.target_lengths.sum()) for batch in batches)
        likelihood = torch.zeros((), device=self.device)
        for batch in batches:
            with mixed_precision(self.device, self.precision):
                loss = batch_loss(
                    self.model, batch.to(self.device), self.config.label_smoothing, 1 / tokens
                )
            loss.smoothed.backward()
            likelihood += loss.negative_log_likelihood
        norm, taken = clipped_step(self.optimizer, self.config.clip_norm, likelihood)
        self.optimizer.zero_grad(set_to_none=True)
        return Update(likelihood, norm, taken, tokens)
