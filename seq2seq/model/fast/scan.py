r"""The decoder's recurrence over a whole target as one differentiable operation.

PyTorch's autograd would keep a (B, S, A) array of each step, and add up every weight gradient step
by step. Here the backward pass recomputes these arrays, and computes each weight's gradient as one
large product after the loop. The numbers are those of :meth:`Decoder.forward
<seq2seq.model.decoder.Decoder.forward>`, up to rounding.

:math:`X_t = W_x E y_{t-1} + b` and :math:`Q_t = W_a W_y E y_{t-1}` depend on the known target
alone and are computed before the loop. W is the cell's weight for :math:`z_t = [c_t; s_{t-1}]`. A
step is

.. math::
    q_t = Q_t + W_a s_{t-1}, \quad e_{tj} = v \cdot \tanh(k_j + q_t), \quad
    a_t = softmax(e_t), \quad c_t = \sum_j a_{tj} h_j, \quad g_t = X_t + W z_t, \quad
    s_t = cell(g_t)

In the backward pass, :math:`P_{tj} = \tanh(k_j + q_t)`, and :math:`\bar x` is the gradient of x.
The gradients from the readout are added to :math:`\bar s` and :math:`\bar c`.

.. math::
    [\bar c_t; \bar s_{t-1}] = \bar g_t W + [0; \bar q_t W_a], \quad
    \bar a_{tj} = \bar c_t \cdot h_j, \quad
    \bar e_t = a_t (\bar a_t - \langle a_t, \bar a_t \rangle), \\
    \bar q_t = v \sum_j \bar e_{tj} (1 - P_{tj}^2), \quad
    \bar k_j = v \sum_t \bar e_{tj} (1 - P_{tj}^2)

A dot score has :math:`e_{tj} = q_t \cdot k_j` instead. Where autocast is on, products with W and
W_a, and the gradients of W and W_a, use its type. States, softmax, and all other sums over source
positions or steps stay in float32 (float64 for float64 parameters).
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from seq2seq.model.encoder import Source
from seq2seq.model.fast.choose import choose_operations
from seq2seq.model.fast.operations import Operations
from seq2seq.model.layers import matmul_dtype


class Score(NamedTuple):
    """Weights of a score: v . tanh(k_j + q), or q . k_j if ``vector`` is None."""

    query_weight: Float[Tensor, "Q H"] | None
    """Matrix that maps the state into the query; None if the state enters it unchanged."""
    vector: Float[Tensor, "Q"] | None


def attention_scan(
    gates: Float[Tensor, "T B G"],
    hidden: Float[Tensor, "B H"],
    cell: Float[Tensor, "B H"],
    weight: Float[Tensor, "G Z"],
    source: Source,
    score: Score,
    queries: Float[Tensor, "T B Q"] | None,
) -> tuple[Float[Tensor, "T B H"], Float[Tensor, "T B M"], Float[Tensor, "T B S"]]:
    """Run an LSTM that attends before each step; return states, contexts and weights, time first.

    ``gates`` holds X_t; ``queries`` holds Q_t, or is None if the query is the state alone;
    ``weight`` is W, with Z = M + H columns. The returned weights carry no gradient.
    """
    dtype = matmul_dtype(gates.device, hidden.dtype)
    operations = choose_operations(gates.device, hidden.dtype, dtype)
    inputs = gates, hidden, cell, weight, source.annotations, source.mask, source.keys
    hidden, contexts, weights = _AttentionScan.apply(operations, dtype, *inputs, queries, *score)
    return hidden, contexts, weights


def lstm_scan(
    gates: Float[Tensor, "T B G"],
    hidden: Float[Tensor, "B H"],
    cell: Float[Tensor, "B H"],
    weight: Float[Tensor, "G H"],
) -> Float[Tensor, "T B H"]:
    """Hidden states s_1 ... s_T of an LSTM; ``gates`` holds the term of its inputs, W_x x + b."""
    dtype = matmul_dtype(gates.device, hidden.dtype)
    operations = choose_operations(gates.device, hidden.dtype, dtype)
    states: Tensor = _LstmScan.apply(operations, dtype, gates, hidden, cell, weight)
    return states


class _Tape:
    """Arrays that an LSTM keeps; step t (from 0) reads states in row t and writes row t + 1."""

    def __init__(self, steps: int, hidden: Tensor, cell: Tensor, joined: Tensor) -> None:
        batch, width = hidden.shape
        self.gates = hidden.new_empty(steps, batch, 4 * width)  # after their non-linearities
        self.hidden = hidden.new_empty(steps + 1, batch, width)
        self.cell = hidden.new_empty(steps + 1, batch, width)
        self.joined = joined  # what the weight multiplies: [context; state], or the state alone
        self.state = joined[:, :, joined.shape[2] - width :]
        self.hidden[0], self.cell[0], self.state[0] = hidden, cell, hidden

    def step(self, operations: Operations, t: int, inputs: Tensor, transposed: Tensor) -> None:
        written = self.gates[t], self.cell[t + 1], self.hidden[t + 1], self.state[t + 1]
        operations.cell(inputs, self.joined[t] @ transposed, self.cell[t], *written)


class _LstmScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, operations: Operations, dtype: torch.dtype, *arrays: Tensor) -> Tensor:
        inputs, hidden, cell, weight = arrays
        steps, (batch, width) = len(inputs), hidden.shape
        with torch.autocast(inputs.device.type, enabled=False):
            inputs, transposed = inputs.to(dtype).contiguous(), weight.to(dtype).t()
            joined = inputs.new_empty(steps + 1, batch, width)
            tape = _Tape(steps, hidden, cell, joined)
            for t in range(steps):
                tape.step(operations, t, inputs[t], transposed)
        ctx.operations, ctx.dtype = operations, dtype
        ctx.save_for_backward(weight, tape.gates, tape.cell, tape.joined)
        return tape.hidden[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor | None, ...]:
        weight, gates, cell, joined = ctx.saved_tensors
        with torch.autocast(gates.device.type, enabled=False):
            narrow_weight = weight.to(ctx.dtype)
            d_gates = torch.empty_like(gates, dtype=ctx.dtype)
            d_cell, d_hidden = torch.zeros_like(cell[0]), torch.zeros_like(cell[0])
            for t in reversed(range(len(gates))):
                d_hidden += d_output[t]
                ctx.operations.cell_backward(
                    gates[t], cell[t], cell[t + 1], d_hidden, d_cell, d_gates[t]
                )
                d_hidden.copy_(d_gates[t] @ narrow_weight)
            d_weight = d_gates.flatten(0, 1).t() @ joined[:-1].flatten(0, 1)
        return None, None, d_gates, d_hidden, d_cell, d_weight.to(weight.dtype)


class _AttentionScan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, operations: Operations, dtype: torch.dtype, *arrays: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        inputs, hidden, cell, weight, annotations, mask, keys, *optional = arrays
        known_queries, query_weight, vector = optional
        steps, (batch, positions, width) = len(inputs), annotations.shape
        with torch.autocast(inputs.device.type, enabled=False):
            inputs, transposed = inputs.to(dtype).contiguous(), weight.to(dtype).t()
            annotations, keys = annotations.contiguous(), keys.contiguous()
            weights = annotations.new_empty(steps, batch, positions)
            contexts = annotations.new_empty(steps, batch, width)
            joined = inputs.new_empty(steps + 1, batch, weight.shape[1])
            tape = _Tape(steps, hidden, cell, joined)
            to_query = None if query_weight is None else query_weight.to(dtype).t()
            queries = annotations.new_zeros(steps, batch, keys.shape[2])
            if known_queries is not None:
                queries.copy_(known_queries)
            for t in range(steps):
                state = tape.hidden[t]
                queries[t] += state if to_query is None else tape.state[t] @ to_query
                operations.scores(keys, queries[t], vector, mask, weights[t])
                operations.attend(weights[t], annotations, contexts[t], joined[t, :, :width])
                tape.step(operations, t, inputs[t], transposed)
        ctx.operations, ctx.dtype = operations, dtype
        ctx.mark_non_differentiable(weights)
        states = (joined, tape.gates, tape.cell)
        ctx.save_for_backward(
            *(weight, annotations, query_weight, keys, vector, queries, weights), *states
        )
        return tape.hidden[1:], contexts, weights

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, d_output: Tensor, d_contexts: Tensor, _: Tensor
    ) -> tuple[Tensor | None, ...]:
        weight, annotations, query_weight, keys, vector, *states = ctx.saved_tensors
        queries, weights, joined, gates, cell = states
        operations, dtype = ctx.operations, ctx.dtype
        steps, width = len(gates), annotations.shape[2]
        with torch.autocast(gates.device.type, enabled=False):
            narrow_weight = weight.to(dtype)
            query_matrix = None if query_weight is None else query_weight.to(dtype)
            d_gates = torch.empty_like(gates, dtype=dtype)
            d_queries = queries.new_empty(queries.shape, dtype=dtype)
            d_contexts = d_contexts.clone(memory_format=torch.contiguous_format)
            d_cell, d_hidden = torch.zeros_like(cell[0]), torch.zeros_like(cell[0])
            d_scores, d_query = torch.empty_like(weights[0]), torch.empty_like(queries[0])
            d_keys = torch.zeros_like(keys)
            d_vector = None if vector is None else keys.new_zeros(len(keys), keys.shape[2])
            for t in reversed(range(steps)):
                d_hidden += d_output[t]
                operations.cell_backward(
                    gates[t], cell[t], cell[t + 1], d_hidden, d_cell, d_gates[t]
                )
                d_joined = d_gates[t] @ narrow_weight
                d_contexts[t] += d_joined[:, :width]
                operations.attend_backward(d_contexts[t], weights[t], annotations, d_scores)
                operations.scores_backward(
                    keys, queries[t], vector, d_scores, d_query, d_keys, d_vector
                )
                d_hidden.copy_(d_joined[:, width:])  # sums from here on are in float32
                d_queries[t] = d_query
                d_hidden += d_query if query_matrix is None else d_queries[t] @ query_matrix
            del narrow_weight  # free it here, where memory is at its peak
            operands = joined[:-1].flatten(0, 1)
            d_weight = d_gates.flatten(0, 1).t() @ operands
            d_query_weight = None
            if query_weight is not None:
                d_query_weight = d_queries.flatten(0, 1).t() @ operands[:, width:]
                d_query_weight = d_query_weight.to(query_weight.dtype)
            if vector is not None and d_vector is not None:
                d_keys, d_vector = d_keys.mul_(vector), d_vector.sum(dim=0)
            d_annotations = torch.bmm(weights.permute(1, 2, 0), d_contexts.transpose(0, 1))
        known = d_queries if ctx.needs_input_grad[9] else None
        recurrence = (d_gates, d_hidden, d_cell, d_weight.to(weight.dtype))
        attention = (d_annotations, None, d_keys, known, d_query_weight, d_vector)
        return None, None, *recurrence, *attention
