"""Sums written out, one number at a time, to check the worked examples."""

import math

import numpy as np

from helpers.attention_loops import mixed, softmax

Rows = list[list[float]]


def assert_steps(example, expected):
    """Require that each named step of ``example`` has these numbers, read row by row."""
    for name, numbers in expected.items():
        shape = example[name].shape
        wanted = np.reshape(numbers, shape)
        np.testing.assert_allclose(example[name], wanted, rtol=1e-12, atol=1e-15, err_msg=name)


def product(left: Rows, right: Rows) -> Rows:
    """The matrix product."""
    result = []
    for row in left:
        result.append([0.0] * len(right[0]))
        for column in range(len(right[0])):
            for inner in range(len(right)):
                result[-1][column] += row[inner] * right[inner][column]
    return result


def against_the_largest(weights: list[float]) -> list[float]:
    """exp(score - largest score), computed from the softmax weights; the largest is 1."""
    return [weight / max(weights) for weight in weights]


def weighted(weights: list[float], values: Rows) -> Rows:
    """weights[j] times values[j]."""
    return [
        [weight * number for number in row] for weight, row in zip(weights, values, strict=True)
    ]


def scaled_scores(queries: Rows, keys: Rows) -> Rows:
    """query . key / sqrt(width), a row for each query."""
    return [
        [sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(len(key)) for key in keys]
        for query in queries
    ]


def self_attention(queries: Rows, keys: Rows, values: Rows, prefix: str = "") -> dict[str, Rows]:
    """The steps of scaled dot-product attention, by name, one query at a time."""
    weights = [softmax(scores) for scores in scaled_scores(queries, keys)]
    return {
        f"{prefix}exponentials": [against_the_largest(row) for row in weights],
        f"{prefix}weights": weights,
        f"{prefix}outputs": [mixed(row, values) for row in weights],
    }
