"""Is a difference more than the luck of the test set? Bootstrap intervals and paired tests.

Everything here works on the counts of :func:`seq2seq.evaluation.scores.bleu_counts`, stacked to
[K N 10] for a system trained with K seeds. Its BLEU is the mean over seeds of corpus BLEU; a
resample draws sentences, the same ones for each seed and each system. So intervals and p-values
speak of the luck of the test set with the trained models held fixed; the luck of the training is
the range over seeds, reported beside them and never mixed in.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Num

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.scores import bleu

SHORT_WORDS = 20
"""The difference in differences takes sources of at most so many words as short ..."""
LONG_WORDS = 30
"""... and of more words than this as long. Fixed in advance, whatever the buckets shown."""

TIE = 1e-9  # BLEU points: equal up to rounding
CHUNK = 4_000_000  # resample weights held at a time (32 MB)


@dataclass(frozen=True)
class PairedComparison:
    """A system against a baseline on the same sentences, in BLEU."""

    gap: float
    """BLEU of the system minus BLEU of the baseline."""
    gap_low: float
    gap_high: float
    p_bootstrap: float
    """Paired bootstrap (Koehn 2004), as sacreBLEU computes it."""
    p_randomization: float
    """Two-sided paired approximate randomisation (Riezler & Maxwell 2005)."""


@dataclass(frozen=True)
class DifferenceInDifferences:
    """By how much more a system gains on long sentences than on short ones, in BLEU.

    value = gap on sources of more than 30 words - gap on sources of at most 20 words, each gap
    being system minus baseline in corpus BLEU over the pooled sentences.
    """

    value: float
    low: float
    high: float
    long_gap: float
    long_low: float
    long_high: float
    short_gap: float
    short_low: float
    short_high: float
    long_sentences: int
    short_sentences: int
    by_seed: dict[str, float]
    """The value for each seed that both systems were trained with."""


def resampled_sums(
    counts: Num[np.ndarray, "K N 10"], rounds: int, generator: np.random.Generator
) -> Float[np.ndarray, "R K 10"]:
    """Sums of counts over ``rounds`` draws of N sentences with replacement, same for all K."""
    kinds, sentences, columns = counts.shape
    flat = counts.transpose(1, 0, 2).reshape(sentences, kinds * columns).astype(np.float64)
    sums = np.empty((rounds, kinds * columns))
    step = max(1, CHUNK // sentences)
    for start in range(0, rounds, step):
        rows = min(step, rounds - start)
        draws = generator.integers(sentences, size=(rows, sentences))
        draws += sentences * np.arange(rows)[:, None]
        times = np.bincount(draws.ravel(), minlength=rows * sentences)
        sums[start : start + rows] = times.reshape(rows, sentences).astype(np.float64) @ flat
    return sums.reshape(rounds, kinds, columns)


def mean_bleu(counts: Num[np.ndarray, "K N 10"]) -> float:
    """Corpus BLEU over all N sentences, averaged over the K seeds."""
    return float(bleu(counts.sum(axis=1)).mean())


def bootstrap_bleu(
    counts: Num[np.ndarray, "K N 10"], rounds: int, generator: np.random.Generator
) -> Float[np.ndarray, "R"]:
    """The mean BLEU over seeds of each bootstrap resample of the sentences."""
    return bleu(resampled_sums(counts, rounds, generator)).mean(axis=-1)


def percentile_interval(samples: Float[np.ndarray, "R"], confidence: float) -> tuple[float, float]:
    """The central interval that holds the share ``confidence`` of the samples."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(samples, [tail, 1 - tail])
    return float(low), float(high)


def bleu_interval(
    counts: Num[np.ndarray, "K N 10"], config: EvaluationConfig
) -> tuple[float, float]:
    """Bootstrap interval of the mean BLEU over seeds."""
    samples = bootstrap_bleu(counts, config.bootstrap, np.random.default_rng(config.seed))
    return percentile_interval(samples, config.confidence)


def compare_paired(
    baseline: Int[np.ndarray, "K N 10"], system: Int[np.ndarray, "L N 10"], config: EvaluationConfig
) -> PairedComparison:
    """The gap between two systems with its interval, and two tests of whether it is luck.

    The p-values are those of ``sacrebleu.significance.PairedTest`` for the same seed and number of
    trials, except that a trial as far apart as the systems themselves counts against them: the
    same system twice has p = 1 here.
    """
    # Generators of the same seed draw the same sentences for both: that is the pairing.
    samples = [
        bootstrap_bleu(counts, config.bootstrap, np.random.default_rng(config.seed))
        for counts in (system, baseline)
    ]
    gaps = samples[0] - samples[1]
    gap = mean_bleu(system) - mean_bleu(baseline)
    low, high = percentile_interval(gaps, config.confidence)
    spread = np.abs(gaps) - np.abs(gaps).mean()
    return PairedComparison(
        gap=gap,
        gap_low=low,
        gap_high=high,
        p_bootstrap=p_value(spread, abs(gap)),
        p_randomization=randomization_test(baseline, system, config),
    )


def randomization_test(
    baseline: Int[np.ndarray, "K N 10"], system: Int[np.ndarray, "L N 10"], config: EvaluationConfig
) -> float:
    """Two-sided p-value: how often does swapping outputs at random set the systems as far apart?

    Each trial swaps, for about half of the sentences, all of the baseline's outputs for all of the
    system's. The statistic is the gap itself, between means over seeds. A seed of the one is
    swapped with a seed of the other: in turn, all as often, where they have different numbers.
    """
    pairs = np.lcm(len(baseline), len(system))
    first = np.tile(baseline, (pairs // len(baseline), 1, 1))
    second = np.tile(system, (pairs // len(system), 1, 1))
    _, sentences, columns = first.shape
    difference = (second - first).transpose(1, 0, 2).reshape(sentences, pairs * columns)
    difference = difference.astype(np.float64)  # whole numbers, so that sums are exact

    generator = np.random.default_rng(config.seed)
    swap = generator.integers(2, size=(config.bootstrap, sentences), dtype=bool)
    swapped = np.empty((config.bootstrap, pairs * columns))
    step = max(1, CHUNK // sentences)
    for start in range(0, config.bootstrap, step):
        swapped[start : start + step] = swap[start : start + step].astype(np.float64) @ difference

    def distance(moved: Float[np.ndarray, "R L 10"]) -> Float[np.ndarray, "R"]:
        ours, theirs = first.sum(axis=1) + moved, second.sum(axis=1) - moved
        return np.abs(bleu(ours).mean(axis=-1) - bleu(theirs).mean(axis=-1))

    observed = float(distance(np.zeros((1, pairs, columns)))[0])
    return p_value(distance(swapped.reshape(-1, pairs, columns)), observed)


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
    """Does the system's gain grow with source length? The statistic this project is about.

    Args:
        baseline: counts of the baseline, by seed.
        system: counts of the system, by seed.
        words: source length of each sentence.
        config: resamples, their seed and the coverage.

    Returns:
        None where the test set has no short or no long sentences.
    """
    pools = {"long": words > LONG_WORDS, "short": words <= SHORT_WORDS}
    if not all(members.any() for members in pools.values()):
        return None
    ours, theirs = np.stack(list(system.values())), np.stack(list(baseline.values()))
    gaps, samples = {}, {}
    for part, (pool, members) in enumerate(pools.items()):
        gaps[pool] = mean_bleu(ours[:, members]) - mean_bleu(theirs[:, members])
        # A stream of random numbers for each pool: the pools must not move together.
        system_samples, baseline_samples = (
            bootstrap_bleu(
                counts[:, members], config.bootstrap, np.random.default_rng([config.seed, part])
            )
            for counts in (ours, theirs)
        )
        samples[pool] = system_samples - baseline_samples
    low, high = percentile_interval(samples["long"] - samples["short"], config.confidence)
    long_low, long_high = percentile_interval(samples["long"], config.confidence)
    short_low, short_high = percentile_interval(samples["short"], config.confidence)

    by_seed = {}
    for seed in system:
        if seed in baseline:
            pair = {
                pool: float(
                    bleu(system[seed][members].sum(axis=0))
                    - bleu(baseline[seed][members].sum(axis=0))
                )
                for pool, members in pools.items()
            }
            by_seed[str(seed)] = pair["long"] - pair["short"]
    return DifferenceInDifferences(
        value=gaps["long"] - gaps["short"],
        low=low,
        high=high,
        long_gap=gaps["long"],
        long_low=long_low,
        long_high=long_high,
        short_gap=gaps["short"],
        short_low=short_low,
        short_high=short_high,
        long_sentences=int(pools["long"].sum()),
        short_sentences=int(pools["short"].sum()),
        by_seed=by_seed,
    )
