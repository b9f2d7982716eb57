"""The operations that take most of the time of training, in plain PyTorch.

:class:`Operations` runs everywhere; cpp.py and gpu.py compute the same numbers without
intermediate arrays. Most results are written into the caller's arrays, because large new arrays
cost page faults.

"Wide" arrays are float32 (float64 in a float64 model); "narrow" ones have the type of the matrix
products that read them next, such as bfloat16. In search there are R = N x W rows, and row r
belongs to sentence r // W; in training R = N.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2seq.data.vocabulary import PAD
from seq2seq.model.layers import to_float32


class Extensions(NamedTuple):
    """Likeliest next pieces of hypotheses, and the best hypotheses that are one piece longer."""

    gained: Float[Tensor, "R C"]
    """Log-probabilities of the likeliest pieces after each hypothesis, in nats, best first."""
    pieces: Int[Tensor, "R C"]
    total: Float[Tensor, "N K"]
    """Log-probabilities of the best longer hypotheses of each sentence, in nats, best first."""
    rows: Int[Tensor, "N K"]
    """Row of the hypothesis that each longer hypothesis extends."""
    added: Int[Tensor, "N K"]
    """Piece that each longer hypothesis adds."""


class LossSums(NamedTuple):
    """The two parts of the loss, each summed over all rows to one number."""

    likelihood: Float[Tensor, ""]
    """Sum of -log p(target)."""
    uniform: Float[Tensor, ""]
    """Sum of each row's mean of -log p over the vocabulary."""


def fast_tanh_(x: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """Compute tanh(x) = 2 sigmoid(2x) - 1 in place; on a CPU six times as fast as PyTorch's tanh.

    The absolute error is about 1e-7; the results are only summed, so that it does no harm near 0.
    """
    if x.device.type != "cpu":
        return x.tanh_()
    return x.mul_(2).sigmoid_().mul_(2).sub_(1)


class Operations:
    """Plain PyTorch, for every device and type."""

    name = "torch"

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
        """Take an LSTM step (Hochreiter & Schmidhuber 1997); ``inputs + product`` enters the gates.

        Writes the gates after their non-linearities (ordered i, f, g, o), the new cell state, and
        the hidden state twice: wide, and narrow into what may be a slice of wider rows.
        """
        width = before.shape[1]
        torch.add(inputs.to(gates.dtype), product, out=gates)
        gates[:, : 2 * width].sigmoid_()
        gates[:, 2 * width : 3 * width].tanh_()
        gates[:, 3 * width :].sigmoid_()
        i, f, g, o = gates.chunk(4, dim=1)
        torch.mul(f, before, out=after).addcmul_(i, g)
        torch.tanh(after, out=hidden).mul_(o)
        narrow.copy_(hidden)

    def cell_backward(
        self,
        gates: Float[Tensor, "B G"],
        before: Float[Tensor, "B H"],
        after: Float[Tensor, "B H"],
        d_hidden: Float[Tensor, "B H"],
        d_cell: Float[Tensor, "B H"],
        d_gates: Float[Tensor, "B G"],
    ) -> None:
        """Write the narrow gradient of the gates before their non-linearities.

        The gradient of ``before`` replaces that of ``after`` (from the next step) in ``d_cell``.
        """
        i, f, g, o = gates.chunk(4, dim=1)
        tanh = after.tanh()
        d_cell.addcmul_(d_hidden * o, 1 - tanh * tanh)
        d_i, d_f, d_g, d_o = d_gates.chunk(4, dim=1)
        d_i.copy_(d_cell * g * i * (1 - i))
        d_f.copy_(d_cell * before * f * (1 - f))
        d_g.copy_(d_cell * i * (1 - g * g))
        d_o.copy_(d_hidden * tanh * o * (1 - o))
        d_cell.mul_(f)

    def attend(
        self,
        weights: Float[Tensor, "R S"],
        annotations: Float[Tensor, "N S M"],
        context: Float[Tensor, "R M"],
        narrow: Float[Tensor, "R M"],
    ) -> None:
        """Replace the scores in ``weights`` by their softmax; write the context, wide and narrow.

        A score of minus infinity excludes its position. ``narrow`` may be ``context`` itself.
        """
        by_sentence = (len(annotations), -1)
        weights.copy_(weights.softmax(dim=1))
        torch.bmm(
            weights.unflatten(0, by_sentence), annotations, out=context.unflatten(0, by_sentence)
        )
        narrow.copy_(context)

    def attend_backward(
        self,
        d_context: Float[Tensor, "B M"],
        weights: Float[Tensor, "B S"],
        annotations: Float[Tensor, "B S M"],
        d_scores: Float[Tensor, "B S"],
    ) -> None:
        """Write the gradient of the scores, from the gradient of the context."""
        torch.bmm(annotations, d_context[:, :, None], out=d_scores[:, :, None]).mul_(
            weights[:, :, None]
        )
        d_scores.sub_(weights * d_scores.sum(dim=1, keepdim=True))

    def scores(
        self,
        keys: Float[Tensor, "N S A"],
        query: Float[Tensor, "R A"],
        vector: Float[Tensor, "A"] | None,
        mask: Bool[Tensor, "N S"],
        scores: Float[Tensor, "R S"],
    ) -> None:
        """Write v . tanh(k_j + q) or, without ``vector``, k_j . q; minus infinity at padding."""
        by_sentence = (len(keys), -1)
        queries = query.unflatten(0, by_sentence)
        if vector is None:
            torch.bmm(queries, keys.transpose(1, 2), out=scores.unflatten(0, by_sentence))
        else:
            tanh = fast_tanh_(keys[:, None] + queries[:, :, None])
            torch.matmul(tanh.flatten(0, 1), vector, out=scores)
        scores.unflatten(0, by_sentence).masked_fill_(~mask[:, None], float("-inf"))

    def scores_backward(
        self,
        keys: Float[Tensor, "B S A"],
        query: Float[Tensor, "B A"],
        vector: Float[Tensor, "A"] | None,
        d_scores: Float[Tensor, "B S"],
        d_query: Float[Tensor, "B A"],
        d_keys: Float[Tensor, "B S A"],
        d_vector: Float[Tensor, "B A"] | None,
    ) -> None:
        """Write the gradient of the query; add to the gradients of keys and vector.

        With ``vector``, the caller, after its loop over target positions, still has to multiply
        ``d_keys`` by ``vector`` and to sum ``d_vector`` over sentences.
        """
        row = d_scores[:, None]
        if vector is None or d_vector is None:
            torch.bmm(row, keys, out=d_query[:, None])
            d_keys.baddbmm_(d_scores[:, :, None], query[:, None])
            return
        tanh = fast_tanh_(keys + query[:, None])
        d_vector.add_(torch.bmm(row, tanh)[:, 0])
        # In place: no second array of this size.
        slope = torch.addcmul(vector.new_ones(()), tanh, tanh, value=-1, out=tanh)
        torch.bmm(row, slope, out=d_query[:, None]).mul_(vector)
        d_keys.addcmul_(slope, d_scores[:, :, None])

    def softmax_loss(
        self,
        logits: Float[Tensor, "N V"],
        bias: Float[Tensor, "V"],
        targets: Int[Tensor, "N"],
        smoothing: float,
        scale: float | Float[Tensor, ""],
        d_bias: Float[Tensor, "V"] | None,
    ) -> LossSums:
        """Cross entropy of ``logits + bias`` in two parts; rows whose target is PAD do not count.

        With ``d_bias``, the narrow gradient of the logits overwrites ``logits``, and the bias's is
        added to ``d_bias``: gradients of the sum over rows of scale * ((1 - smoothing) * likelihood
        + smoothing * uniform).
        """
        wide, target = bias + logits, targets[:, None]
        counted = (target != PAD).to(wide.dtype)
        log_sum = wide.logsumexp(dim=1, keepdim=True)
        likelihood = (counted * (log_sum - wide.gather(1, target))).sum()
        uniform = (counted * (log_sum - wide.mean(dim=1, keepdim=True))).sum()
        if d_bias is not None:
            factor = scale * counted
            # exp(x - log_sum) * factor; with the factor inside the exponent, one pass is saved
            gradient = wide.sub_(log_sum - factor.log()).exp_()
            if smoothing:
                gradient -= factor * (smoothing / len(bias))
            gradient.scatter_add_(1, target, factor * (smoothing - 1))
            d_bias += gradient.sum(dim=0)
            logits.copy_(gradient)
        return LossSums(likelihood, uniform)

    def likeliest(
        self, logits: Float[Tensor, "R V"], banned: Int[Tensor, "P"], count: int
    ) -> tuple[Float[Tensor, "R C"], Int[Tensor, "R C"]]:
        """Log-probabilities in nats and ids of the ``count`` likeliest pieces, best first.

        The logits of ``banned`` pieces become minus infinity after the softmax's sum is computed,
        so the probabilities of other pieces do not rise.
        """
        log_sum = to_float32(logits).logsumexp(dim=1, keepdim=True)
        values, pieces = logits.index_fill_(1, banned, -torch.inf).topk(count, dim=1)
        return to_float32(values) - log_sum, pieces

    def extend(
        self,
        logits: Float[Tensor, "R V"],
        banned: Int[Tensor, "P"],
        total: Float[Tensor, "N W"],
        beam: int,
        count: int,
    ) -> Extensions:
        """Extend hypotheses of log-probabilities ``total`` by one piece; keep the ``beam`` best.

        Of equal ones, the extension of the lower hypothesis comes first. ``count`` must be at least
        ``min(beam, V)``.
        """
        gained, pieces = self.likeliest(logits, banned, count)
        near = min(beam, count)  # the best of a sentence are among the best of each hypothesis
        extended = (total[:, :, None] + gained[:, :near].unflatten(0, total.shape)).flatten(1)
        ranked = extended.sort(dim=1, descending=True, stable=True)
        best, index = ranked.values[:, :beam], ranked.indices[:, :beam]
        first = torch.arange(0, len(logits), total.shape[1], device=logits.device)
        added = pieces[:, :near].reshape(len(total), -1).gather(1, index)
        return Extensions(gained, pieces, best, first[:, None] + index // near, added)


def dense(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Return the arrays; ValueError unless each is contiguous."""
    if not all(array.is_contiguous() for array in arrays):
        raise ValueError("an operation needs dense arrays")
    return arrays


def row_stride(array: Float[Tensor, "R X"]) -> int:
    """Number of elements from one row to the next; ValueError unless each row is contiguous."""
    if array.stride(1) != 1:
        raise ValueError("an operation needs dense rows")
    return array.stride(0)
