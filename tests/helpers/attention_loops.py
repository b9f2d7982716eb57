"""Slow versions of every kind of attention, as their papers write them, one number at a time."""

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
    """Softmax of ``scores``, of which some may be minus infinity."""
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


def additive(attention, state: Vector, memory: list[Vector], past: Vector) -> Vector:
    """Bahdanau et al. 2014: e_j = v . tanh(W s + U h_j)."""
    asked = times(attention.query.weight, state)
    return energies(attention, [plus(asked, times(attention.key.weight, h)) for h in memory])


def coverage(attention, state: Vector, memory: list[Vector], past: Vector) -> Vector:
    """Tu et al. 2016: e_j = v . tanh(W s + U h_j + V C_j)."""
    asked = times(attention.query.weight, state)
    covered = [times(attention.covered.weight, [c]) for c in past]
    keys = [times(attention.key.weight, h) for h in memory]
    return energies(attention, [plus(asked, *pair) for pair in zip(keys, covered, strict=False)])


def energies(attention, inner: list[Vector]) -> Vector:
    """e_j = v . tanh(inner_j)."""
    vector = attention.vector.tolist()
    return [product(vector, [math.tanh(x) for x in each]) for each in inner]


def dot(attention, state: Vector, memory: list[Vector], past: Vector) -> Vector:
    """Luong et al. 2015: e_j = s . h_j."""
    return [product(state, h) for h in memory]


def general(attention, state: Vector, memory: list[Vector], past: Vector) -> Vector:
    """Luong et al. 2015: e_j = (W s) . h_j."""
    return dot(attention, times(attention.query.weight, state), memory, past)


def scaled_dot(attention, state: Vector, memory: list[Vector], past: Vector) -> Vector:
    """Vaswani et al. 2017: e_j = (W_q s) . (W_k h_j) / sqrt(A)."""
    asked = times(attention.query.weight, state)
    keys = [times(attention.key.weight, h) for h in memory]
    return [product(asked, key) / math.sqrt(len(asked)) for key in keys]


def location(attention, state: Vector, memory: list[Vector], past: Vector) -> Vector:
    """Luong et al. 2015: the scores are W s; positions beyond its rows get no weight."""
    asked = times(attention.query.weight, state)[: len(memory)]
    return [*asked, *[-math.inf] * (len(memory) - len(asked))]


def local_m(attention, state: Vector, memory: list[Vector], past: Vector) -> Vector:
    """Luong et al. 2015: the window of step i has its centre at position i, or at the last."""
    return inside(attention, state, memory, min(past[0], len(memory) - 1))


def inside(attention, state: Vector, memory: list[Vector], centre: float) -> Vector:
    scores = general(attention, state, memory, [])
    return [e if abs(j - centre) <= attention.window else -math.inf for j, e in enumerate(scores)]


def uniform(attention, state: Vector, memory: list[Vector], past: Vector) -> Vector:
    """Equal scores: the context is the mean of the annotations."""
    return [0.0] * len(memory)


def linear(attention, state: Vector, memory: list[Vector], past: Vector) -> Vector:
    """Shen et al. 2021: the scores are W s, one for each pooled vector."""
    return times(attention.query.weight, state)


def slots(attention, state: Vector, memory: list[Vector], past: Vector) -> Vector:
    """Additive attention to pooled vectors."""
    return additive(attention, state, memory, past)


def elu(attention, state: Vector, memory: list[Vector], past: Vector) -> Vector:
    """Katharopoulos et al. 2020: log phi(W s) + log z, for each pooled vector."""
    return [math.log(x) + z for x, z in zip(features(attention.query, state), past, strict=True)]


SCORES: dict[str, Callable[..., Vector]] = {
    loop.__name__: loop
    for loop in (
        *(additive, coverage, dot, general, scaled_dot),
        *(location, local_m, uniform, slots, linear, elu),
    )
} | {"delta": linear}
"""Kind of attention -> its scores, for the kinds whose weights are a softmax of scores."""


def look(
    kind: str, attention, state: Vector, memory: list[Vector], past: Vector
) -> tuple[Vector, Vector]:
    """Context, and weights of the positions in ``memory``."""
    if kind == "multi_head":
        return multi_head(attention, state, memory)
    weights = local_p(attention, state, memory) if kind == "local_p" else None
    weights = weights or softmax(SCORES[kind](attention, state, memory, past))
    return mixed(weights, memory), weights


def local_p(attention, state: Vector, memory: list[Vector]) -> Vector:
    """Luong et al. 2015: a predicted window, and a Gaussian around its centre."""
    inner = [math.tanh(x) for x in times(attention.inner.weight, state)]
    share = 1 / (1 + math.exp(-times(attention.position.weight, inner)[0]))
    centre, sigma = share * (len(memory) - 1), attention.window / 2
    weights = softmax(inside(attention, state, memory, centre))
    return [w * math.exp(-((j - centre) ** 2) / (2 * sigma**2)) for j, w in enumerate(weights)]


def multi_head(attention, state: Vector, memory: list[Vector]) -> tuple[Vector, Vector]:
    """Vaswani et al. 2017, section 3.2.2; the weights are the mean over heads."""
    asked = times(attention.query.weight, state)
    keys = [times(attention.key.weight, h) for h in memory]
    values = [times(attention.value.weight, h) for h in memory]
    narrow, wide = len(asked) // attention.heads, len(values[0]) // attention.heads
    joined: Vector = []
    mean = [0.0] * len(memory)
    for head in range(attention.heads):
        part = slice(head * narrow, (head + 1) * narrow)
        place = slice(head * wide, (head + 1) * wide)
        scores = [product(asked[part], key[part]) / math.sqrt(narrow) for key in keys]
        weights = softmax(scores)
        joined += mixed(weights, [value[place] for value in values])
        mean = [m + w / attention.heads for m, w in zip(mean, weights, strict=True)]
    return times(attention.joined.weight, joined), mean


def features(layer: torch.nn.Linear, vector: Vector) -> Vector:
    """elu(W x) + 1."""
    return [x + 1 if x > 0 else math.exp(x) for x in times(layer.weight, vector)]


def delta_memory(attention, words: list[Vector]) -> list[Vector]:
    """Schlag et al. 2021: what a key holds is replaced, in part, by each word's vector."""
    memory = [[0.0] * len(words[0]) for _ in range(len(attention.pool.weight))]
    for word in words:
        key = softmax(times(attention.pool.weight, word))
        strength = times(attention.rate.weight, word)[0] + attention.rate.bias.item()
        rate = 1 / (1 + math.exp(-strength))
        wrong = plus(word, [-x for x in mixed(key, memory)])
        memory = [
            plus(row, [rate * k * x for x in wrong]) for k, row in zip(key, memory, strict=True)
        ]
    return memory


def elu_sums(attention, state: Vector, words: list[Vector]) -> tuple[Vector, Vector, list[Vector]]:
    """Katharopoulos et al. 2020: context, share of each feature, mean of the words by feature."""
    asked = features(attention.query, state)
    keys = [features(attention.pool, word) for word in words]
    weights = [product(asked, key) for key in keys]
    context = mixed([w / sum(weights) for w in weights], words)
    columns = [*zip(*keys, strict=True)]
    shares = [a * sum(column) / sum(weights) for a, column in zip(asked, columns, strict=True)]
    return context, shares, [mixed([k / sum(c) for k in c], words) for c in columns]
