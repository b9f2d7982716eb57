"""Intervals from a bootstrap over sentences and seeds, and paired tests of BLEU.

A statistic is a function of columns summed over the sentences of a pool, such as the counts for
BLEU. For a system with K seeds, the columns are stacked to [K N C], and its value is the mean.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int, Num, UInt8

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.scores import bleu

FEW = 100
"""A score on fewer sentences than this is marked, because it varies too much for conclusions."""

TIE = 1e-9  # BLEU points; a smaller difference is only rounding

Samples = Float[np.ndarray, "R *G"]
"""Value of a statistic, then its value on each resample; [R G] for a statistic of G groups.
Resamples of two systems are paired."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Sentences of a test set that are scored together, with resamples of them.

    A resample draws the same sentences for each system, and seeds where there are several.
    """

    members: Bool[np.ndarray, "N"]
    number: int
    """Number of the pool's random stream. Stream 0 draws the same resamples as sacreBLEU."""
    resamples: int
    seed: int
    _streams: dict[int, int] = field(default_factory=dict)
    """Number of seeds -> number of the random stream that draws this number."""

    @property
    def sentences(self) -> int:
        return int(self.members.sum())

    @cached_property
    def _drawn(self) -> UInt8[np.ndarray, "R N"]:
        """How often each resample draws each sentence."""
        generator = np.random.default_rng([self.seed, self.number])
        drawn = np.zeros((self.resamples, self.sentences), dtype=np.uint8)
        for counts in drawn:
            sentences = generator.integers(len(counts), size=len(counts))
            counts += np.bincount(sentences, minlength=len(counts)).astype(np.uint8)
        return drawn

    def estimate(
        self,
        columns: Num[np.ndarray, "K N C"],
        statistic: Callable[[Float[np.ndarray, "R K C"]], Float[np.ndarray, "R K *G"]],
    ) -> Samples:
        """Mean over seeds of a statistic of the summed columns, for the pool and its resamples.

        Systems with equally many seeds draw them in pairs, the others independently.
        """
        rows, seeds = _by_sentence(columns[:, self.members]), len(columns)
        parts = np.array_split(self._drawn, len(self._drawn) // 50 + 1)  # to save memory
        sums = np.concatenate([rows.sum(axis=0, keepdims=True), *(part @ rows for part in parts)])
        values = statistic(sums.reshape(len(sums), seeds, -1))
        shape = len(values), seeds
        stream = self._streams.setdefault(seeds, len(self._streams)) if seeds > 1 else 0
        picked = np.random.default_rng([self.seed, 0, stream + 1]).integers(seeds, size=shape)
        picked[0] = range(seeds)
        return np.asarray(values[np.arange(len(values))[:, None], picked].mean(axis=1))


def _by_sentence(columns: Num[np.ndarray, "K N C"]) -> Float[np.ndarray, "N K*C"]:
    """A row for each sentence, in float64, so that sums of whole counts are exact."""
    return columns.swapaxes(0, 1).reshape(columns.shape[1], -1).astype(np.float64)


@dataclass(frozen=True)
class Interval:
    """A score or a difference of scores, with its interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: Samples) -> "Interval":
        """Build the percentile interval of the resamples, at ``EvaluationConfig.confidence``."""
        tail = (1 - EvaluationConfig.confidence) / 2
        # Ends are samples, not means of two samples.
        low, high = np.quantile(samples[1:], [tail, 1 - tail], method="nearest")
        return cls(float(samples[0]), float(low), float(high))


@dataclass(frozen=True)
class PairedComparison:
    """BLEU of a system minus that of a baseline on the same sentences, with two p-values."""

    gap: Interval
    p_bootstrap: float
    """Paired bootstrap (Koehn 2004)."""
    p_randomization: float
    """Two-sided paired approximate randomisation (Riezler & Maxwell 2005)."""


@dataclass(frozen=True)
class DifferenceInDifferences:
    """Gap in BLEU on long sources minus that on short ones, see ``EvaluationConfig.ends``."""

    difference: Interval
    long: Interval
    short: Interval
    long_sentences: int
    short_sentences: int
    by_seed: dict[str, float]
    """Seed -> difference, for each seed that both systems were trained with."""

    @property
    def few(self) -> bool:
        """Whether the short sentences, or the long ones, are fewer than 100."""
        return min(self.short_sentences, self.long_sentences) < FEW


def compare_paired(
    gap: Samples,
    baseline: Int[np.ndarray, "K N 10"],
    system: Int[np.ndarray, "L N 10"],
    config: EvaluationConfig,
) -> PairedComparison:
    """Compare two systems by their ``gap`` in BLEU and their counts of the same sentences.

    For one seed each, the p-values are those of ``sacrebleu.significance.PairedTest``, except that
    a trial that equals the observation counts, too, and that a bucket draws other resamples.
    """
    spread = np.abs(gap)
    spread[1:] -= spread[1:].mean()
    return PairedComparison(
        gap=Interval.of(gap),
        p_bootstrap=p_value(spread),
        p_randomization=randomization_test(baseline, system, config),
    )


def randomization_test(
    baseline: Int[np.ndarray, "K N 10"], system: Int[np.ndarray, "L N 10"], config: EvaluationConfig
) -> float:
    """Two-sided p-value: fraction of trials whose gap is at least as large as the observed gap.

    Each trial swaps the outputs of baseline and system for about half of the sentences, seed by
    seed. The gap is that between means over seeds. The seeds of a system with fewer are repeated.
    """
    pairs = np.lcm(len(baseline), len(system))
    first, second = (np.tile(of, (pairs // len(of), 1, 1)) for of in (baseline, system))
    generator = np.random.default_rng(config.seed)
    swap = generator.integers(2, size=(config.bootstrap, first.shape[1]), dtype=bool)
    difference = _by_sentence(second - first)
    trials = [np.zeros(difference.shape[1]), *(chosen @ difference for chosen in swap)]
    moved = np.reshape(trials, (len(trials), pairs, -1))
    ours, theirs = first.sum(axis=1) + moved, second.sum(axis=1) - moved
    return p_value(np.abs(bleu(ours).mean(axis=-1) - bleu(theirs).mean(axis=-1)))


def p_value(statistic: Samples) -> float:
    """Fraction of trials at least as extreme as the observation, which counts as a trial, too."""
    return float(np.mean(statistic >= statistic[0] - TIE))


def difference_in_differences(
    short: tuple[Pool, Samples],
    long: tuple[Pool, Samples],
    baseline: Mapping[int | None, Int[np.ndarray, "N 10"]],
    system: Mapping[int | None, Int[np.ndarray, "N 10"]],
) -> DifferenceInDifferences:
    """Compute how much more a system gains on long sources than on short ones.

    ``short`` and ``long`` have the sources and the gap; the others are seed -> counts.
    """
    by_seed = {}
    for seed in (seed for seed in system if seed in baseline and seed is not None):
        sums = [
            [counts[seed][pool.members].sum(axis=0) for counts in (baseline, system)]
            for pool, _ in (short, long)
        ]
        before, after = np.diff(bleu(np.array(sums)))[:, 0]
        by_seed[str(seed)] = float(after - before)
    return DifferenceInDifferences(
        difference=Interval.of(long[1] - short[1]),
        long=Interval.of(long[1]),
        short=Interval.of(short[1]),
        long_sentences=long[0].sentences,
        short_sentences=short[0].sentences,
        by_seed=by_seed,
    )
