"""Gradients of batches; on a GPU, from recorded CUDA graphs.

A CUDA graph is a list of operations that one call starts, faster than Python starts them one by
one. It works on the arrays of its recording, so batches are padded to few shapes. The second use of
a shape is recorded: the first compiles code and reserves memory, which no graph may contain.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.data.batching import Batch
from seq2seq.device import mixed_precision
from seq2seq.model.translation import TranslationModel
from seq2seq.training.loss import batch_loss

MOST_RECORDINGS = 128
"""Greatest number of shapes to record; for others, Python starts each operation."""


class Recording(NamedTuple):
    """A CUDA graph, the arrays that it reads, and the array that it writes the likelihood to."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    scale: Float[Tensor, ""]
    likelihood: Float[Tensor, ""]


@dataclass
class GradientStep:
    """Adds gradients of batches to those that the model's parameters hold."""

    model: TranslationModel
    device: torch.device
    precision: torch.dtype
    smoothing: float

    def __post_init__(self) -> None:
        self._seen: set[tuple[int, ...]] = set()
        self._recordings: dict[tuple[int, ...], Recording] = {}
        self._pool = torch.cuda.graph_pool_handle() if self.device.type == "cuda" else None

    def add(self, batch: Batch, scale: float) -> Float[Tensor, ""]:
        """Add the gradient of the loss; return the negative log-likelihood, which is not scaled."""
        if self.device.type != "cuda":
            return self.add_eagerly(batch, scale)
        padded = batch.padded()
        shape = (*padded.source.shape, *padded.target_input.shape)
        recording = self._recordings.get(shape)
        if recording is None:
            on_device, factor = padded.to(self.device), torch.tensor(scale, device=self.device)
            if shape not in self._seen or len(self._recordings) >= MOST_RECORDINGS:
                self._seen.add(shape)
                return self.add_eagerly(on_device, factor)
            recording = self._recordings[shape] = self._record(on_device, factor)
        for kept, new in zip(recording.batch[:4], padded[:4], strict=True):  # the ids and lengths
            kept.copy_(new.pin_memory(), non_blocking=True)
        recording.scale.fill_(scale)
        recording.graph.replay()
        return recording.likelihood.clone()

    def add_eagerly(self, batch: Batch, scale: float | Float[Tensor, ""]) -> Float[Tensor, ""]:
        """Do what :meth:`add` does, but start each operation from Python."""
        on_device = batch.to(self.device)
        with mixed_precision(self.device, self.precision):
            loss = batch_loss(self.model, on_device, self.smoothing, scale)
        loss.smoothed.backward()
        return loss.negative_log_likelihood

    def _record(self, batch: Batch, scale: Float[Tensor, ""]) -> Recording:
        graph = torch.cuda.CUDAGraph()
        # All graphs take their memory from one pool, as only one of them runs at a time. Other
        # threads, such as NCCL's, may use the device meanwhile.
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            likelihood = self.add_eagerly(batch, scale)
        return Recording(graph, batch, scale, likelihood)
