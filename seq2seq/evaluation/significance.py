"""Bootstrap intervals and paired tests of differences in corpus BLEU.

All functions take the counts of :func:`seq2seq.evaluation.scores.bleu_counts`, stacked to
[K N 10] for a system trained with K seeds. Its BLEU is the mean over seeds of corpus BLEU; a
resample draws sentences, the same ones for each seed and each system. So intervals and p-values
cover the variance of the test set with the trained models held fixed; the range over seeds is
reported next to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Num

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.scores import bleu

FEW = 100
"""A score of fewer sentences is marked: it varies too much to conclude from."""

SHORT_WORDS = 20
"""The difference in differences takes sources of at most so many words as short ..."""
LONG_WORDS = 30
"""... and of more words than this as long. Fixed in advance, for any buckets."""

TIE = 1e-9  # BLEU points: equal up to rounding


@dataclass(frozen=True)
class Interval:
    """A BLEU, or a difference in it, with its bootstrap interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(
        cls, value: float, samples: Float[np.ndarray, "R"], config: EvaluationConfig
    ) -> "Interval":
        """The central interval that holds the share ``config.confidence`` of the samples."""
        tail = (1 - config.confidence) / 2
        low, high = np.quantile(samples, [tail, 1 - tail])
        return cls(value, float(low), float(high))


@dataclass(frozen=True)
class PairedComparison:
    """A system against a baseline on the same sentences."""

    gap: Interval
    """BLEU of the system minus BLEU of the baseline."""
    p_bootstrap: float
    """Paired bootstrap (Koehn 2004), as sacreBLEU computes it."""
    p_randomization: float
    """Two-sided paired approximate randomisation (Riezler & Maxwell 2005)."""


@dataclass(frozen=True)
class DifferenceInDifferences:
    """By how much more a system gains on long sentences than on short ones."""

    difference: Interval
    """``long`` minus ``short``."""
    long: Interval
    """System minus baseline, in corpus BLEU over all sources of more than 30 words."""
    short: Interval
    """The same over those of at most 20 words."""
    long_sentences: int
    short_sentences: int
    by_seed: dict[str, float]
    """The difference for each seed that both systems were trained with."""


@dataclass(frozen=True)
class Trend:
    """How BLEU changes from the first bucket of enough sentences to the last one."""

    first: str
    """Words of the bucket."""
    last: str
    change: Interval
    """BLEU of the last minus BLEU of the first."""
    half: str | None
    """The first bucket in which BLEU is less than half of that in the first; None if in none."""
    half_from: str | None
    half_to: str | None
    """The interval of ``half``; None for beyond the last bucket."""


def mean_bleu(counts: Num[np.ndarray, "K N 10"]) -> float:
    """Corpus BLEU over all N sentences, averaged over the K seeds."""
    return float(bleu(counts.sum(axis=1)).mean())


def bootstrap_bleu(
    counts: Num[np.ndarray, "K N 10"], config: EvaluationConfig, seed: int | list[int]
) -> Float[np.ndarray, "R"]:
    """The mean BLEU over the K seeds of N sentences drawn with replacement, R times."""
    generator = np.random.default_rng(seed)
    sentences, rows = counts.shape[1], _by_sentence(counts)
    sums = []
    for _ in range(config.bootstrap):
        drawn = generator.integers(sentences, size=sentences)
        sums.append(np.bincount(drawn, minlength=sentences) @ rows)
    return bleu(np.reshape(sums, (config.bootstrap, *counts[:, 0].shape))).mean(axis=-1)


def _by_sentence(counts: Num[np.ndarray, "K N 10"]) -> Float[np.ndarray, "N K*10"]:
    """A row for each sentence; sums of rows are exact, as counts are whole numbers."""
    return counts.swapaxes(0, 1).reshape(counts.shape[1], -1).astype(np.float64)


def bleu_interval(counts: Num[np.ndarray, "K N 10"], config: EvaluationConfig) -> Interval:
    """The mean BLEU over seeds, with its bootstrap interval."""
    return Interval.of(mean_bleu(counts), bootstrap_bleu(counts, config, config.seed), config)


def compare_paired(
    baseline: Int[np.ndarray, "K N 10"], system: Int[np.ndarray, "L N 10"], config: EvaluationConfig
) -> PairedComparison:
    """The gap between two systems with its interval and two p-values.

    The p-values are those of ``sacrebleu.significance.PairedTest`` for the same seed and number of
    trials, except that a trial as far apart as the systems themselves counts against them: the
    same system twice has p = 1 here.
    """
    gap, samples = _gap(baseline, system, config.seed, config)
    spread = np.abs(samples) - np.abs(samples).mean()
    return PairedComparison(
        gap=Interval.of(gap, samples, config),
        p_bootstrap=p_value(spread, abs(gap)),
        p_randomization=randomization_test(baseline, system, config),
    )


def _gap(
    baseline: Int[np.ndarray, "K N 10"],
    system: Int[np.ndarray, "L N 10"],
    seed: int | list[int],
    config: EvaluationConfig,
) -> tuple[float, Float[np.ndarray, "R"]]:
    """The gap in BLEU, and that of each resample of the sentences."""
    # The same seed draws the same sentences for both: that is the pairing.
    ours, theirs = (bootstrap_bleu(counts, config, seed) for counts in (system, baseline))
    return mean_bleu(system) - mean_bleu(baseline), ours - theirs


def randomization_test(
    baseline: Int[np.ndarray, "K N 10"], system: Int[np.ndarray, "L N 10"], config: EvaluationConfig
) -> float:
    """Two-sided p-value: how often swapping outputs at random sets the systems as far apart.

    Each trial swaps, for about half of the sentences, all of the baseline's outputs for all of the
    system's. The statistic is the gap itself, between means over seeds. A seed of the one is
    swapped with a seed of the other: in turn, all as often, where they have different numbers.
    """
    pairs = np.lcm(len(baseline), len(system))
    first = np.tile(baseline, (pairs // len(baseline), 1, 1))
    second = np.tile(system, (pairs // len(system), 1, 1))
    generator = np.random.default_rng(config.seed)
    swap = generator.integers(2, size=(config.bootstrap, first.shape[1]), dtype=bool)
    difference = _by_sentence(second - first)
    moved = np.reshape([chosen @ difference for chosen in swap], (len(swap), pairs, -1))

    def distance(moved: Float[np.ndarray, "R L 10"]) -> Float[np.ndarray, "R"]:
        ours, theirs = first.sum(axis=1) + moved, second.sum(axis=1) - moved
        return np.abs(bleu(ours).mean(axis=-1) - bleu(theirs).mean(axis=-1))

    observed = float(distance(np.zeros((1, *moved.shape[1:])))[0])
    return p_value(distance(moved), observed)


def p_value(trials: Float[np.ndarray, "R"], observed: float) -> float:
    """Share of trials at least as extreme as ``observed``, which itself counts as one."""
    extreme = int(np.count_nonzero(trials >= observed - TIE))
    return (extreme + 1) / (len(trials) + 1)


def difference_in_differences(
    baseline: dict[int | None, Int[np.ndarray, "N 10"]],
    system: dict[int | None, Int[np.ndarray, "N 10"]],
    words: Int[np.ndarray, "N"],
    config: EvaluationConfig,
) -> DifferenceInDifferences | None:
    """By how much the gain of a system grows with source length; None without short or long ones.

    Counts are by seed; ``words`` is the source length of each sentence.
    """
    pools = words > LONG_WORDS, words <= SHORT_WORDS
    if not all(members.any() for members in pools):
        return None
    ours, theirs = np.stack(list(system.values())), np.stack(list(baseline.values()))
    # A stream of random numbers for each pool: the pools must not move together.
    (long, long_samples), (short, short_samples) = (
        _gap(theirs[:, members], ours[:, members], [config.seed, part], config)
        for part, members in enumerate(pools)
    )

    def growth(seed: int | None) -> float:
        gaps = [
            mean_bleu(system[seed][None, members]) - mean_bleu(baseline[seed][None, members])
            for members in pools
        ]
        return gaps[0] - gaps[1]

    return DifferenceInDifferences(
        difference=Interval.of(long - short, long_samples - short_samples, config),
        long=Interval.of(long, long_samples, config),
        short=Interval.of(short, short_samples, config),
        long_sentences=int(pools[0].sum()),
        short_sentences=int(pools[1].sum()),
        by_seed={str(seed): growth(seed) for seed in system if seed in baseline},
    )


def trend(
    counts: Int[np.ndarray, "K N 10"],
    members: Mapping[str, Bool[np.ndarray, "N"]],
    config: EvaluationConfig,
) -> Trend | None:
    """The trend over the buckets of at least ``FEW`` sentences; None without two of them.

    Buckets hold different sentences, so each is resampled with random numbers of its own.
    ``members`` says which sentences are in which bucket, from short to long.
    """
    enough = {words: chosen for words, chosen in members.items() if chosen.sum() >= FEW}
    if len(enough) < 2:
        return None
    names, pools = list(enough), [counts[:, chosen] for chosen in enough.values()]
    values = np.array([[mean_bleu(pool)] for pool in pools])
    samples = np.array(
        [bootstrap_bleu(pool, config, [config.seed, n]) for n, pool in enumerate(pools)]
    )
    tail = (1 - config.confidence) / 2
    ends = np.quantile(_half(samples), [tail, 1 - tail], method="inverted_cdf")
    words: list[str | None] = [*names, None]
    return Trend(
        first=names[0],
        last=names[-1],
        change=Interval.of(float(values[-1, 0] - values[0, 0]), samples[-1] - samples[0], config),
        half=words[int(_half(values)[0])],
        half_from=words[int(ends[0])],
        half_to=words[int(ends[1])],
    )


def _half(bleus: Float[np.ndarray, "buckets R"]) -> Int[np.ndarray, "R"]:
    """Index of the first bucket below half of bucket 0; the number of buckets if none is."""
    below = bleus < bleus[0] / 2
    return np.where(below.any(axis=0), below.argmax(axis=0), len(bleus))
