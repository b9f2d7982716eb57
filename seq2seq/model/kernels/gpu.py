"""The kernels for a GPU: launches the programs of programs.py, and finds out whether they run."""

import functools
import logging
from types import ModuleType

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2seq.model.kernels.operations import LossSums, TorchKernels, rows_of_each

log = logging.getLogger(__name__)


class TritonKernels(TorchKernels):
    """Float32 on the current CUDA device: each operation one or two launches.

    No method waits for the device, so all can be captured in a CUDA graph. A batch has fewer
    sentences than a GPU has multiprocessors: each sentence is divided among several programs, by
    columns or by source positions.
    """

    name = "triton"

    def __init__(self, programs: ModuleType) -> None:
        self.programs = programs

    def cell(
        self,
        inputs: Float[Tensor, "B G"],
        product: Float[Tensor, "B G"],
        before: Float[Tensor, "B H"],
        gates: Float[Tensor, "B G"],
        after: Float[Tensor, "B H"],
        hidden: Float[Tensor, "B H"],
        narrow: Float[Tensor, "B H"],
    ) -> None:
        """See :meth:`TorchKernels.cell`."""
        _require_dense(inputs, product, before, gates, after, hidden)
        _require_dense_rows(narrow)
        batch, width = before.shape
        self.programs.cell[batch, _blocks(width, 128)](
            inputs,
            product,
            before,
            gates,
            after,
            hidden,
            narrow,
            narrow.stride(0),
            width,
            BLOCK=128,
        )

    def cell_backward(
        self,
        gates: Float[Tensor, "B G"],
        before: Float[Tensor, "B H"],
        after: Float[Tensor, "B H"],
        d_hidden: Float[Tensor, "B H"],
        d_cell: Float[Tensor, "B H"],
        d_gates: Float[Tensor, "B G"],
    ) -> None:
        """See :meth:`TorchKernels.cell_backward`."""
        _require_dense(gates, before, after, d_hidden, d_cell, d_gates)
        batch, width = before.shape
        self.programs.cell_backward[batch, _blocks(width, 128)](
            gates, before, after, d_hidden, d_cell, d_gates, width, BLOCK=128
        )

    def attend(
        self,
        weights: Float[Tensor, "R S"],
        memory: Float[Tensor, "N S M"],
        context: Float[Tensor, "R M"],
        narrow: Float[Tensor, "R M"],
    ) -> None:
        """See :meth:`TorchKernels.attend`.

        The softmax is a launch of its own: a program that overwrote scores with weights would race
        with those that still read the scores for other columns.
        """
        _require_dense(weights, memory, context)
        _require_dense_rows(narrow)
        rows, (sentences, positions, width) = len(weights), memory.shape
        self.programs.softmax[rows,](weights, positions, BLOCK=128, num_warps=1)
        self.programs.weighted_sum[rows, _blocks(width, 128)](
            weights,
            memory,
            context,
            narrow,
            narrow.stride(0),
            rows_of_each(weights, sentences),
            positions,
            width,
            BLOCK_S=8,
            BLOCK=128,
        )

    def attend_backward(
        self,
        d_context: Float[Tensor, "B M"],
        weights: Float[Tensor, "B S"],
        memory: Float[Tensor, "B S M"],
        d_scores: Float[Tensor, "B S"],
    ) -> None:
        """See :meth:`TorchKernels.attend_backward`."""
        _require_dense(d_context, weights, memory, d_scores)
        batch, positions, width = memory.shape
        self.programs.memory_products[batch, _blocks(positions, 4)](
            d_context, weights, memory, d_scores, positions, width, BLOCK_S=4, BLOCK=256
        )
        self.programs.softmax_backward[batch,](weights, d_scores, positions, BLOCK=128, num_warps=1)

    def additive_scores(
        self,
        keys: Float[Tensor, "N S A"],
        query: Float[Tensor, "R A"],
        vector: Float[Tensor, "A"],
        mask: Bool[Tensor, "N S"],
        scores: Float[Tensor, "R S"],
    ) -> None:
        """See :meth:`TorchKernels.additive_scores`."""
        _require_dense(keys, query, vector, mask, scores)
        rows, (sentences, positions, width) = len(query), keys.shape
        self.programs.additive_scores[rows, _blocks(positions, 4)](
            keys,
            query,
            vector,
            mask,
            scores,
            rows_of_each(query, sentences),
            positions,
            width,
            BLOCK_S=4,
            BLOCK=256,
        )

    def additive_scores_backward(
        self,
        keys: Float[Tensor, "B S A"],
        query: Float[Tensor, "B A"],
        vector: Float[Tensor, "A"],
        d_scores: Float[Tensor, "B S"],
        d_query: Float[Tensor, "B A"],
        d_keys: Float[Tensor, "B S A"],
        d_vector: Float[Tensor, "B A"],
    ) -> None:
        """See :meth:`TorchKernels.additive_scores_backward`."""
        _require_dense(keys, query, vector, d_scores, d_query, d_keys, d_vector)
        batch, positions, width = keys.shape
        self.programs.additive_scores_backward[batch, _blocks(width, 64)](
            keys,
            query,
            vector,
            d_scores,
            d_query,
            d_keys,
            d_vector,
            positions,
            width,
            BLOCK_S=8,
            BLOCK=64,
        )

    def softmax_loss(
        self,
        logits: Float[Tensor, "N V"],
        bias: Float[Tensor, "V"],
        targets: Int[Tensor, "N"],
        smoothing: float,
        scale: float,
        d_bias: Float[Tensor, "V"] | None,
    ) -> LossSums:
        """See :meth:`TorchKernels.softmax_loss`.

        A target outside the vocabulary makes the loss NaN: to raise an error would mean to wait.
        """
        _require_dense(logits, bias, targets)
        rows, words = logits.shape
        results = bias.new_empty(4, rows)
        if rows:
            self.programs.row_losses[rows,](
                logits, bias, targets, results, rows, words, BLOCK=4096, num_warps=8
            )
        if rows and d_bias is not None:
            _require_dense(d_bias)
            self.programs.row_gradients[_blocks(words, 64),](
                logits,
                bias,
                targets,
                results,
                d_bias,
                smoothing,
                scale,
                rows,
                words,
                BLOCK_N=32,
                BLOCK=64,
                num_warps=8,
            )
        likelihood, uniform = results[:2].sum(dim=1)
        return LossSums(likelihood, uniform)


@functools.cache
def load_triton() -> TritonKernels | None:
    """The kernels for the current CUDA device; None, with a line in the log, where they fail."""
    if torch.cuda.get_device_capability() < (8, 0):  # Triton's own limit
        log.info("The GPU is too old for Triton: plain PyTorch operations are used on it.")
        return None
    try:
        from seq2seq.model.kernels import programs

        kernels = TritonKernels(programs)
        try_out(kernels, torch.device("cuda"))
        torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        raise
    except ImportError:
        log.info("Triton is not installed: plain PyTorch operations are used on the GPU.")
        return None
    except Exception as error:  # of many types: no C compiler, an old Triton or driver, a full disk
        log.warning(
            "The Triton kernels do not run here, plain PyTorch operations are used instead: %s",
            str(error).strip().split("\n")[0] or type(error).__name__,
        )
        return None
    return kernels


def try_out(kernels: TritonKernels, device: torch.device) -> None:
    """Compile and run those that together need all that the others do, on a number or two."""
    one, gates = torch.zeros(1, 1, device=device), torch.zeros(1, 4, device=device)
    narrow = torch.zeros(1, 1, dtype=torch.bfloat16, device=device)
    kernels.cell(gates, gates, one, gates.clone(), one.clone(), one.clone(), narrow)
    real = torch.ones(1, 1, dtype=torch.bool, device=device)
    kernels.additive_scores(one[None], one, one[0], real, one.clone())
    kernels.attend_backward(one, one, one[None], one.clone())
    target = torch.zeros(1, dtype=torch.long, device=device)
    kernels.softmax_loss(narrow.clone(), one[0], target, 0.1, 1.0, one[0].clone())


def _blocks(size: int, block: int) -> int:
    return -(-size // block)


def _require_dense(*arrays: Tensor) -> None:
    for array in arrays:
        if not array.is_contiguous():
            raise ValueError("a kernel was given an array that is not contiguous")


def _require_dense_rows(array: Tensor) -> None:
    if array.stride(1) != 1:
        raise ValueError("a kernel was given rows that are not contiguous")
