"""Sums written out, one number at a time: what the walk-throughs are checked against."""

import math

Rows = list[list[float]]


def product(left: Rows, right: Rows) -> Rows:
    """The matrix product."""
    result = []
    for row in left:
        result.append([0.0] * len(right[0]))
        for column in range(len(right[0])):
            for inner in range(len(right)):
                result[-1][column] += row[inner] * right[inner][column]
    return result


def softmax(scores: list[float]) -> list[float]:
    """exp(e_j) / sum of all, by way of logarithms, so that large scores do no harm."""
    largest = max(scores)
    logarithm = largest + math.log(sum(math.exp(score - largest) for score in scores))
    return [math.exp(score - logarithm) for score in scores]


def against_the_largest(weights: list[float]) -> list[float]:
    """What the exponentials have to be when the largest score is subtracted: the largest is 1."""
    return [weight / max(weights) for weight in weights]


def attend(weights: list[float], values: Rows) -> list[float]:
    """The sum over j of weights[j] times values[j]."""
    mean = [0.0] * len(values[0])
    for weight, value in zip(weights, values, strict=True):
        for place, number in enumerate(value):
            mean[place] += weight * number
    return mean


def self_attention(queries: Rows, keys: Rows, values: Rows) -> tuple[Rows, Rows]:
    """Weights and outputs of scaled dot-product attention, one query at a time."""
    weights, outputs = [], []
    for query in queries:
        scores = []
        for key in keys:
            total = sum(a * b for a, b in zip(query, key, strict=True))
            scores.append(total / math.sqrt(len(key)))
        weights.append(softmax(scores))
        outputs.append(attend(weights[-1], values))
    return weights, outputs
