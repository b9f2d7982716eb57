"""Batches of pairs of similar length; seed and epoch decide which pairs they hold, and their order.

The shuffled pairs are divided into large chunks, each chunk is sorted into batches of similar
source *and* target length, and the batches of all chunks are shuffled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int, Int32, Int64, Integer, Shaped
from torch import Tensor
from torch.nn import functional

from seq2seq.data.encoding import EncodedPairs
from seq2seq.data.vocabulary import BOS, EOS, PAD

CHUNK_BATCHES = 200
"""Approximate number of batches in a chunk; a larger one means less padding and less randomness."""


class Batch(NamedTuple):
    """B pairs as int64 matrices, padded with PAD to S source ids and T target ids in each row."""

    source: Int[Tensor, "B S"]
    """Source ids, EOS included."""
    source_lengths: Int[Tensor, "B"]
    target_input: Int[Tensor, "B T"]
    """BOS and the target ids."""
    target_output: Int[Tensor, "B T"]
    """The target ids and EOS, which the decoder should predict."""
    target_cells: Int[Tensor, "N"]
    """Indices in the flattened ``target_output``: of ids, and after :meth:`padded` of all cells."""

    def to(self, device: torch.device | str) -> "Batch":
        """Copy the batch to ``device``."""
        pin = torch.device(device).type == "cuda" and not self.source.is_cuda
        held = (tensor.pin_memory() if pin else tensor for tensor in self)  # the CPU need not wait
        return Batch(*(tensor.to(device, non_blocking=True) for tensor in held))

    def padded(self) -> "Batch":
        """Return this batch with more rows and padding, so that few shapes occur, as a GPU likes.

        Rows and widths grow by less than 25 %. The source of an added row is one PAD.
        """
        added = _rounded(len(self.source)) - len(self.source)

        def pad(ids: Int[Tensor, "B L"]) -> Int[Tensor, "C W"]:
            width = ids.shape[1]
            return functional.pad(ids, (0, _rounded(width) - width, 0, added), value=PAD)

        target_output = pad(self.target_output)
        return Batch(
            source=pad(self.source),
            source_lengths=functional.pad(self.source_lengths, (0, added), value=1),
            target_input=pad(self.target_input),
            target_output=target_output,
            target_cells=torch.arange(target_output.numel()),
        )

    def at_targets(self, cells: Shaped[Tensor, "B T *rest"]) -> Shaped[Tensor, "N *rest"]:
        """Select the entries of ``cells`` at the indices ``target_cells``, row by row."""
        return cells.flatten(0, 1).index_select(0, self.target_cells)


def _rounded(size: int) -> int:
    """Round up to one of the sizes 1, 2, ..., 8, 10, 12, 14, 16, 20, ...; four per doubling."""
    step = 1 << max(0, size.bit_length() - 3)
    return -(-size // step) * step


def collate(pairs: EncodedPairs, indices: Int[np.ndarray, "B"] | Sequence[int]) -> Batch:
    """Collect the pairs at ``indices``, in this order, in one padded batch."""
    chosen = np.asarray(indices)
    source, source_lengths = _padded(pairs.source_ids, pairs.source_offsets, chosen)
    target, lengths = _padded(pairs.target_ids, pairs.target_offsets, chosen)
    output = np.pad(target, ((0, 0), (0, 1)), constant_values=PAD)
    output[np.arange(len(output)), lengths] = EOS
    real = np.arange(output.shape[1]) <= lengths[:, None]
    return Batch(
        source=torch.from_numpy(source),
        source_lengths=torch.from_numpy(source_lengths),
        target_input=torch.from_numpy(np.pad(target, ((0, 0), (1, 0)), constant_values=BOS)),
        target_output=torch.from_numpy(output),
        target_cells=torch.from_numpy(np.flatnonzero(real)),
    )


def _padded(
    ids: Integer[np.ndarray, "X"], offsets: Int64[np.ndarray, "N1"], chosen: Int[np.ndarray, "B"]
) -> tuple[Int64[np.ndarray, "B L"], Int64[np.ndarray, "B"]]:
    """Return the sentences ``chosen`` of a flat array as a padded matrix, and their lengths."""
    starts = offsets[chosen]
    lengths = offsets[chosen + 1] - starts
    columns = np.arange(lengths.max())
    real = columns < lengths[:, None]
    matrix = np.full(real.shape, PAD, np.int64)
    matrix[real] = ids[(starts[:, None] + columns)[real]]
    return matrix, lengths


@dataclass
class BatchPlan:
    """Divides pairs into batches of at most ``batch_size``; each epoch has each pair once.

    Without ``shuffle``, every epoch has the same batches, those with short sources first.
    """

    pairs: EncodedPairs
    batch_size: int
    seed: int
    shuffle: bool = True

    def epoch(self, number: int) -> list[Int32[np.ndarray, "_"]]:
        """Return the batches of an epoch as arrays of pair indices, the same in each call."""
        order = np.arange(len(self.pairs), dtype=np.int32)
        if not self.shuffle:
            return self._batches(order, fineness=1.0)
        random = np.random.default_rng([self.seed, number])
        random.shuffle(order)
        batches = []
        for chunk in self._split(order, len(order) / (self.batch_size * CHUNK_BATCHES)):
            # The number of bands is random. With a fixed number, a corpus of one chunk would be cut
            # in the same way in every epoch.
            batches += self._batches(chunk, fineness=random.uniform(0.75, 1.33))
        return [batches[i] for i in random.permutation(len(batches))]

    def _batches(
        self, chunk: Int32[np.ndarray, "n"], fineness: float
    ) -> list[Int32[np.ndarray, "_"]]:
        """Sort a chunk into bands by source length, a band by target length; cut into batches."""
        by_source = chunk[np.argsort(self.pairs.source_lengths[chunk], kind="stable")]
        # With fineness 1, the number of bands equals the number of batches in each band.
        bands = self._split(by_source, fineness * np.sqrt(len(chunk) / self.batch_size))
        for i, band in enumerate(bands):
            # Target lengths rise in one band and fall in the next. So a batch at the border of two
            # bands has targets of similar length.
            key = self.pairs.target_lengths[band] * (1 if i % 2 == 0 else -1)
            bands[i] = band[np.argsort(key, kind="stable")]
        return np.split(np.concatenate(bands), range(self.batch_size, len(chunk), self.batch_size))

    def _split(self, order: Int32[np.ndarray, "n"], parts: float) -> list[Int32[np.ndarray, "_"]]:
        """Split into about ``parts`` parts of similar size, in whole batches but for the last."""
        step, count = self.batch_size, max(1, round(parts))
        return np.split(
            order, [step * round(len(order) * i / count / step) for i in range(1, count)]
        )
