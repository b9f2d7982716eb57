"""Label-smoothed cross entropy of a batch."""

from jaxtyping import Float, Int
from torch import Tensor

from seq2seq.data.batching import Batch
from seq2seq.data.vocabulary import PAD
from seq2seq.model.fast.loss import BatchLoss, output_loss
from seq2seq.model.layers import to_float32
from seq2seq.model.translation import TranslationModel


def smoothed_cross_entropy(
    logits: Float[Tensor, "N V"],
    targets: Int[Tensor, "N"],
    smoothing: float,
    scale: float | Float[Tensor, ""] = 1.0,
) -> BatchLoss:
    r"""Cross entropy in nats, summed over the targets y that are not padding.

    The loss of a target is ``scale`` times

    .. math:: (1 - \epsilon) (-\log p(y)) + \epsilon / V \sum_v -\log p(v)

    where :math:`\epsilon` is the label smoothing (Szegedy et al. 2016).
    """
    log_p = to_float32(logits).log_softmax(dim=1) * (targets != PAD)[:, None]
    likelihood = -log_p.gather(1, targets[:, None]).sum()
    uniform = -log_p.mean(dim=1).sum()
    smoothed = scale * ((1 - smoothing) * likelihood + smoothing * uniform)
    return BatchLoss(smoothed, likelihood.detach())


def batch_loss(
    model: TranslationModel, batch: Batch, smoothing: float, scale: float | Float[Tensor, ""] = 1.0
) -> BatchLoss:
    """Losses of the model's predictions, summed over target positions.

    To accumulate batches, set ``scale`` to 1 / (number of tokens or sentences of all batches).
    """
    readouts, _ = model(batch.source, batch.source_lengths, batch.target_input)
    outputs, targets = batch.at_targets(readouts), batch.at_targets(batch.target_output)
    if model.decoder.fast:  # the same, without the full logits
        weight, bias = model.output.weight, model.output.bias
        return output_loss(outputs, weight, bias, targets, smoothing, scale)
    return smoothed_cross_entropy(model.output(outputs), targets, smoothing, scale)
