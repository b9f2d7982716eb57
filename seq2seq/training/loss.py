"""Label-smoothed cross entropy over the real positions of a batch."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from seq2seq.data.batching import Batch
from seq2seq.model.encoder import length_mask
from seq2seq.model.translation import TranslationModel


class BatchLoss(NamedTuple):
    """Sums over the real target positions of a batch, end of sentence included."""

    smoothed: Float[Tensor, ""]
    """What training minimises; equals ``negative_log_likelihood`` without smoothing."""
    negative_log_likelihood: Float[Tensor, ""]
    """In nats; exp of its mean per token is the perplexity. Carries no gradient."""


def batch_loss(model: TranslationModel, batch: Batch, smoothing: float) -> BatchLoss:
    r"""Cross entropy of the model's predictions, summed over tokens.

    .. math:: (1 - \epsilon) (-\log p(y)) + \epsilon / V \sum_v -\log p(v)

    (Szegedy et al. 2016.) Sums, not means: whoever accumulates several batches divides by the
    tokens of all of them, so that the loss does not depend on how they were cut. Scores are only
    computed where the target is real, and in float32 whatever the autocast.
    """
    outputs = model(batch.source, batch.source_lengths, batch.target_input)
    real = length_mask(batch.target_lengths, batch.target_output.shape[1])
    logits = model.logits(outputs[real])
    log_probabilities = functional.log_softmax(logits.float(), dim=-1)
    targets = batch.target_output[real]
    likelihood = functional.nll_loss(log_probabilities, targets, reduction="sum")
    if smoothing == 0:
        return BatchLoss(likelihood, likelihood.detach())
    uniform = -log_probabilities.mean(dim=-1).sum()
    smoothed = (1 - smoothing) * likelihood + smoothing * uniform
    return BatchLoss(smoothed, likelihood.detach())


def perplexity(loss_per_token: float) -> float:
    """exp of a mean negative log-likelihood in nats; infinity where that overflows."""
    return float(torch.tensor(loss_per_token, dtype=torch.float64).exp())
