"""Label-smoothed cross entropy over the real positions of a batch."""

from jaxtyping import Float
from torch import Tensor

from seq2seq.data.batching import Batch
from seq2seq.model.fast.loss import BatchLoss, output_loss
from seq2seq.model.translation import TranslationModel


def batch_loss(
    model: TranslationModel, batch: Batch, smoothing: float, scale: float | Float[Tensor, ""] = 1.0
) -> BatchLoss:
    r"""Cross entropy of the model's predictions in nats, summed over target positions.

    .. math:: (1 - \epsilon) (-\log p(y)) + \epsilon / V \sum_v -\log p(v)

    at each position, with label smoothing :math:`\epsilon` (Szegedy et al. 2016), times ``scale``.
    To accumulate batches, set ``scale`` to 1 / (tokens or sentences of all batches): the loss then
    does not depend on how pairs are divided into batches.
    """
    outputs = batch.at_targets(model(batch.source, batch.source_lengths, batch.target_input))
    targets = batch.at_targets(batch.target_output)
    return output_loss(outputs, model.output.weight, model.output.bias, targets, smoothing, scale)
