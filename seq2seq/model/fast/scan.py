r"""The decoder's recurrence over a whole target as one differentiable operation.

PyTorch's autograd would keep a (B, S, A) array of each step, and add up every weight gradient step
by step. Here the backward pass recomputes these arrays, and computes each weight's gradient as one
large product after the loop.

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

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from seq2seq.model.encoder import Source
from seq2seq.model.fast.compiled import choose_operations
from seq2seq.model.fast.operations import PLAIN
from seq2seq.model.layers import matmul_dtype


def attention_scan(
    gates: Float[Tensor, "T B G"],
    hidden: Float[Tensor, "B H"],
    cell: Float[Tensor, "B H"],
    weight: Float[Tensor, "G Z"],
    source: Source,
    to_query: Float[Tensor, "Q H"] | None,
    vector: Float[Tensor, "Q"] | None,
    queries: Float[Tensor, "T B Q"],
) -> tuple[Float[Tensor, "T B H"], Float[Tensor, "T B M"], Float[Tensor, "T B S"]]:
    """Run an LSTM that attends before each step; return states, contexts and weights, time first.

    ``gates`` holds X_t, ``queries`` Q_t, ``weight`` W, ``to_query`` W_a (None: the identity), and
    ``vector`` v (None: a dot score). The returned weights carry no gradient.
    """
    attention = source.annotations, source.mask, source.keys, queries, to_query, vector
    return _Scan.apply(gates, hidden, cell, weight, *attention)


def lstm_scan(
    gates: Float[Tensor, "T B G"],
    hidden: Float[Tensor, "B H"],
    cell: Float[Tensor, "B H"],
    weight: Float[Tensor, "G H"],
) -> Float[Tensor, "T B H"]:
    """Hidden states s_1 ... s_T of an LSTM; ``gates`` holds the term of its inputs, W_x x + b."""
    return _Scan.apply(gates, hidden, cell, weight)[0]


class _Scan(torch.autograd.Function):
    """Step t, counted from 0, reads the states in row t and writes those in row t + 1."""

    @staticmethod
    def forward(ctx: Any, *arrays: Any) -> tuple[Tensor | None, ...]:
        inputs, hidden, cell, weight, *attention = arrays
        steps, (batch, size), columns = len(inputs), hidden.shape, weight.shape[1]
        ctx.dtype = dtype = matmul_dtype(inputs.device, hidden.dtype)
        ctx.operations = operations = choose_operations(inputs.device, dtype, hidden.dtype)
        with torch.autocast(inputs.device.type, enabled=False):
            inputs, transposed = inputs.to(dtype).contiguous(), weight.to(dtype).t()
            joined = inputs.new_empty(steps + 1, batch, columns)  # [c_t; s_{t-1}]
            narrow_context, state = joined.split([columns - size, size], dim=2)
            gates = hidden.new_empty(steps, batch, 4 * size)  # after their non-linearities
            hiddens, cells = (x.new_empty(steps + 1, batch, size) for x in (hidden, cell))
            hiddens[0], cells[0], state[0] = hidden, cell, hidden
            if attention:
                annotations, mask, keys, known, query_weight, vector = attention
                annotations, keys = annotations.contiguous(), keys.contiguous()
                weights = annotations.new_empty(steps, *mask.shape)
                contexts = annotations.new_empty(steps, batch, columns - size)
                to_query = None if query_weight is None else query_weight.to(dtype).t()
                queries = annotations.new_empty(known.shape).copy_(known)
                scoring = operations if vector is not None else PLAIN
                attention = [annotations, query_weight, keys, vector, queries, weights]
                ctx.mark_non_differentiable(weights)
            for t in range(steps):
                if attention:
                    queries[t] += hiddens[t] if to_query is None else state[t] @ to_query
                    scoring.scores(keys, queries[t], vector, mask, weights[t])
                    operations.attend(weights[t], annotations, contexts[t], narrow_context[t])
                written = gates[t], cells[t + 1], hiddens[t + 1], state[t + 1]
                operations.cell(inputs[t], joined[t] @ transposed, cells[t], *written)
        ctx.save_for_backward(weight, joined, gates, cells, *attention)
        return (hiddens[1:], contexts, weights) if attention else (hiddens[1:], None, None)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_output: Tensor, d_contexts: Any, _: Any) -> tuple[Tensor | None, ...]:
        weight, joined, gates, cells, *attention = ctx.saved_tensors
        operations, dtype, size = ctx.operations, ctx.dtype, cells.shape[2]
        with torch.autocast(gates.device.type, enabled=False):
            narrow_weight = weight.to(dtype)
            d_gates = torch.empty_like(gates, dtype=dtype)
            d_cell, d_hidden = torch.zeros_like(cells[0]), torch.zeros_like(cells[0])
            if attention:
                annotations, query_weight, keys, vector, queries, weights = attention
                query_matrix = None if query_weight is None else query_weight.to(dtype)
                scoring = operations if vector is not None else PLAIN
                d_queries = torch.empty_like(queries, dtype=dtype)
                d_contexts = d_contexts.clone(memory_format=torch.contiguous_format)
                d_scores, d_query = torch.empty_like(weights[0]), torch.empty_like(queries[0])
                d_keys, d_vector = torch.zeros_like(keys), torch.zeros_like(queries[0])
            for t in reversed(range(len(gates))):
                d_hidden += d_output[t]
                states = gates[t], cells[t], cells[t + 1]
                operations.cell_backward(*states, d_hidden, d_cell, d_gates[t])
                d_context, d_state = (d_gates[t] @ narrow_weight).tensor_split([-size], dim=1)
                d_hidden.copy_(d_state)  # sums from here on are in float32
                if attention:
                    d_contexts[t] += d_context
                    operations.attend_backward(d_contexts[t], weights[t], annotations, d_scores)
                    sums = d_query, d_keys, d_vector
                    scoring.scores_backward(keys, queries[t], vector, d_scores, *sums)
                    d_queries[t] = d_query
                    d_hidden += d_query if query_matrix is None else d_queries[t] @ query_matrix
            operands, to_gates = joined[:-1].flatten(0, 1), d_gates.flatten(0, 1).t()
            recurrence = d_gates, d_hidden, d_cell, to_gates @ operands
            if not attention:
                return recurrence
            d_annotations = torch.bmm(weights.permute(1, 2, 0), d_contexts.transpose(0, 1))
            queried = d_queries.flatten(0, 1).t()
            d_query_weight = None if query_weight is None else queried @ operands[:, -size:]
            if vector is not None:
                d_keys, d_vector = d_keys.mul_(vector), d_vector.sum(dim=0)
            scored = d_keys, d_queries, d_query_weight, None if vector is None else d_vector
            return *recurrence, d_annotations, None, *scored
