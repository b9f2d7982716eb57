"""Slow versions of every kind of attention, as their papers write them: a sentence, step by step.

``state`` is the query, ``memory`` has a row for each source position (or pooled vector), and
``past`` holds the weights of the earlier steps.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from helpers.small_model import HEADS, WINDOW

Vector = np.ndarray
WITHOUT = ("fixed", "init_only", "none")
POOLED = ("slots", "linear", "elu", "delta")


def times(matrix: torch.Tensor, vectors: Vector) -> Vector:
    """A matrix times a vector, or times each row of several."""
    return np.asarray(vectors) @ matrix.detach().numpy().T


def product(one: Vector, other: Vector) -> float:
    return float(one @ other)


def sigmoid(x: Vector) -> Vector:
    return 1 / (1 + np.exp(-x))


def softmax(scores: Sequence[float]) -> Vector:
    """Softmax of ``scores``, of which some may be minus infinity."""
    exponentials = np.exp(np.asarray(scores) - max(scores))
    return exponentials / exponentials.sum()


def additive(attention, state: Vector, memory: Vector, past: list[Vector], more=0.0) -> Vector:
    """Bahdanau et al. 2014: e_j = v . tanh(W s + U h_j)."""
    inner = times(attention.query.weight, state) + times(attention.key.weight, memory) + more
    return times(attention.vector, np.tanh(inner))


def coverage(attention, state: Vector, memory: Vector, past: list[Vector]) -> Vector:
    """Tu et al. 2016: e_j = v . tanh(W s + U h_j + V C_j)."""
    covered = np.zeros(len(memory)) + sum(past)
    return additive(
        attention, state, memory, past, more=times(attention.covered.weight, covered[:, None])
    )


def dot(attention, state: Vector, memory: Vector, past: list[Vector]) -> Vector:
    """Luong et al. 2015: e_j = s . h_j."""
    return memory @ state


def general(attention, state: Vector, memory: Vector, past: list[Vector]) -> Vector:
    """Luong et al. 2015: e_j = (W s) . h_j."""
    return memory @ times(attention.query.weight, state)


def scaled_dot(attention, state: Vector, memory: Vector, past: list[Vector]) -> Vector:
    """Vaswani et al. 2017: e_j = (W_q s) . (W_k h_j) / sqrt(A)."""
    asked = times(attention.query.weight, state)
    return times(attention.key.weight, memory) @ asked / math.sqrt(len(asked))


def location(attention, state: Vector, memory: Vector, past: list[Vector]) -> Vector:
    """Luong et al. 2015: the scores are W s; positions beyond its rows get no weight."""
    asked = times(attention.query.weight, state)[: len(memory)]
    return np.append(asked, np.full(len(memory) - len(asked), -math.inf))


def local_m(attention, state: Vector, memory: Vector, past: list[Vector]) -> Vector:
    """Luong et al. 2015: the window of step i has its centre at position i, or at the last."""
    return inside(general(attention, state, memory, past), min(len(past), len(memory) - 1))


def inside(scores: Vector, centre: float) -> Vector:
    return np.where(abs(np.arange(len(scores)) - centre) <= WINDOW, scores, -math.inf)


def uniform(attention, state: Vector, memory: Vector, past: list[Vector]) -> Vector:
    """Equal scores: the context is the mean of the annotations."""
    return np.zeros(len(memory))


def linear(attention, state: Vector, memory: Vector, past: list[Vector]) -> Vector:
    """Shen et al. 2021: the scores are W s, one for each pooled vector."""
    return times(attention.query.weight, state)


SCORES: dict[str, Callable[..., Vector]] = {
    **{loop.__name__: loop for loop in (additive, coverage, dot, general, scaled_dot)},
    **{loop.__name__: loop for loop in (location, local_m, uniform, linear)},
    **{"slots": additive, "delta": linear},
}
"""Kind of attention -> its scores, for the kinds whose weights are a softmax of scores."""


def look(kind: str, attention, state: Vector, words: Vector, past: list[Vector]):
    """Context, and weights of the words or of the pooled vectors."""
    if kind in OTHERS:
        return OTHERS[kind](attention, state, words)
    memory = pooled(kind, attention, words) if kind in POOLED else words
    weights = softmax(SCORES[kind](attention, state, memory, past))
    return weights @ memory, weights


def local_p(attention, state: Vector, words: Vector) -> tuple[Vector, Vector]:
    """Luong et al. 2015: a predicted window, and a Gaussian around its centre."""
    inner = np.tanh(times(attention.inner.weight, state))
    centre = sigmoid(times(attention.position.weight, inner)) * (len(words) - 1)
    weights = softmax(inside(general(attention, state, words, []), centre))
    weights *= np.exp(-((np.arange(len(words)) - centre) ** 2) / (2 * (WINDOW / 2) ** 2))
    return weights @ words, weights


def multi_head(attention, state: Vector, words: Vector) -> tuple[Vector, Vector]:
    """Vaswani et al. 2017, section 3.2.2; the weights are the mean over heads."""
    queries = np.split(times(attention.query.weight, state), HEADS)
    keys = np.split(times(attention.key.weight, words), HEADS, axis=1)
    values = np.split(times(attention.value.weight, words), HEADS, axis=1)
    contexts, weights = [], []
    for query, key, value in zip(queries, keys, values, strict=True):
        weights.append(softmax(key @ query / math.sqrt(len(query))))
        contexts.append(weights[-1] @ value)
    return times(attention.joined.weight, np.concatenate(contexts)), np.mean(weights, axis=0)


def features(layer: torch.nn.Linear, vectors: Vector) -> Vector:
    """elu(W x) + 1."""
    x = times(layer.weight, vectors)
    return np.where(x > 0, x + 1, np.exp(x))


def elu(attention, state: Vector, words: Vector) -> tuple[Vector, Vector]:
    """Katharopoulos et al. 2020: the context, and the share of each feature."""
    asked, keys = features(attention.query, state), features(attention.pool, words)
    weights = keys @ asked
    return weights @ words / weights.sum(), asked * keys.sum(axis=0) / weights.sum()


OTHERS = {"local_p": local_p, "multi_head": multi_head, "elu": elu}


def pooled(kind: str, attention, words: Vector) -> Vector:
    """The vectors that stand for a sentence."""
    if kind == "delta":
        return delta_memory(attention, words)
    if kind == "elu":
        shares = features(attention.pool, words)
        return (shares / shares.sum(axis=0)).T @ words
    return np.array([softmax(row) for row in times(attention.pool.weight, words).T]) @ words


def delta_memory(attention, words: Vector) -> Vector:
    """Schlag et al. 2021: what a key holds is replaced, in part, by each word's vector."""
    memory = np.zeros((len(attention.pool.weight), words.shape[1]))
    for word in words:
        key = softmax(times(attention.pool.weight, word))
        rate = sigmoid(times(attention.rate.weight, word) + attention.rate.bias.item())
        memory += rate * np.outer(key, word - key @ memory)
    return memory
