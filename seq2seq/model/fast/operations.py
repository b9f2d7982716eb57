"""The operations that take most of the time of training, in plain PyTorch.

cpp.py and gpu.py compute the same numbers without intermediate arrays. Most results are written
into the caller's arrays, because large new arrays cost page faults.

"Wide" arrays are float32 (float64 in a float64 model); "narrow" ones have the type of the matrix
products that read them next, such as bfloat16. Row r of R = N x W belongs to sentence r // W.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2seq.data.vocabulary import PAD
from seq2seq.model.layers import to_float32


def fast_tanh_(x: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """Compute 2 sigmoid(2x) - 1 in place: six times as fast on a CPU, with an error of 1e-7."""
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
        """Take an LSTM step; write gates (i, f, g, o), cell state, and h both wide and narrow.

        ``inputs + product`` enters the gates. ``narrow`` may be a slice of wider rows.
        """
        torch.add(inputs.to(gates.dtype), product, out=gates)
        i, f, g, o = gates.chunk(4, dim=1)
        torch.mul(f.sigmoid_(), before, out=after).addcmul_(i.sigmoid_(), g.tanh_())
        torch.tanh(after, out=hidden).mul_(o.sigmoid_())
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
        """Replace the scores in ``weights`` by their softmax; write the context, also narrow."""
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
        torch.bmm(annotations, d_context[:, :, None], out=d_scores[:, :, None])
        d_scores.mul_(weights)
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
        d_vector: Float[Tensor, "B A"],
    ) -> None:
        """Write the gradient of the query; add to the gradients of keys and vector.

        At the end, the caller multiplies ``d_keys`` by ``vector`` and sums ``d_vector`` over B.
        """
        row = d_scores[:, None]
        if vector is None:
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
    ) -> Float[Tensor, "2"]:
        """Sums of -log p(target) and of the mean of -log p, for rows whose target is not PAD.

        With ``d_bias``, the narrow gradient of the logits overwrites ``logits``, and the bias's is
        added to ``d_bias``: both of scale * ((1 - smoothing) * first + smoothing * second).
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
            gradient -= factor * (smoothing / len(bias))
            gradient.scatter_add_(1, target, factor * (smoothing - 1))
            d_bias += gradient.sum(dim=0)
            logits.copy_(gradient)
        return torch.stack([likelihood, uniform])

    def likeliest(
        self, logits: Float[Tensor, "R V"], banned: Int[Tensor, "P"], count: int
    ) -> tuple[Float[Tensor, "R C"], Int[Tensor, "R C"]]:
        """Log-probabilities in nats and ids of the ``count`` likeliest pieces, best first.

        ``banned`` pieces are left out after the softmax: the others' probabilities do not rise.
        """
        log_sum = to_float32(logits).logsumexp(dim=1, keepdim=True)
        values, pieces = logits.index_fill_(1, banned, -torch.inf).topk(count, dim=1)
        return to_float32(values) - log_sum, pieces


PLAIN = Operations()
