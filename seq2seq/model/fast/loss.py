"""The softmax layer and its loss in one operation, without the full logits."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from seq2seq.model.fast.choose import choose_operations
from seq2seq.model.layers import matmul_dtype

CHUNK_CELLS = 1 << 23
"""Number of logits held at a time on a CPU: 16 MB in bfloat16. More are not faster."""
GPU_CHUNK_CELLS = 1 << 27
"""Number of logits held at a time on a GPU, where each chunk costs kernel launches and a pass over
the weight's gradient."""
WORD_BLOCK = 1 << 12
"""Number of words whose weight gradients are added at a time. For all words together, a chunk's
gradient would be as large as the weight, and would determine the peak memory of an update."""


class BatchLoss(NamedTuple):
    """Losses, summed over the target pieces of a batch, including EOS but not padding."""

    smoothed: Float[Tensor, ""]
    """Label-smoothed loss times ``scale``, in nats; training minimises it."""
    negative_log_likelihood: Float[Tensor, ""]
    """Unscaled sum in nats, without a gradient. The perplexity is exp of its mean per token."""


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
    product = matmul_dtype(outputs.device, outputs.dtype)
    wanted = torch.is_grad_enabled()  # always False inside the operation
    settings = smoothing, scale, product, wanted
    return BatchLoss(*_OutputLoss.apply(outputs, weight, bias, targets, settings))


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *given: Any) -> tuple[Tensor, Tensor]:
        outputs, weight, bias, targets, settings = given
        smoothing, scale, product, wanted = settings
        vocabulary = len(weight)
        cells = GPU_CHUNK_CELLS if weight.is_cuda else CHUNK_CELLS
        kernels = choose_operations(weight.device, weight.dtype, product)
        likelihood, uniform = weight.new_zeros(()), weight.new_zeros(())
        d_outputs = torch.empty_like(outputs) if wanted else None
        d_weight = torch.zeros_like(weight) if wanted else None
        d_bias = torch.zeros_like(bias) if wanted else None
        with torch.autocast(weight.device.type, enabled=False):
            rows, narrow_weight = outputs.to(product), weight.to(product)
            size = max(1, cells // vocabulary)
            for part in range(0, len(rows), size):
                chunk = rows[part : part + size]
                logits = chunk @ narrow_weight.t()
                sums = kernels.softmax_loss(
                    logits, bias, targets[part : part + size], smoothing, scale, d_bias
                )
                likelihood += sums.likelihood
                uniform += sums.uniform
                if d_outputs is not None and d_weight is not None:
                    # softmax_loss has replaced the logits by their gradient.
                    d_outputs[part : part + size] = logits @ narrow_weight
                    for words in range(0, vocabulary, WORD_BLOCK):
                        block = slice(words, words + WORD_BLOCK)
                        d_weight[block] += logits[:, block].t() @ chunk
        smoothed = scale * ((1 - smoothing) * likelihood + smoothing * uniform)
        if wanted:
            ctx.save_for_backward(d_outputs, d_weight, d_bias)
        ctx.mark_non_differentiable(likelihood)
        return smoothed, likelihood

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, incoming: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients = ctx.saved_tensors
        # The incoming gradient is usually 1, because `scale` is applied already. A CPU then skips a
        # pass over arrays as large as the weight. On a GPU, the comparison takes longer.
        if incoming.device.type != "cpu" or incoming != 1:
            gradients = tuple(incoming * kept for kept in gradients)
        return *gradients, None, None
