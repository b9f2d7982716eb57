"""What hypotheses rank by: log-probability by length, and how much of the source they looked at."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2seq.config import DecodingConfig

# An attention this small on a whole hypothesis is none; its logarithm must stay a number.
LEAST_COVERAGE = 1e-10


def length_divisors(most: int, config: DecodingConfig) -> Float[Tensor, "T"]:
    """By what log-probabilities are divided at each length from 0 to ``most``, EOS counted.

    ``power``: length ** alpha, so that alpha 0 ranks by log-probability and alpha 1 by its average.
    ``gnmt``: ((5 + length) / 6) ** alpha (Wu et al. 2016, section 7). Both rise with the length, so
    that a hypothesis, whose log-probability only falls, can at best come to what it has now divided
    by the divisor of the greatest length.
    """
    length = torch.arange(most + 1, dtype=torch.float64)
    base = (5 + length) / 6 if config.length_penalty == "gnmt" else length
    return (base**config.length_normalization).float()


def length_caps(lengths: Int[Tensor, "B"], config: DecodingConfig) -> Int[Tensor, "B"]:
    """Most pieces, EOS included, that a hypothesis may have.

    max_ratio x source pieces + max_extra, but no more than max_length, and with room for
    min_length. ``lengths`` count the source's EOS, which is no piece.
    """
    caps = ((lengths - 1).double() * config.max_ratio).floor().long() + config.max_extra
    return caps.clamp(min=config.min_length + 1, max=config.max_length)


def coverage_penalty(
    coverage: Float[Tensor, "R S"], mask: Bool[Tensor, "R S"], beta: float
) -> Float[Tensor, "R"]:
    """beta x sum over source positions j of log min(sum over steps i of a_ij, 1).

    (Wu et al. 2016, section 7.) It is 0 where every position was looked at, and negative
    elsewhere; 0 for a model without attention. ``coverage`` holds the sums over steps.
    """
    logs = coverage.clamp(LEAST_COVERAGE, 1).log().masked_fill(~mask, 0).sum(dim=1)
    return beta * logs.masked_fill(~coverage.any(dim=1), 0)
