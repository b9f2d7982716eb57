r"""The decoder's recurrence over a whole target as one differentiable operation.

PyTorch's autograd would tape a dozen small operations per target step, keep a (B, S, A) array of
each step, and add up every weight gradient step by step. Here the steps run without a tape and keep
only what the way back needs; (B, S, A) arrays are recomputed; and each weight's gradient is one
large product after the loop. Same numbers as the taped loop of :class:`Decoder`, which remains as
the readable reference (``model.decoder.recurrence=reference``) and as the test's oracle.

With :math:`z_t = [c_t; s_{t-1}]` and what depends on the known target alone computed before the
loop, :math:`X_t = W_x E y_{t-1} + b` and :math:`Q_t = W_a W_y E y_{t-1}`, a step is

.. math::
    q_t = Q_t + W_a s_{t-1}, \quad e_{tj} = v \cdot \tanh(k_j + q_t), \quad
    a_t = softmax(e_t), \quad c_t = \sum_j a_{tj} h_j, \quad s_t = cell(X_t + W z_t)

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
from torch.autograd.function import once_differentiable

from seq2seq.model.kernels import TorchKernels, choose_kernels
from seq2seq.model.precision import product_type
from seq2seq.model.score import Score


class AlignmentInput(NamedTuple):
    """What an attention needs in every step."""

    memory: Float[Tensor, "B S M"]
    mask: Bool[Tensor, "B S"]
    query_weight: Float[Tensor, "Q H"] | None
    """Makes the query of the state; None where the state itself is the query."""
    score: Score
    query_inputs: Float[Tensor, "T B Q"] | None = None
    """The part of the queries that depends on the known target only; None where there is none."""


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
    """Run an LSTM that attends before each step.

    Args:
        inputs: X_t, the part of the gates that depends on the known target only.
        hidden: s_0.
        cell: the cell state that goes with it.
        weight: W, over Z = M + H columns [context; state].
        alignment: what it aligns with, and how.
    """
    product = product_type(inputs.device, hidden.dtype)
    memory, mask, query_weight, score, query_inputs = alignment
    return Scan(
        *_AttentionScan.apply(
            choose_kernels(inputs.device, hidden.dtype, product),
            product,
            type(score),
            inputs,
            hidden,
            cell,
            weight,
            memory,
            mask,
            query_weight,
            query_inputs,
            *score.tensors,
        )
    )


def plain_scan(
    inputs: Float[Tensor, "T B G"],
    hidden: Float[Tensor, "B H"],
    cell: Float[Tensor, "B H"],
    weight: Float[Tensor, "G H"],
) -> Float[Tensor, "T B H"]:
    """Run an LSTM whose inputs are all known: of one context at every step, or none yet.

    Returns the hidden states s_1 ... s_T.
    """
    product = product_type(inputs.device, hidden.dtype)
    kernels = choose_kernels(inputs.device, hidden.dtype, product)
    return _PlainScan.apply(kernels, product, inputs, hidden, cell, weight)


class _Tape:
    """What the steps keep of an LSTM for the way back; row t of each is read by step t."""

    def __init__(self, steps: int, hidden: Tensor, cell: Tensor, joined: Tensor) -> None:
        batch, width = hidden.shape
        self.gates = hidden.new_empty(steps, batch, 4 * width)  # after their non-linearities
        self.hidden = hidden.new_empty(steps + 1, batch, width)
        self.cell = hidden.new_empty(steps + 1, batch, width)
        self.joined = joined
        """The operand of the state's product: [context; state], or the state alone."""
        self.state = joined[:, :, joined.shape[2] - width :]
        self.hidden[0], self.cell[0], self.state[0] = hidden, cell, hidden

    def step(self, kernels: TorchKernels, t: int, inputs: Tensor, across: Tensor) -> None:
        """s_{t+1} and its cell from X_t and the operand of step t."""
        kernels.cell(
            inputs,
            self.joined[t] @ across,
            self.cell[t],
            self.gates[t],
            self.cell[t + 1],
            self.hidden[t + 1],
            self.state[t + 1],
        )


class _PlainScan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kernels: TorchKernels,
        product: torch.dtype,
        inputs: Tensor,
        hidden: Tensor,
        cell: Tensor,
        weight: Tensor,
    ) -> Tensor:
        steps, (batch, width) = len(inputs), hidden.shape
        with torch.autocast(inputs.device.type, enabled=False):
            inputs, across = inputs.to(product).contiguous(), weight.to(product).t()
            joined = inputs.new_empty(steps + 1, batch, width)
            tape = _Tape(steps, hidden, cell, joined)
            for t in range(steps):
                tape.step(kernels, t, inputs[t], across)
        ctx.kernels, ctx.product = kernels, product
        ctx.save_for_backward(weight, tape.gates, tape.cell, tape.joined)
        return tape.hidden[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor | None, ...]:
        weight, gates, cell, joined = ctx.saved_tensors
        with torch.autocast(gates.device.type, enabled=False):
            across = weight.to(ctx.product)
            d_gates = torch.empty_like(gates, dtype=ctx.product)
            d_cell, d_hidden = torch.zeros_like(cell[0]), torch.zeros_like(cell[0])
            for t in reversed(range(len(gates))):
                d_hidden += d_output[t]
                ctx.kernels.cell_backward(
                    gates[t], cell[t], cell[t + 1], d_hidden, d_cell, d_gates[t]
                )
                d_hidden.copy_(d_gates[t] @ across)
            d_weight = d_gates.flatten(0, 1).t() @ joined[:-1].flatten(0, 1)
        return None, None, d_gates, d_hidden, d_cell, d_weight.to(weight.dtype)


class _AttentionScan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kernels: TorchKernels,
        product: torch.dtype,
        score_kind: type[Score],
        inputs: Tensor,
        hidden: Tensor,
        cell: Tensor,
        weight: Tensor,
        memory: Tensor,
        mask: Tensor,
        query_weight: Tensor | None,
        query_inputs: Tensor | None,
        *score_tensors: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        steps, (batch, positions, width) = len(inputs), memory.shape
        score = score_kind(*score_tensors)
        with torch.autocast(inputs.device.type, enabled=False):
            inputs, across = inputs.to(product).contiguous(), weight.to(product).t()
            memory = memory.contiguous()
            weights = memory.new_empty(steps, batch, positions)
            contexts = memory.new_empty(steps, batch, width)
            joined = inputs.new_empty(steps + 1, batch, weight.shape[1])
            tape = _Tape(steps, hidden, cell, joined)
            ask = None if query_weight is None else query_weight.to(product).t()
            asked = hidden.shape[1] if ask is None else ask.shape[1]
            queries = memory.new_zeros(steps, batch, asked)
            if query_inputs is not None:
                queries.copy_(query_inputs)
            for t in range(steps):
                queries[t] += tape.hidden[t] if ask is None else tape.state[t] @ ask
                score.forward(kernels, queries[t], mask, weights[t])
                kernels.attend(weights[t], memory, contexts[t], joined[t, :, :width])
                tape.step(kernels, t, inputs[t], across)
        ctx.kernels, ctx.product, ctx.score_kind = kernels, product, score_kind
        ctx.mark_non_differentiable(weights)
        ctx.save_for_backward(
            weight,
            memory,
            query_weight,
            queries,
            weights,
            joined,
            tape.gates,
            tape.cell,
            *score_tensors,
        )
        return tape.hidden[1:], contexts, weights

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, d_output: Tensor, d_contexts: Tensor, _: Tensor
    ) -> tuple[Tensor | None, ...]:
        weight, memory, query_weight, queries, weights, joined, gates, cell, *tensors = (
            ctx.saved_tensors
        )
        query_inputs_matter = ctx.needs_input_grad[10]
        kernels, product, score = ctx.kernels, ctx.product, ctx.score_kind(*tensors)
        steps, width = len(gates), memory.shape[2]
        with torch.autocast(gates.device.type, enabled=False):
            across = weight.to(product)
            d_gates = torch.empty_like(gates, dtype=product)
            d_contexts = d_contexts.clone(memory_format=torch.contiguous_format)
            d_cell, d_hidden = torch.zeros_like(cell[0]), torch.zeros_like(cell[0])
            d_scores, d_query = torch.empty_like(weights[0]), torch.empty_like(queries[0])
            sums = score.sums()
            d_queries = queries.new_empty(queries.shape, dtype=product)
            if query_weight is not None:
                ask = query_weight.to(product)
            for t in reversed(range(steps)):
                d_hidden += d_output[t]
                kernels.cell_backward(gates[t], cell[t], cell[t + 1], d_hidden, d_cell, d_gates[t])
                d_joined = d_gates[t] @ across
                d_contexts[t] += d_joined[:, :width]
                kernels.attend_backward(d_contexts[t], weights[t], memory, d_scores)
                score.backward(kernels, queries[t], d_scores, d_query, sums)
                d_hidden.copy_(d_joined[:, width:])  # then sums are wide
                d_queries[t] = d_query
                if query_weight is None:
                    d_hidden += d_query
                else:
                    d_hidden += d_queries[t] @ ask
            del across  # where the most memory is held
            operands = joined[:-1].flatten(0, 1)
            d_weight = d_gates.flatten(0, 1).t() @ operands
            d_query_weight = None
            if query_weight is not None:
                d_query_weight = d_queries.flatten(0, 1).t() @ operands[:, width:]
                d_query_weight = d_query_weight.to(query_weight.dtype)
            d_memory = torch.bmm(weights.permute(1, 2, 0), d_contexts.transpose(0, 1))
        return (
            None,
            None,
            None,
            d_gates,
            d_hidden,
            d_cell,
            d_weight.to(weight.dtype),
            d_memory,
            None,
            d_query_weight,
            d_queries if query_inputs_matter else None,
            *score.gradients(sums),
        )
