"""Intervals of a mean over few seeds, by Student's t."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from seq2seq.evaluation.significance import Interval, Samples


def t_interval(*arms: Sequence[Samples], confidence: float = 0.95) -> Interval | None:
    """Interval of the mean of the first system minus those of the others; None with one seed.

    The bootstrap draws from the given seeds. With two seeds, this understates their variance by
    half. Here the variance is a sum: the variance over the resamples of sentences, plus the
    variance of each system's mean over seeds. The degrees of freedom are those of Welch and
    Satterthwaite. ``arms`` has for each system the samples of each of its seeds, resampled only
    over sentences.
    """
    if any(len(seeds) < 2 for seeds in arms):
        return None
    first, *others = (np.mean(seeds, axis=0) for seeds in arms)
    samples = first - sum(others)
    of_seeds = [np.var([one[0] for one in seeds], ddof=1) / len(seeds) for seeds in arms]
    variance = float(np.var(samples[1:]) + sum(of_seeds))
    spread = sum(one**2 / (len(seeds) - 1) for one, seeds in zip(of_seeds, arms, strict=True))
    freedom = variance**2 / spread if spread else math.inf
    half = t_quantile((1 + confidence) / 2, freedom) * math.sqrt(variance)
    return Interval(float(samples[0]), float(samples[0]) - half, float(samples[0]) + half)


def t_quantile(share: float, freedom: float) -> float:
    """Quantile of Student's t for a probability ``share`` above 1/2, to about four digits.

    With t = sqrt(freedom) * tan(angle), the density of the angle is proportional to
    cos(angle)^(freedom - 1). This density is summed over a fine grid. Above 10,000 degrees of
    freedom, the normal distribution is used.
    """
    if freedom > 10_000:
        return NormalDist().inv_cdf(share)
    angles = np.linspace(0, np.pi / 2, 200_001)
    density = np.cos((angles[1:] + angles[:-1]) / 2) ** (freedom - 1)
    area = np.concatenate([[0], np.cumsum(density)])
    angle = np.interp(2 * share - 1, area / area[-1], angles)
    return float(np.sqrt(freedom) * np.tan(angle))
