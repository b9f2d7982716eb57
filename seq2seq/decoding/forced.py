"""Given targets, by the steps that search takes: how likely they are, and where they look."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2seq.data.vocabulary import BOS, PAD
from seq2seq.decoding.writer import begin
from seq2seq.model.ensemble import Ensemble
from seq2seq.model.precision import widen
from seq2seq.model.translation import TranslationModel


class Forced(NamedTuple):
    """What the model says of given targets."""

    log_probabilities: Float[Tensor, "R T"]
    """Of each piece, in nats; 0 at padding."""
    weights: Float[Tensor, "R T S"]
    """Where the step that wrote each piece looked; all 0 for a model without attention."""


@torch.no_grad()
def force(
    model: TranslationModel | Ensemble,
    source: Int[Tensor, "N S"],
    lengths: Int[Tensor, "N"],
    target: Int[Tensor, "R T"],
) -> Forced:
    """Score given targets: R = N x W, W of each sentence, sentence by sentence.

    Args:
        model: in evaluation mode; the caller sets autocast.
        source: ids that end with EOS, padded on the right.
        lengths: real ids of each sentence, EOS included.
        target: ids without BOS, padded on the right. They end with EOS, or do not, and are then
            scored as unfinished.
    """
    writer = begin(model, source, lengths)
    each = len(target) // len(source)
    if each > 1:
        writer.keep(torch.arange(len(source), device=source.device).repeat_interleave(each), None)
    token = torch.full_like(target[:, 0], BOS)
    gained, weights = [], []
    for following in target.unbind(dim=1):
        scored = writer.step(token)
        logits = widen(scored.logits)
        chosen = logits.gather(1, following[:, None]).squeeze(1)
        gained.append(chosen - logits.logsumexp(dim=1))
        weights.append(scored.weights)
        token = following
    log_probabilities = torch.stack(gained, dim=1).masked_fill(target == PAD, 0.0)
    return Forced(log_probabilities, torch.stack(weights, dim=1))
