# mypy: allow-untyped-defs, no-check-untyped-defs
"""The operations as Triton kernels for a GPU.

The two ids of a program are a sentence (or row) and a block of its columns or positions. Each sum
runs inside one program and in one order, so results repeat bit for bit. Arguments in
``do_not_specialize`` change from batch to batch; else kernels would be compiled again each time.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from seq2seq.model.fast.operations import Operations

# Columns of a block, and its source positions.
NARROW, UNITS, WIDE = tl.constexpr(64), tl.constexpr(128), tl.constexpr(256)
SHORT, LONG = tl.constexpr(4), tl.constexpr(8)


@triton.jit
def tanh(x):
    """Tanh with relative error 1e-6; near 0 by a series, as 1 - e^(-2|x|) loses digits there."""
    square = x * x
    series = x + x * square * (
        -0.33333333 + square * (0.13333333 + square * (-0.053968254 + square * 0.021869488))
    )
    decay = tl.exp(-2.0 * tl.abs(x))
    size = (1.0 - decay) / (1.0 + decay)
    return tl.where(tl.abs(x) < 0.2, series, tl.where(x < 0, -size, size))


@triton.jit
def gate(inputs, product, place, ok):
    part = tl.load(inputs + place, mask=ok, other=0.0).to(tl.float32)
    return part + tl.load(product + place, mask=ok, other=0.0).to(tl.float32)


@triton.jit
def cell(inputs, product, before, gates, after, hidden, narrow, narrow_stride, width):
    b = tl.program_id(0)
    j = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    ok = j < width
    first, here = b * 4 * width + j, b * width + j
    i = tl.sigmoid(gate(inputs, product, first, ok))
    f = tl.sigmoid(gate(inputs, product, first + width, ok))
    g = tanh(gate(inputs, product, first + 2 * width, ok))
    o = tl.sigmoid(gate(inputs, product, first + 3 * width, ok))
    state = f * tl.load(before + here, mask=ok, other=0.0) + i * g
    shown = o * tanh(state)
    tl.store(gates + first, i, mask=ok)
    tl.store(gates + first + width, f, mask=ok)
    tl.store(gates + first + 2 * width, g, mask=ok)
    tl.store(gates + first + 3 * width, o, mask=ok)
    tl.store(after + here, state, mask=ok)
    tl.store(hidden + here, shown, mask=ok)
    tl.store(narrow + b * narrow_stride + j, shown, mask=ok)


@triton.jit
def cell_backward(gates, before, after, d_hidden, d_cell, d_gates, width):
    b = tl.program_id(0)
    j = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    ok = j < width
    first, here = b * 4 * width + j, b * width + j
    i = tl.load(gates + first, mask=ok, other=0.0)
    f = tl.load(gates + first + width, mask=ok, other=0.0)
    g = tl.load(gates + first + 2 * width, mask=ok, other=0.0)
    o = tl.load(gates + first + 3 * width, mask=ok, other=0.0)
    squashed = tanh(tl.load(after + here, mask=ok, other=0.0))
    d_shown = tl.load(d_hidden + here, mask=ok, other=0.0)
    d = tl.load(d_cell + here, mask=ok, other=0.0) + d_shown * o * (1.0 - squashed * squashed)
    old = tl.load(before + here, mask=ok, other=0.0)
    tl.store(d_gates + first, d * g * i * (1.0 - i), mask=ok)
    tl.store(d_gates + first + width, d * old * f * (1.0 - f), mask=ok)
    tl.store(d_gates + first + 2 * width, d * i * (1.0 - g * g), mask=ok)
    tl.store(d_gates + first + 3 * width, d_shown * squashed * o * (1.0 - o), mask=ok)
    tl.store(d_cell + here, d * f, mask=ok)


@triton.jit(do_not_specialize=["positions"], do_not_specialize_on_alignment=["weights"])
def softmax(weights, positions):
    """Replace the scores of one row by their softmax, in place."""
    row = weights + tl.program_id(0) * positions
    top, total = float("-inf"), 0.0
    for start in range(0, positions, UNITS):
        s = start + tl.arange(0, UNITS)
        score = tl.load(row + s, mask=s < positions, other=float("-inf"))
        new_top = tl.maximum(top, tl.max(score, axis=0))
        # While all positions so far are excluded, there is no maximum to subtract.
        shift = tl.where(new_top == float("-inf"), 0.0, new_top)
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(score - shift), axis=0)
        top = new_top
    for start in range(0, positions, UNITS):
        s = start + tl.arange(0, UNITS)
        score = tl.load(row + s, mask=s < positions, other=float("-inf"))
        tl.store(row + s, tl.exp(score - top) / total, mask=s < positions)


@triton.jit(do_not_specialize=["positions"], do_not_specialize_on_alignment=["weights"])
def weighted_sum(
    weights, annotations, context, narrow, narrow_stride, hypotheses, positions, width
):
    """Compute a block of columns of row b's context; positions of weight 0 are not read."""
    b = tl.program_id(0).to(tl.int64)
    m = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    ok = m < width
    sums = tl.zeros([LONG, UNITS], tl.float32)
    for start in range(0, positions, LONG):
        s = start + tl.arange(0, LONG)
        weight = tl.load(weights + b * positions + s, mask=s < positions, other=0.0)[:, None]
        place = (b // hypotheses * positions + s)[:, None] * width + m
        sums += weight * tl.load(annotations + place, mask=(weight != 0.0) & ok, other=0.0)
    result = tl.sum(sums, axis=0)
    tl.store(context + b * width + m, result, mask=ok)
    tl.store(narrow + b * narrow_stride + m, result, mask=ok)


@triton.jit(do_not_specialize=["positions"], do_not_specialize_on_alignment=["weights", "products"])
def annotation_products(d_context, weights, annotations, products, positions, width):
    """Multiply the context's gradient by the annotations at a block of positions of sentence b."""
    b = tl.program_id(0).to(tl.int64)
    s = tl.program_id(1) * SHORT + tl.arange(0, SHORT)
    rows = b * positions + s
    weight = tl.load(weights + rows, mask=s < positions, other=0.0)
    sums = tl.zeros([SHORT, WIDE], tl.float32)
    for start in range(0, width, WIDE):
        m = start + tl.arange(0, WIDE)
        ok = m < width
        place = rows[:, None] * width + m
        value = tl.load(annotations + place, mask=(weight != 0.0)[:, None] & ok, other=0.0)
        sums += value * tl.load(d_context + b * width + m, mask=ok, other=0.0)
    tl.store(products + rows, tl.sum(sums, axis=1), mask=s < positions)


@triton.jit(do_not_specialize=["positions"], do_not_specialize_on_alignment=["weights", "d_scores"])
def softmax_backward(weights, d_scores, positions):
    """Turn ``d_scores`` from the gradient of ``weights`` into the gradient of the scores."""
    row = tl.program_id(0) * positions
    mean = tl.zeros([UNITS], tl.float32)
    for start in range(0, positions, UNITS):
        s = start + tl.arange(0, UNITS)
        weight = tl.load(weights + row + s, mask=s < positions, other=0.0)
        mean += weight * tl.load(d_scores + row + s, mask=s < positions, other=0.0)
    mean = tl.sum(mean, axis=0)
    for start in range(0, positions, UNITS):
        s = start + tl.arange(0, UNITS)
        weight = tl.load(weights + row + s, mask=s < positions, other=0.0)
        d_weight = tl.load(d_scores + row + s, mask=s < positions, other=0.0)
        tl.store(d_scores + row + s, weight * (d_weight - mean), mask=s < positions)


@triton.jit(do_not_specialize=["positions"], do_not_specialize_on_alignment=["real", "scores"])
def additive_scores(keys, query, vector, real, scores, hypotheses, positions, width):
    b = tl.program_id(0).to(tl.int64)
    s = tl.program_id(1) * SHORT + tl.arange(0, SHORT)
    source = b // hypotheses * positions + s
    wanted = tl.load(real + source, mask=s < positions, other=0) != 0
    sums = tl.zeros([SHORT, WIDE], tl.float32)
    for start in range(0, width, WIDE):
        a = start + tl.arange(0, WIDE)
        ok = a < width
        place = source[:, None] * width + a
        key = tl.load(keys + place, mask=wanted[:, None] & ok, other=0.0)
        q = tl.load(query + b * width + a, mask=ok, other=0.0)
        sums += tanh(key + q) * tl.load(vector + a, mask=ok, other=0.0)
    score = tl.where(wanted, tl.sum(sums, axis=1), float("-inf"))
    tl.store(scores + b * positions + s, score, mask=s < positions)


@triton.jit(do_not_specialize=["positions"], do_not_specialize_on_alignment=["d_scores"])
def additive_scores_backward(
    keys, query, vector, d_scores, d_query, d_keys, d_vector, positions, width
):
    b = tl.program_id(0).to(tl.int64)
    a = tl.program_id(1) * NARROW + tl.arange(0, NARROW)
    ok = a < width
    q = tl.load(query + b * width + a, mask=ok, other=0.0)
    to_query = tl.zeros([LONG, NARROW], tl.float32)
    to_vector = tl.zeros([LONG, NARROW], tl.float32)
    for start in range(0, positions, LONG):
        s = start + tl.arange(0, LONG)
        d = tl.load(d_scores + b * positions + s, mask=s < positions, other=0.0)[:, None]
        wanted = (d != 0.0) & ok
        place = (b * positions + s)[:, None] * width + a
        squashed = tanh(tl.load(keys + place, mask=wanted, other=0.0) + q)
        slope = d * (1.0 - squashed * squashed)
        to_query += slope
        to_vector += d * squashed
        collected = tl.load(d_keys + place, mask=wanted, other=0.0)
        tl.store(d_keys + place, collected + slope, mask=wanted)
    here = b * width + a
    v = tl.load(vector + a, mask=ok, other=0.0)
    tl.store(d_query + here, v * tl.sum(to_query, axis=0), mask=ok)
    so_far = tl.load(d_vector + here, mask=ok, other=0.0)
    tl.store(d_vector + here, so_far + tl.sum(to_vector, axis=0), mask=ok)


class TritonOperations(Operations):
    """Operations on the current CUDA device, in float32; plain PyTorch where no kernel exists."""

    name = "triton"

    def __init__(self) -> None:
        """Try a kernel; OSError if the GPU is too old, other errors if Triton cannot compile."""
        if torch.cuda.is_available():
            if torch.cuda.get_device_capability() < (8, 0):
                raise OSError("the GPU is too old for Triton")
            softmax[1,](torch.zeros(1, device="cuda"), 1, num_warps=1)

    def cell(self, *arrays: Tensor) -> None:
        *others, narrow = arrays
        batch, width = arrays[2].shape
        grid = (batch, triton.cdiv(width, UNITS.value))
        cell[grid](*dense(*others), narrow, narrow.stride(0), width)

    def cell_backward(self, *arrays: Tensor) -> None:
        batch, width = arrays[1].shape
        cell_backward[batch, triton.cdiv(width, UNITS.value)](*dense(*arrays), width)

    def attend(self, weights: Tensor, annotations: Tensor, context: Tensor, narrow: Tensor) -> None:
        arrays = dense(weights, annotations, context)
        rows, (sentences, positions, width) = len(weights), annotations.shape
        # A launch of its own: in a joint one, a program that overwrites scores with weights would
        # race with programs that still read the scores for other columns.
        softmax[rows,](weights, positions, num_warps=1)
        grid, sizes = (rows, triton.cdiv(width, UNITS.value)), (rows // sentences, positions, width)
        weighted_sum[grid](*arrays, narrow, narrow.stride(0), *sizes)

    def attend_backward(self, *arrays: Tensor) -> None:
        _, weights, annotations, d_scores = dense(*arrays)
        batch, positions, width = annotations.shape
        annotation_products[batch, triton.cdiv(positions, SHORT.value)](*arrays, positions, width)
        softmax_backward[batch,](weights, d_scores, positions, num_warps=1)

    def scores(self, *arrays: Any) -> None:
        keys, query, *_ = dense(*arrays)
        rows, (sentences, positions, width) = len(query), keys.shape
        grid = (rows, triton.cdiv(positions, SHORT.value))
        additive_scores[grid](*arrays, rows // sentences, positions, width)

    def scores_backward(self, *arrays: Any) -> None:
        batch, positions, width = arrays[0].shape
        grid = (batch, triton.cdiv(width, NARROW.value))
        additive_scores_backward[grid](*dense(*arrays), positions, width)


def dense(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Return the arrays; ValueError unless each is contiguous."""
    if not all(array.is_contiguous() for array in arrays):
        raise ValueError("an operation needs dense arrays")
    return arrays
