r"""The decoder's recurrence over a whole target as one differentiable operation.

PyTorch's autograd would tape a dozen small operations per target step, keep a (B, S, A) array for
each, and add up every weight gradient step by step. Here the steps run without a tape and keep
only what the way back needs; (B, S, A) arrays are recomputed; and each weight's gradient is one
large product after the loop. Same numbers as the taped loop of :class:`Decoder`, which remains as
the readable reference (``model.decoder.recurrence=reference``) and as the test's oracle.

With :math:`z_t = [c_t; s_{t-1}]` and :math:`X_t = W_x E y_{t-1} + b` computed before the loop, a
step is

.. math::
    q_t = W_a s_{t-1}, \quad e_{tj} = v \cdot \tanh(k_j + q_t), \quad a_t = softmax(e_t), \quad
    c_t = \sum_j a_{tj} h_j, \quad s_t = cell(X_t + W z_t)

Back through it, with :math:`P = \tanh(k_j + q_t)` and :math:`\bar x` the gradient of x:

.. math::
    [\bar c_t; \bar s_{t-1}] = \bar g_t W, \quad \bar a_{tj} = \bar c_t \cdot h_j, \quad
    \bar e_t = a_t (\bar a_t - \langle a_t, \bar a_t \rangle), \quad
    \bar q_t = v \sum_j \bar e_{tj} (1 - P^2), \quad \bar k_j = v \sum_t \bar e_{tj} (1 - P^2)

Matrix products use the autocast type where autocast is on; states, softmax, and all sums over
source positions or steps stay in float32 (float64 for float64 parameters).
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class AlignmentInput(NamedTuple):
    """What an additive alignment needs in every step."""

    keys: Float[Tensor, "B S A"]
    memory: Float[Tensor, "B S M"]
    mask: Bool[Tensor, "B S"]
    query_weight: Float[Tensor, "A H"]
    score: Float[Tensor, "A"]


class Scan(NamedTuple):
    """The recurrence's results, time first."""

    hidden: Float[Tensor, "T B H"]
    context: Float[Tensor, "T B M"]
    weights: Float[Tensor, "T B S"]
    """Carry no gradient."""


def attention_scan(
    inputs: Float[Tensor, "T B G"],
    hidden: Float[Tensor, "B H"],
    cell: Float[Tensor, "B H"],
    weight: Float[Tensor, "G Z"],
    alignment: AlignmentInput,
) -> Scan:
    """Run an LSTM that attends additively before each step.

    Args:
        inputs: X_t, the part of the gates that depends on the known target only.
        hidden: s_0.
        cell: the cell state that goes with it.
        weight: W, over Z = M + H columns [context; state].
        alignment: the alignment model and what it aligns with.
    """
    product = _product_type(inputs.device, hidden.dtype)
    return Scan(*_AttentionScan.apply(product, inputs, hidden, cell, weight, *alignment))


def plain_scan(
    inputs: Float[Tensor, "T B G"],
    hidden: Float[Tensor, "B H"],
    cell: Float[Tensor, "B H"],
    weight: Float[Tensor, "G H"],
) -> Float[Tensor, "T B H"]:
    """Run an LSTM whose inputs are all known: for a context that is the same at every step.

    Returns the hidden states s_1 ... s_T.
    """
    product = _product_type(inputs.device, hidden.dtype)
    return _PlainScan.apply(product, inputs, hidden, cell, weight)


def _product_type(device: torch.device, usual: torch.dtype) -> torch.dtype:
    """The type of matrix products: autocast's where it is on."""
    enabled = torch.is_autocast_enabled(device.type)
    return torch.get_autocast_dtype(device.type) if enabled else usual


class _CellTape:
    """The LSTM cell over all steps, and what of it the way back needs."""

    def __init__(self, steps: int, hidden: Tensor, cell: Tensor) -> None:
        batch, width = hidden.shape
        self.width = width
        self.gates = hidden.new_empty(steps, batch, 4 * width)  # after their non-linearities
        self.hidden = hidden.new_empty(steps + 1, batch, width)
        self.cell = hidden.new_empty(steps + 1, batch, width)
        self.hidden[0], self.cell[0] = hidden, cell

    def step(self, t: int, inputs: Tensor, product: Tensor) -> None:
        """s_t and its cell from the two parts of the gates (ordered i, f, g, o)."""
        gates, h = self.gates[t], self.width
        torch.add(inputs, product, out=gates)
        gates[:, : 2 * h].sigmoid_()
        gates[:, 2 * h : 3 * h].tanh_()
        gates[:, 3 * h :].sigmoid_()
        i, f, g, o = gates.chunk(4, dim=1)
        cell = torch.mul(f, self.cell[t], out=self.cell[t + 1]).addcmul_(i, g)
        torch.tanh(cell, out=self.hidden[t + 1]).mul_(o)


def _cell_backward(
    gates: Tensor, before: Tensor, after: Tensor, d_hidden: Tensor, d_cell: Tensor, d_gates: Tensor
) -> Tensor:
    """Write the gradient of the gates (before their non-linearities); return that of ``before``.

    ``before`` and ``after`` are the cell state around the step, ``d_cell`` the gradient that comes
    from the step after.
    """
    i, f, g, o = gates.chunk(4, dim=1)
    d_i, d_f, d_g, d_o = d_gates.chunk(4, dim=1)
    tanh = after.tanh()
    d_cell = d_cell + d_hidden * o * (1 - tanh * tanh)
    torch.mul(d_cell, g, out=d_i)
    torch.mul(d_cell, before, out=d_f)
    torch.mul(d_cell, i, out=d_g).mul_(1 - g * g)
    torch.mul(d_hidden, tanh, out=d_o)
    for gate, gradient in ((i, d_i), (f, d_f), (o, d_o)):
        gradient.mul_(gate).mul_(1 - gate)
    return d_cell * f


class _PlainScan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, product: torch.dtype, inputs: Tensor, hidden: Tensor, cell: Tensor, weight: Tensor
    ) -> Tensor:
        steps = len(inputs)
        with torch.autocast(inputs.device.type, enabled=False):
            tape = _CellTape(steps, hidden, cell)
            across = weight.to(product).t()
            for t in range(steps):
                tape.step(t, inputs[t], tape.hidden[t].to(product) @ across)
        ctx.product = product
        ctx.save_for_backward(weight, tape.gates, tape.hidden, tape.cell)
        return tape.hidden[1:]

    @staticmethod
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor | None, ...]:
        weight, gates, hidden, cell = ctx.saved_tensors
        product = ctx.product
        with torch.autocast(gates.device.type, enabled=False):
            across = weight.to(product)
            d_gates = torch.empty_like(gates)
            d_cell, d_hidden = torch.zeros_like(cell[0]), torch.zeros_like(cell[0])
            for t in reversed(range(len(gates))):
                d_hidden = d_hidden + d_output[t]
                d_cell = _cell_backward(
                    gates[t], cell[t], cell[t + 1], d_hidden, d_cell, d_gates[t]
                )
                d_hidden = (d_gates[t].to(product) @ across).to(gates.dtype)
            flat = d_gates.to(product)
            d_weight = flat.flatten(0, 1).t() @ hidden[:-1].to(product).flatten(0, 1)
        return None, flat, d_hidden, d_cell, d_weight.to(weight.dtype)


class _AttentionScan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        product: torch.dtype,
        inputs: Tensor,
        hidden: Tensor,
        cell: Tensor,
        weight: Tensor,
        keys: Tensor,
        memory: Tensor,
        mask: Tensor,
        query_weight: Tensor,
        score: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        steps, (batch, positions, width) = len(inputs), memory.shape
        with torch.autocast(inputs.device.type, enabled=False):
            tape = _CellTape(steps, hidden, cell)
            queries = keys.new_empty(steps, batch, len(score))
            weights = keys.new_empty(steps, batch, positions)
            contexts = memory.new_empty(steps, batch, width)
            joined = torch.empty(steps, batch, weight.shape[1], dtype=product, device=memory.device)
            across, ask = weight.to(product).t(), query_weight.to(product).t()
            excluded = torch.zeros_like(weights[0]).masked_fill_(~mask, float("-inf"))
            hyperbolic = torch.empty_like(keys)
            for t in range(steps):
                joined[t, :, width:] = tape.hidden[t]
                queries[t] = joined[t, :, width:] @ ask
                torch.add(keys, queries[t, :, None], out=hyperbolic).tanh_()
                scores = (hyperbolic @ score).add_(excluded)
                torch.softmax(scores, dim=1, out=weights[t])
                torch.bmm(weights[t, :, None], memory, out=contexts[t, :, None])
                joined[t, :, :width] = contexts[t]
                tape.step(t, inputs[t], joined[t] @ across)
        ctx.product = product
        ctx.mark_non_differentiable(weights)
        ctx.save_for_backward(
            weight,
            keys,
            memory,
            query_weight,
            score,
            queries,
            weights,
            joined,
            tape.gates,
            tape.cell,
        )
        return tape.hidden[1:], contexts, weights

    @staticmethod
    def backward(
        ctx: Any, d_output: Tensor, d_contexts: Tensor, _: Tensor
    ) -> tuple[Tensor | None, ...]:
        weight, keys, memory, query_weight, score, queries, weights, joined, *tape = (
            ctx.saved_tensors
        )
        gates, cell = tape
        product, steps, width = ctx.product, len(gates), memory.shape[2]
        with torch.autocast(gates.device.type, enabled=False):
            across, ask = weight.to(product), query_weight.to(product)
            d_gates, d_queries = torch.empty_like(gates), torch.empty_like(queries)
            d_context_all = d_contexts.clone()
            d_cell, d_hidden = torch.zeros_like(cell[0]), torch.zeros_like(cell[0])
            # d_keys = v * (sum of d_scores - sum of d_scores P^2): the sums first, v after the loop
            score_sum = torch.zeros_like(weights[0])
            squared_sum, hyperbolic = torch.zeros_like(keys), torch.empty_like(keys)
            d_score = torch.zeros_like(queries[0])
            for t in reversed(range(steps)):
                d_hidden = d_hidden + d_output[t]
                d_cell = _cell_backward(
                    gates[t], cell[t], cell[t + 1], d_hidden, d_cell, d_gates[t]
                )
                d_joined = d_gates[t].to(product) @ across
                d_context = d_context_all[t].add_(d_joined[:, :width])
                d_weights = torch.bmm(memory, d_context[:, :, None]).squeeze(2)
                d_scores = weights[t] * d_weights
                d_scores -= weights[t] * d_scores.sum(dim=1, keepdim=True)
                score_sum += d_scores
                torch.add(keys, queries[t, :, None], out=hyperbolic).tanh_()
                row = d_scores[:, None]
                d_score += torch.bmm(row, hyperbolic).squeeze(1)
                squared = hyperbolic.square_()
                total = d_scores.sum(dim=1, keepdim=True)
                torch.sub(total, torch.bmm(row, squared).squeeze(1), out=d_queries[t])
                d_queries[t].mul_(score)
                squared_sum.addcmul_(squared, d_scores[:, :, None])
                d_hidden = d_joined[:, width:] + d_queries[t].to(product) @ ask
                d_hidden = d_hidden.to(gates.dtype)
            flat, flat_queries = d_gates.to(product), d_queries.to(product)
            d_weight = flat.flatten(0, 1).t() @ joined.flatten(0, 1)
            d_query_weight = flat_queries.flatten(0, 1).t() @ joined[:, :, width:].flatten(0, 1)
            d_keys = squared_sum.neg_().add_(score_sum[:, :, None]).mul_(score)
            d_memory = torch.bmm(weights.permute(1, 2, 0), d_context_all.transpose(0, 1))
        return (
            None,
            flat,
            d_hidden,
            d_cell,
            d_weight.to(weight.dtype),
            d_keys,
            d_memory,
            None,
            d_query_weight.to(query_weight.dtype),
            d_score.sum(dim=0),
        )
