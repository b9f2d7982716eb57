"""Label-smoothed cross entropy of a batch, and its gradients; on a GPU from recorded CUDA graphs.

A GPU computes the small operations of a recurrent model faster than Python can start them. A CUDA
graph is a recorded list of such operations. One call starts them all. They use the same arrays as
during the recording, with the present values of these arrays. So each shape of batch needs its own
recording, and batches are padded to few shapes. A shape is recorded when it occurs for the second
time. The first time, the libraries compile code and reserve memory; a recording must not contain
such work. Also, recording a shape that occurs only once would cost more time than it saves.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.data.batching import Batch
from seq2seq.device import mixed_precision
from seq2seq.model.fast.loss import BatchLoss, output_loss
from seq2seq.model.translation import TranslationModel

MOST_RECORDINGS = 128
"""Greatest number of shapes to record; for others, Python starts each operation."""


def batch_loss(
    model: TranslationModel, batch: Batch, smoothing: float, scale: float | Float[Tensor, ""] = 1.0
) -> BatchLoss:
    r"""Cross entropy of the model's predictions in nats, summed over target positions.

    The smoothed loss of a position is ``scale`` times

    .. math:: (1 - \epsilon) (-\log p(y)) + \epsilon / V \sum_v -\log p(v)

    where :math:`\epsilon` is the label smoothing (Szegedy et al. 2016). To accumulate batches, set
    ``scale`` to 1 / (number of tokens or sentences of all batches). The sum of their losses then
    does not depend on how pairs are divided into batches.
    """
    readouts, _ = model(batch.source, batch.source_lengths, batch.target_input)
    outputs = batch.at_targets(readouts)
    targets = batch.at_targets(batch.target_output)
    return output_loss(outputs, model.output.weight, model.output.bias, targets, smoothing, scale)


class Recording(NamedTuple):
    """A CUDA graph, the arrays that it reads, and the array that it writes the likelihood to."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    scale: Float[Tensor, ""]
    likelihood: Float[Tensor, ""]


class Gradients:
    """Adds gradients of batches to those that the model's parameters hold."""

    def __init__(
        self,
        model: TranslationModel,
        device: torch.device,
        precision: torch.dtype,
        smoothing: float,
    ) -> None:
        self.model, self.device, self.precision = model, device, precision
        self.smoothing = smoothing
        self._recordings: dict[tuple[int, ...], Recording | None] = {}
        self._pool = torch.cuda.graph_pool_handle() if device.type == "cuda" else None

    def add(self, batch: Batch, scale: float) -> Float[Tensor, ""]:
        """Add the gradient of the batch's loss times ``scale``.

        Returns the negative log-likelihood in nats, summed over the batch; not scaled.
        """
        if self.device.type != "cuda":
            return self.by_calls(batch, scale)
        padded = batch.padded()
        shape = (*padded.source.shape, *padded.target_input.shape)
        met, recording = shape in self._recordings, self._recordings.get(shape)
        if recording is None:
            on_device, factor = padded.to(self.device), torch.tensor(scale, device=self.device)
            if not met or sum(map(bool, self._recordings.values())) >= MOST_RECORDINGS:
                self._recordings[shape] = None
                return self.by_calls(on_device, factor)
            recording = self._recordings[shape] = self._record(on_device, factor)
        for kept, new in zip(recording.batch[:4], padded[:4], strict=True):  # the ids and lengths
            kept.copy_(new.pin_memory(), non_blocking=True)
        recording.scale.fill_(scale)
        recording.graph.replay()
        return recording.likelihood.clone()

    def by_calls(self, batch: Batch, scale: float | Float[Tensor, ""]) -> Float[Tensor, ""]:
        """Do what :meth:`add` does, but start each operation from Python."""
        with mixed_precision(self.device, self.precision):
            loss = batch_loss(self.model, batch.to(self.device), self.smoothing, scale)
        loss.smoothed.backward()
        return loss.negative_log_likelihood

    def _record(self, batch: Batch, scale: Float[Tensor, ""]) -> Recording:
        graph = torch.cuda.CUDAGraph()
        # All graphs take their memory from one pool, as only one of them runs at a time. Other
        # threads, such as NCCL's, may use the device meanwhile.
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            likelihood = self.by_calls(batch, scale)
        return Recording(graph, batch, scale, likelihood)
