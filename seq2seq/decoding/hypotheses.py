"""What search and sampling return: what a hypothesis may hold, how long it may be, how it ranks."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2seq.config import DecodingConfig
from seq2seq.data.vocabulary import BOS, EOS, PAD, UNK

MIN_COVERAGE = 1e-10
"""Attention below this counts as this: the logarithm stays finite."""


@dataclass(frozen=True)
class SearchResult:
    """One hypothesis for one sentence."""

    ids: list[int]
    """Without BOS and EOS."""
    score: float
    """Log-probability by length, less the coverage penalty; hypotheses rank by it."""
    log_probability: float
    """Sum over all pieces and EOS, in nats."""
    capped: bool
    """It has the longest allowed length, and the model had not ended it."""


def ban_pieces(
    logits: Float[Tensor, "R V"], written: Int[Tensor, "R T"], config: DecodingConfig
) -> None:
    """Set the logits of what may not follow ``written`` to -inf: PAD, BOS, what ``config`` forbids.

    The probability of a banned piece goes to no other one. EOS stays allowed before ``min_length``
    where nothing else is.
    """
    for piece in [PAD, BOS, UNK] if config.forbid_unknown else [PAD, BOS]:
        logits[:, piece] = -torch.inf
    length, size = written.shape[1], config.no_repeat_ngram
    if size and length >= size:
        grams = written.unfold(1, size, 1)
        repeats = (grams[:, :, :-1] == written[:, None, length - size + 1 :]).all(dim=2)
        # Elsewhere PAD is named, which is banned anyway.
        logits.scatter_(1, grams[:, :, -1].where(repeats, PAD), -torch.inf)
    if length < config.min_length:
        end = logits[:, EOS].clone()
        logits[:, EOS] = -torch.inf
        stuck = logits.amax(dim=1) == -torch.inf
        logits[:, EOS] = end.masked_fill(~stuck, -torch.inf)


def length_caps(lengths: Int[Tensor, "B"], config: DecodingConfig) -> Int[Tensor, "B"]:
    """Most pieces of each hypothesis, EOS included; ``lengths`` count the source's EOS.

    max_ratio x source pieces + max_extra, at most max_length, with room for min_length.
    """
    caps = ((lengths - 1).double() * config.max_ratio).floor().long() + config.max_extra
    return caps.clamp(min=config.min_length + 1, max=config.max_length)


def length_divisors(longest: int, config: DecodingConfig) -> Float[Tensor, "T"]:
    """length ** length_penalty for lengths from 0 to ``longest``, EOS counted.

    It rises with the length and a log-probability only falls, so that an unfinished hypothesis can
    at best reach what it has now, divided by the divisor of its cap.
    """
    return (torch.arange(longest + 1, dtype=torch.float64) ** config.length_penalty).float()


def coverage_penalty(
    coverage: Float[Tensor, "R S"], mask: Bool[Tensor, "R S"], beta: float
) -> Float[Tensor, "R"]:
    """beta x sum over source positions j of log min(sum over steps i of a_ij, 1), at most 0.

    Wu et al. 2016, equation 14. ``coverage`` holds the sums over steps; 0 without attention.
    """
    logs = coverage.clamp(MIN_COVERAGE, 1).log().masked_fill(~mask, 0).sum(dim=1)
    return beta * logs.masked_fill(~coverage.any(dim=1), 0)
