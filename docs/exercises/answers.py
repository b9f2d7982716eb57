"""Answers to the exercises in blanks.py. Other answers may be right, too."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def masked_softmax(scores: Tensor, lengths: Tensor) -> Tensor:
    """Exercise 1: a score of minus infinity becomes a weight of 0."""
    real = torch.arange(scores.shape[1]) < lengths[:, None]
    return scores.masked_fill(~real, -torch.inf).softmax(dim=1)


def additive_scores(
    query: Tensor, annotations: Tensor, W_a: Tensor, U_a: Tensor, v_a: Tensor
) -> Tensor:
    """Exercise 2: W_a q is added to each row of keys."""
    keys = annotations @ U_a.T  # S x A
    return torch.tanh(W_a @ query + keys) @ v_a


def contexts(scores: Tensor, annotations: Tensor) -> Tensor:
    """Exercise 3: each target word divides its attention among the source positions."""
    weights = scores.softmax(dim=1)
    return weights @ annotations


def decoder_step(
    order: str,
    state: Tensor,
    word: Tensor,
    attend: Callable[[Tensor], Tensor],
    lstm: Callable[[Tensor, Tensor, Tensor | None], Tensor],
) -> tuple[Tensor, Tensor]:
    """Exercise 4: attend before the step, or after it."""
    if order == "bahdanau":
        context = attend(state)
        return lstm(state, word, context), context
    state = lstm(state, word, None)
    return state, attend(state)


def fixed_vector(forward: Tensor, backward: Tensor, lengths: Tensor) -> Tensor:
    """Exercise 5: the forward LSTM ends at the last real position, the other at the first."""
    rows = torch.arange(len(lengths))
    return torch.cat([forward[rows, lengths - 1], backward[:, 0]], dim=1)


def bleu(hypothesis: Sequence[str], reference: Sequence[str]) -> float:
    """Exercise 6: Papineni et al. 2002, without smoothing."""

    def grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    logarithms = 0.0
    for n in range(1, 5):
        ours, theirs = grams(hypothesis, n), grams(reference, n)
        found = (ours & theirs).total()  # the smaller of both counts
        if not found:
            return 0.0
        logarithms += math.log(found / ours.total()) / 4
    return 100 * math.exp(logarithms + min(0.0, 1 - len(reference) / len(hypothesis)))
