"""The softmax layer and its loss in one operation, without the full logits."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from seq2seq.model.fast.compiled import choose_operations
from seq2seq.model.layers import matmul_dtype

CHUNK_CELLS, GPU_CHUNK_CELLS = 1 << 23, 1 << 27
"""Number of logits held at a time; on a GPU, each chunk costs a pass over the weight's gradient."""
WORD_BLOCK = 1 << 12
"""Number of words whose weight gradients are added at a time; all would need the most memory."""


class BatchLoss(NamedTuple):
    """Losses in nats, summed over the target pieces of a batch, including EOS but not padding.

    Training minimises the first, with label smoothing and ``scale``; the second has no gradient.
    """

    smoothed: Float[Tensor, ""]
    negative_log_likelihood: Float[Tensor, ""]


def output_loss(
    outputs: Float[Tensor, "N E"],
    weight: Float[Tensor, "V E"],
    bias: Float[Tensor, "V"],
    targets: Int[Tensor, "N"],
    smoothing: float,
    scale: float | Float[Tensor, ""] = 1.0,
) -> BatchLoss:
    """Softmax layer and :func:`seq2seq.training.loss.smoothed_cross_entropy`, in chunks of rows.

    Each chunk's gradient is computed right after its logits, so the N x V logits, which may be the
    largest array of all, never exist as a whole. Only products use the autocast type.
    """
    wanted = torch.is_grad_enabled()  # always False inside the operation
    return BatchLoss(*_OutputLoss.apply(wanted, outputs, weight, bias, targets, smoothing, scale))


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, wanted: bool, *given: Any) -> tuple[Tensor, Tensor]:
        outputs, weight, bias, targets, smoothing, scale = given
        product = matmul_dtype(outputs.device, outputs.dtype)
        operations = choose_operations(weight.device, product, weight.dtype)
        size = max(1, (GPU_CHUNK_CELLS if weight.is_cuda else CHUNK_CELLS) // len(weight))
        sums, d_outputs = weight.new_zeros(2), torch.empty_like(outputs)
        d_weight, d_bias = (torch.zeros_like(x) if wanted else None for x in (weight, bias))
        with torch.autocast(weight.device.type, enabled=False):
            rows, narrow_weight = outputs.to(product), weight.to(product)
            parts = zip(*(x.split(size) for x in (rows, targets, d_outputs)), strict=True)
            for chunk, chosen, d_chunk in parts:
                logits = chunk @ narrow_weight.t()
                sums += operations.softmax_loss(logits, bias, chosen, smoothing, scale, d_bias)
                if d_weight is not None:  # softmax_loss has replaced the logits by their gradient
                    d_chunk.copy_(logits @ narrow_weight)
                    for start in range(0, len(weight), WORD_BLOCK):
                        words = slice(start, start + WORD_BLOCK)
                        d_weight[words] += logits[:, words].t() @ chunk
        likelihood, uniform = sums
        ctx.save_for_backward(d_outputs, d_weight, d_bias)
        ctx.mark_non_differentiable(likelihood)
        return scale * ((1 - smoothing) * likelihood + smoothing * uniform), likelihood

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, incoming: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients = ctx.saved_tensors
        # Usually 1, because `scale` is applied already. On a GPU, the comparison takes longer.
        if incoming.device.type != "cpu" or incoming != 1:
            gradients = tuple(incoming * kept for kept in gradients)
        return None, *gradients, None, None, None
