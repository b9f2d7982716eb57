"""Every kind of attention as its paper writes it, one number at a time: slow, and independent."""

import math
from collections.abc import Callable, Sequence

import torch

Vector = list[float]


def times(matrix: torch.Tensor, vector: Sequence[float]) -> Vector:
    """A matrix times a vector."""
    return [sum(w * x for w, x in zip(row, vector, strict=True)) for row in matrix.tolist()]


def product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


def plus(*vectors: Vector) -> Vector:
    return [sum(numbers) for numbers in zip(*vectors, strict=True)]


def softmax(scores: Sequence[float]) -> Vector:
    """Of scores some of which may be minus infinity."""
    largest = max(scores)
    exponentials = [math.exp(score - largest) for score in scores]
    return [e / sum(exponentials) for e in exponentials]


def mixed(weights: Sequence[float], rows: Sequence[Sequence[float]]) -> Vector:
    """The weighted sum of rows."""
    columns = len(rows[0])
    return [
        sum(weight * row[k] for weight, row in zip(weights, rows, strict=True))
        for k in range(columns)
    ]


Look = tuple[Vector, Vector]
"""Context, and weights of real positions."""


def additive(attention, state: Vector, memory: list[Vector], past: Vector) -> Look:
    """Bahdanau et al. 2014: e_j = v . tanh(W s + U h_j)."""
    return small_network(
        attention,
        [
            plus(times(attention.query.weight, state), times(attention.key.weight, annotation))
            for annotation in memory
        ],
        memory,
    )


def concat(attention, state: Vector, memory: list[Vector], past: Vector) -> Look:
    """Luong et al. 2015: e_j = v . tanh(W [s; h_j])."""
    inner = [times(attention.joint.weight, [*state, *annotation]) for annotation in memory]
    return small_network(attention, inner, memory)


def coverage(attention, state: Vector, memory: list[Vector], past: Vector) -> Look:
    """Tu et al. 2016: e_j = v . tanh(W s + U h_j + V C_j)."""
    return small_network(
        attention,
        [
            plus(
                times(attention.query.weight, state),
                times(attention.key.weight, annotation),
                times(attention.covered.weight, [covered]),
            )
            for annotation, covered in zip(memory, past, strict=False)
        ],
        memory,
    )


def small_network(attention, inner: list[Vector], memory: list[Vector]) -> Look:
    """e_j = v . tanh(inner_j)."""
    vector = attention.vector.tolist()
    weights = softmax([product(vector, [math.tanh(x) for x in each]) for each in inner])
    return mixed(weights, memory), weights


def dot(attention, state: Vector, memory: list[Vector], past: Vector) -> Look:
    """Luong et al. 2015: e_j = s . h_j."""
    weights = softmax([product(state, annotation) for annotation in memory])
    return mixed(weights, memory), weights


def general(attention, state: Vector, memory: list[Vector], past: Vector) -> Look:
    """Luong et al. 2015: e_j = (W s) . h_j."""
    asked = times(attention.query.weight, state)
    weights = softmax([product(asked, annotation) for annotation in memory])
    return mixed(weights, memory), weights


def scaled_dot(attention, state: Vector, memory: list[Vector], past: Vector) -> Look:
    """Vaswani et al. 2017: e_j = (W_q s) . (W_k h_j) / sqrt(A)."""
    asked = times(attention.query.weight, state)
    scores = [
        product(asked, times(attention.key.weight, annotation)) / math.sqrt(len(asked))
        for annotation in memory
    ]
    weights = softmax(scores)
    return mixed(weights, memory), weights


def multi_head(attention, state: Vector, memory: list[Vector], past: Vector) -> Look:
    """Vaswani et al. 2017, section 3.2.2; the weights are the mean over heads."""
    asked = times(attention.query.weight, state)
    keys = [times(attention.key.weight, annotation) for annotation in memory]
    values = [times(attention.value.weight, annotation) for annotation in memory]
    heads = attention.heads
    narrow, wide = len(asked) // heads, len(values[0]) // heads
    joined: Vector = []
    mean = [0.0] * len(memory)
    for head in range(heads):
        part, place = (
            slice(head * narrow, (head + 1) * narrow),
            slice(head * wide, (head + 1) * wide),
        )
        scores = [product(asked[part], key[part]) / math.sqrt(narrow) for key in keys]
        weights = softmax(scores)
        joined += mixed(weights, [value[place] for value in values])
        mean = [m + w / heads for m, w in zip(mean, weights, strict=True)]
    return times(attention.joined.weight, joined), mean


def location(attention, state: Vector, memory: list[Vector], past: Vector) -> Look:
    """Luong et al. 2015: the scores are W s; no position beyond its rows is seen."""
    asked = times(attention.query.weight, state)[: len(memory)]
    weights = softmax([*asked, *[-math.inf] * (len(memory) - len(asked))])
    return mixed(weights, memory), weights


def local_m(attention, state: Vector, memory: list[Vector], past: Vector) -> Look:
    """Luong et al. 2015: the window of step i lies around position i, or the last one."""
    centre = min(past[0], len(memory) - 1)
    weights = softmax(_inside(attention, state, memory, centre))
    return mixed(weights, memory), weights


def local_p(attention, state: Vector, memory: list[Vector], past: Vector) -> Look:
    """Luong et al. 2015: a predicted window, and a Gaussian around its centre."""
    inner = [math.tanh(x) for x in times(attention.inner.weight, state)]
    share = 1 / (1 + math.exp(-times(attention.position.weight, inner)[0]))
    centre = share * (len(memory) - 1)
    weights = softmax(_inside(attention, state, memory, centre))
    sigma = attention.window / 2
    weights = [
        weight * math.exp(-((j - centre) ** 2) / (2 * sigma**2)) for j, weight in enumerate(weights)
    ]
    return mixed(weights, memory), weights


def _inside(attention, state: Vector, memory: list[Vector], centre: float) -> Vector:
    asked = times(attention.query.weight, state)
    return [
        product(asked, annotation) if abs(j - centre) <= attention.window else -math.inf
        for j, annotation in enumerate(memory)
    ]


def uniform(attention, state: Vector, memory: list[Vector], past: Vector) -> Look:
    """The mean of the annotations."""
    weights = [1 / len(memory)] * len(memory)
    return mixed(weights, memory), weights


LOOPS: dict[str, Callable[..., Look]] = {
    loop.__name__: loop
    for loop in (
        *(additive, concat, coverage, dot, general, scaled_dot, multi_head),
        *(location, local_m, local_p, uniform),
    )
}
"""Of every kind that looks anywhere."""
