"""The kernels of operations.py for a GPU, in Triton's language; launched by gpu.py.

One program computes one sentence (or row) and one block of its columns or positions, named by its
two program ids; block sizes are the launcher's. Sums run inside one program and in one order, so
equal inputs give equal bits. Numbers are widened to float32 as they are read, and rounded to an
array's own type as they are written. Imported only where Triton is installed.

``no_type_check`` keeps checkers of annotations off: Triton compiles the source itself. Arguments
exempt from specialization change from batch to batch, and would be compiled for again each time.
``hypotheses`` is not: it is 1 in training, which makes its division vanish, and the beam in search.
"""

from typing import no_type_check

import triton
import triton.language as tl


@triton.jit
@no_type_check
def hyperbolic(x):
    """The tangent: by its series near zero, where 1 - e^(-2|x|) loses digits; both to 1e-6."""
    square = x * x
    series = x + x * square * (
        -0.33333333 + square * (0.13333333 + square * (-0.053968254 + square * 0.021869488))
    )
    decay = tl.exp(-2.0 * tl.abs(x))
    size = (1.0 - decay) / (1.0 + decay)
    return tl.where(tl.abs(x) < 0.2, series, tl.where(x < 0, -size, size))


@triton.jit
@no_type_check
def gate(inputs, product, place, ok):
    """A gate before its non-linearity: the sum of its two narrow parts."""
    part = tl.load(inputs + place, mask=ok, other=0.0).to(tl.float32)
    return part + tl.load(product + place, mask=ok, other=0.0).to(tl.float32)


@triton.jit
@no_type_check
def cell(
    inputs, product, before, gates, after, hidden, narrow, narrow_stride, width, BLOCK: tl.constexpr
):
    """A block of hidden units of sentence b."""
    b = tl.program_id(0)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ok = j < width
    first, here = b * 4 * width + j, b * width + j
    i = tl.sigmoid(gate(inputs, product, first, ok))
    f = tl.sigmoid(gate(inputs, product, first + width, ok))
    g = hyperbolic(gate(inputs, product, first + 2 * width, ok))
    o = tl.sigmoid(gate(inputs, product, first + 3 * width, ok))
    state = f * tl.load(before + here, mask=ok, other=0.0) + i * g
    shown = o * hyperbolic(state)
    tl.store(gates + first, i, mask=ok)
    tl.store(gates + first + width, f, mask=ok)
    tl.store(gates + first + 2 * width, g, mask=ok)
    tl.store(gates + first + 3 * width, o, mask=ok)
    tl.store(after + here, state, mask=ok)
    tl.store(hidden + here, shown, mask=ok)
    tl.store(narrow + b * narrow_stride + j, shown, mask=ok)


@triton.jit
@no_type_check
def cell_backward(gates, before, after, d_hidden, d_cell, d_gates, width, BLOCK: tl.constexpr):
    """A block of hidden units of sentence b."""
    b = tl.program_id(0)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ok = j < width
    first, here = b * 4 * width + j, b * width + j
    i = tl.load(gates + first, mask=ok, other=0.0)
    f = tl.load(gates + first + width, mask=ok, other=0.0)
    g = tl.load(gates + first + 2 * width, mask=ok, other=0.0)
    o = tl.load(gates + first + 3 * width, mask=ok, other=0.0)
    tanh = hyperbolic(tl.load(after + here, mask=ok, other=0.0))
    d_shown = tl.load(d_hidden + here, mask=ok, other=0.0)
    d = tl.load(d_cell + here, mask=ok, other=0.0) + d_shown * o * (1.0 - tanh * tanh)
    old = tl.load(before + here, mask=ok, other=0.0)
    tl.store(d_gates + first, d * g * i * (1.0 - i), mask=ok)
    tl.store(d_gates + first + width, d * old * f * (1.0 - f), mask=ok)
    tl.store(d_gates + first + 2 * width, d * i * (1.0 - g * g), mask=ok)
    tl.store(d_gates + first + 3 * width, d_shown * tanh * o * (1.0 - o), mask=ok)
    tl.store(d_cell + here, d * f, mask=ok)


@triton.jit(do_not_specialize=["positions"], do_not_specialize_on_alignment=["weights"])
@no_type_check
def softmax(weights, positions, BLOCK: tl.constexpr):
    """All positions of sentence b, in place."""
    row = weights + tl.program_id(0) * positions
    top, total = float("-inf"), 0.0
    for start in range(0, positions, BLOCK):
        s = start + tl.arange(0, BLOCK)
        score = tl.load(row + s, mask=s < positions, other=float("-inf"))
        new_top = tl.maximum(top, tl.max(score, axis=0))
        # Before the first position that is not excluded there is no top to subtract.
        shift = tl.where(new_top == float("-inf"), 0.0, new_top)
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(score - shift), axis=0)
        top = new_top
    for start in range(0, positions, BLOCK):
        s = start + tl.arange(0, BLOCK)
        score = tl.load(row + s, mask=s < positions, other=float("-inf"))
        tl.store(row + s, tl.exp(score - top) / total, mask=s < positions)


@triton.jit(do_not_specialize=["positions"], do_not_specialize_on_alignment=["weights"])
@no_type_check
def weighted_sum(
    weights,
    memory,
    context,
    narrow,
    narrow_stride,
    hypotheses,
    positions,
    width,
    BLOCK_S: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """A block of the columns of row b's context; positions of weight 0 are not read."""
    b = tl.program_id(0).to(tl.int64)
    m = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ok = m < width
    sums = tl.zeros([BLOCK_S, BLOCK], tl.float32)
    for start in range(0, positions, BLOCK_S):
        s = start + tl.arange(0, BLOCK_S)
        weight = tl.load(weights + b * positions + s, mask=s < positions, other=0.0)[:, None]
        place = (b // hypotheses * positions + s)[:, None] * width + m
        sums += weight * tl.load(memory + place, mask=(weight != 0.0) & ok, other=0.0)
    result = tl.sum(sums, axis=0)
    tl.store(context + b * width + m, result, mask=ok)
    tl.store(narrow + b * narrow_stride + m, result, mask=ok)


@triton.jit(do_not_specialize=["positions"], do_not_specialize_on_alignment=["weights", "products"])
@no_type_check
def memory_products(
    d_context,
    weights,
    memory,
    products,
    positions,
    width,
    BLOCK_S: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The context's gradient times the memory, at a block of positions of sentence b."""
    b = tl.program_id(0).to(tl.int64)
    s = tl.program_id(1) * BLOCK_S + tl.arange(0, BLOCK_S)
    rows = b * positions + s
    weight = tl.load(weights + rows, mask=s < positions, other=0.0)
    sums = tl.zeros([BLOCK_S, BLOCK], tl.float32)
    for start in range(0, width, BLOCK):
        m = start + tl.arange(0, BLOCK)
        ok = m < width
        place = rows[:, None] * width + m
        value = tl.load(memory + place, mask=(weight != 0.0)[:, None] & ok, other=0.0)
        sums += value * tl.load(d_context + b * width + m, mask=ok, other=0.0)
    tl.store(products + rows, tl.sum(sums, axis=1), mask=s < positions)


@triton.jit(do_not_specialize=["positions"], do_not_specialize_on_alignment=["weights", "d_scores"])
@no_type_check
def softmax_backward(weights, d_scores, positions, BLOCK: tl.constexpr):
    """The gradient of sentence b's weights becomes that of its scores, in place."""
    row = tl.program_id(0) * positions
    mean = tl.zeros([BLOCK], tl.float32)
    for start in range(0, positions, BLOCK):
        s = start + tl.arange(0, BLOCK)
        weight = tl.load(weights + row + s, mask=s < positions, other=0.0)
        mean += weight * tl.load(d_scores + row + s, mask=s < positions, other=0.0)
    mean = tl.sum(mean, axis=0)
    for start in range(0, positions, BLOCK):
        s = start + tl.arange(0, BLOCK)
        weight = tl.load(weights + row + s, mask=s < positions, other=0.0)
        d_weight = tl.load(d_scores + row + s, mask=s < positions, other=0.0)
        tl.store(d_scores + row + s, weight * (d_weight - mean), mask=s < positions)


@triton.jit(do_not_specialize=["positions"], do_not_specialize_on_alignment=["real", "scores"])
@no_type_check
def additive_scores(
    keys,
    query,
    vector,
    real,
    scores,
    hypotheses,
    positions,
    width,
    BLOCK_S: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """A block of the positions of row b's sentence; padding is not read."""
    b = tl.program_id(0).to(tl.int64)
    s = tl.program_id(1) * BLOCK_S + tl.arange(0, BLOCK_S)
    source = b // hypotheses * positions + s
    wanted = tl.load(real + source, mask=s < positions, other=0) != 0
    sums = tl.zeros([BLOCK_S, BLOCK], tl.float32)
    for start in range(0, width, BLOCK):
        a = start + tl.arange(0, BLOCK)
        ok = a < width
        place = source[:, None] * width + a
        key = tl.load(keys + place, mask=wanted[:, None] & ok, other=0.0)
        q = tl.load(query + b * width + a, mask=ok, other=0.0)
        sums += hyperbolic(key + q) * tl.load(vector + a, mask=ok, other=0.0)
    score = tl.where(wanted, tl.sum(sums, axis=1), float("-inf"))
    tl.store(scores + b * positions + s, score, mask=s < positions)


@triton.jit(do_not_specialize=["positions"], do_not_specialize_on_alignment=["d_scores"])
@no_type_check
def additive_scores_backward(
    keys,
    query,
    vector,
    d_scores,
    d_query,
    d_keys,
    d_vector,
    positions,
    width,
    BLOCK_S: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """A block of the attention's units for all positions of sentence b; d_score 0 is not read."""
    b = tl.program_id(0).to(tl.int64)
    a = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ok = a < width
    q = tl.load(query + b * width + a, mask=ok, other=0.0)
    to_query = tl.zeros([BLOCK_S, BLOCK], tl.float32)
    to_vector = tl.zeros([BLOCK_S, BLOCK], tl.float32)
    for start in range(0, positions, BLOCK_S):
        s = start + tl.arange(0, BLOCK_S)
        d = tl.load(d_scores + b * positions + s, mask=s < positions, other=0.0)[:, None]
        wanted = (d != 0.0) & ok
        place = (b * positions + s)[:, None] * width + a
        tanh = hyperbolic(tl.load(keys + place, mask=wanted, other=0.0) + q)
        slope = d * (1.0 - tanh * tanh)
        to_query += slope
        to_vector += d * tanh
        collected = tl.load(d_keys + place, mask=wanted, other=0.0)
        tl.store(d_keys + place, collected + slope, mask=wanted)
    here = b * width + a
    v = tl.load(vector + a, mask=ok, other=0.0)
    tl.store(d_query + here, v * tl.sum(to_query, axis=0), mask=ok)
    so_far = tl.load(d_vector + here, mask=ok, other=0.0)
    tl.store(d_vector + here, so_far + tl.sum(to_vector, axis=0), mask=ok)


@triton.jit(do_not_specialize=["rows"])
@no_type_check
def row_losses(logits, bias, targets, results, rows, words, BLOCK: tl.constexpr):
    """Of one row: both losses, the greatest logit, the sum of exponentials below it."""
    row = tl.program_id(0).to(tl.int64)
    top, total, plain = float("-inf"), 0.0, 0.0
    for start in range(0, words, BLOCK):
        v = start + tl.arange(0, BLOCK)
        ok = v < words
        x = tl.load(logits + row * words + v, mask=ok, other=0.0).to(tl.float32)
        x += tl.load(bias + v, mask=ok, other=0.0)
        plain += tl.sum(x, axis=0)
        x = tl.where(ok, x, float("-inf"))
        new_top = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top), axis=0)
        top = new_top
    target = tl.load(targets + row)
    known = (target >= 0) & (target < words)  # else the loss is NaN: an error could not be raised
    chosen = tl.load(logits + row * words + target, mask=known, other=float("nan")).to(tl.float32)
    chosen += tl.load(bias + target, mask=known, other=0.0)
    log_total = tl.log(total)
    tl.store(results + row, top - chosen + log_total)
    tl.store(results + rows + row, top - plain / words + log_total)
    tl.store(results + 2 * rows + row, top)
    tl.store(results + 3 * rows + row, total)


@triton.jit(do_not_specialize=["rows"])
@no_type_check
def row_gradients(
    logits,
    bias,
    targets,
    results,
    d_bias,
    smoothing,
    scale,
    rows,
    words,
    BLOCK_N: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """A block of words, all rows: logits become gradients, whose sum is added to the bias's."""
    v = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = v < words
    own = tl.load(bias + v, mask=ok, other=0.0)
    sums = tl.zeros([BLOCK_N, BLOCK], tl.float32)
    for start in range(0, rows, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        real = n < rows
        top = tl.load(results + 2 * rows + n, mask=real, other=0.0)[:, None]
        total = tl.load(results + 3 * rows + n, mask=real, other=1.0)[:, None]
        target = tl.load(targets + n, mask=real, other=0)[:, None]
        place = n.to(tl.int64)[:, None] * words + v
        inside = real[:, None] & ok
        x = tl.load(logits + place, mask=inside, other=0.0).to(tl.float32) + own
        wanted = smoothing / words + tl.where(v == target, 1.0 - smoothing, 0.0)
        d = scale * (tl.exp(x - top) / total - wanted)
        sums += tl.where(inside, d, 0.0)
        tl.store(logits + place, d, mask=inside)
    so_far = tl.load(d_bias + v, mask=ok, other=0.0)
    tl.store(d_bias + v, so_far + tl.sum(sums, axis=0), mask=ok)
