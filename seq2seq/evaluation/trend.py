"""How a system's BLEU changes from short sources to long ones, with what is luck of the test set.

The sentences of different lengths are different sentences: each bucket is resampled by itself, with
a stream of random numbers of its own. As everywhere, the trained models are held fixed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.lengths import FEW
from seq2seq.evaluation.significance import bootstrap_bleu, mean_bleu, percentile_interval


@dataclass(frozen=True)
class Trend:
    """From the first bucket of enough sentences to the last one, in BLEU."""

    first: str
    """Words of the bucket."""
    last: str
    change: float
    """BLEU of the last minus BLEU of the first."""
    low: float
    high: float
    half: str | None
    """The first bucket in which BLEU is less than half of that in the first; None if in none."""
    half_from: str | None
    half_to: str | None
    """The buckets between which the resamples put that; None for beyond the last one."""


def trend(
    counts: Int[np.ndarray, "K N 10"],
    members: Mapping[str, Bool[np.ndarray, "N"]],
    config: EvaluationConfig,
) -> Trend | None:
    """The trend over the buckets of at least ``FEW`` sentences; None where there are no two such.

    Args:
        counts: those of :func:`seq2seq.evaluation.scores.bleu_counts`, for each seed.
        members: which sentences are in which bucket, from short to long.
        config: resamples, their seed and the coverage.
    """
    believed = {words: chosen for words, chosen in members.items() if chosen.sum() >= FEW}
    if len(believed) < 2:
        return None
    names = list(believed)
    values = np.array([[mean_bleu(counts[:, chosen])] for chosen in believed.values()])
    samples = np.stack(
        [
            bootstrap_bleu(
                counts[:, chosen], config.bootstrap, np.random.default_rng([config.seed, place])
            )
            for place, chosen in enumerate(believed.values())
        ]
    )
    low, high = percentile_interval(samples[-1] - samples[0], config.confidence)
    tail = (1 - config.confidence) / 2
    ends = np.quantile(_half(samples), [tail, 1 - tail], method="inverted_cdf")
    words: list[str | None] = [*names, None]
    return Trend(
        first=names[0],
        last=names[-1],
        change=float(values[-1, 0] - values[0, 0]),
        low=low,
        high=high,
        half=words[int(_half(values)[0])],
        half_from=words[int(ends[0])],
        half_to=words[int(ends[1])],
    )


def _half(bleus: Float[np.ndarray, "buckets R"]) -> Int[np.ndarray, "R"]:
    """The place of the first bucket below half of bucket 0; the number of buckets if none is."""
    below = bleus < bleus[0] / 2
    return np.where(below.any(axis=0), below.argmax(axis=0), len(bleus))
