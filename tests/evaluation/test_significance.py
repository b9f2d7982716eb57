from dataclasses import replace

import numpy as np
import pytest
import sacrebleu
from helpers.synthetic_translations import translated
from sacrebleu.significance import PairedTest

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.lengths import ENDS, bleu_samples, length_pools
from seq2seq.evaluation.scores import bleu, bleu_counts, source_lengths
from seq2seq.evaluation.significance import (
    Interval,
    PairedComparison,
    Pool,
    compare_paired,
    difference_in_differences,
    half_length,
)
from seq2seq.evaluation.translations import Translations

SETTINGS = EvaluationConfig(bootstrap=300)
SENTENCES = {4: 60, 12: 60}


def counts_of(*systems: Translations) -> np.ndarray:
    """[K N 10]: one slice a seed."""
    return np.stack([bleu_counts(texts.hypotheses, texts.references) for texts in systems])


def bleus(counts: np.ndarray, settings: EvaluationConfig = SETTINGS) -> np.ndarray:
    """BLEU of all sentences, and that of each resample."""
    everything = np.ones(counts.shape[1], dtype=bool)
    return Pool(everything, 0, settings.bootstrap, settings.seed).estimate(counts, bleu)


def paired(baseline, system, settings: EvaluationConfig = SETTINGS) -> PairedComparison:
    gap = bleus(system, settings) - bleus(baseline, settings)
    return compare_paired(gap, baseline, system, settings)


def growth(baseline, system, words):
    """The difference in differences; counts are by seed."""
    pools = length_pools(words, SETTINGS)
    ours, theirs = (bleu_samples(np.stack([*of.values()]), pools) for of in (system, baseline))
    short, long = ((pools[end], ours[end] - theirs[end]) for end in ENDS)
    return difference_in_differences(short, long, baseline, system)


def test_seeds_are_drawn_in_pairs_only_by_systems_that_have_equally_many():
    """Statistics that depend on the seed alone."""
    pool = Pool(np.ones(3, dtype=bool), 0, 4_000, 1)

    def samples(*seeds: float) -> np.ndarray:
        columns = np.broadcast_to(np.reshape(seeds, (-1, 1, 1)), (len(seeds), 3, 1))
        return pool.estimate(columns, lambda sums: sums[..., 0])[1:]

    three, again, two, one = samples(0, 1, 2), samples(0, 1, 2), samples(0, 1), samples(1)
    assert np.corrcoef(three, again)[0, 1] > 0.99
    assert abs(np.corrcoef(three, two)[0, 1]) < 0.05
    assert one.std() == 0


def test_interval_equals_a_slow_bootstrap_over_texts():
    texts = translated({7: 12}, lambda length: 0.8)
    rng = np.random.default_rng(SETTINGS.seed)
    slow = []
    for _ in range(SETTINGS.bootstrap):
        drawn = rng.choice(len(texts), size=len(texts))
        hypotheses = [texts.hypotheses[i] for i in drawn]
        references = [[texts.references[i] for i in drawn]]
        slow.append(sacrebleu.BLEU().corpus_score(hypotheses, references).score)
    found = Interval.of(bleus(counts_of(texts)))
    expected = np.quantile(slow, [0.025, 0.975], method="nearest")
    assert [found.low, found.high] == pytest.approx(expected)


def test_intervals_cover_sentences_and_seeds():
    """By a slow bootstrap of both; for one seed alone, they are much narrower."""
    counts = counts_of(*(translated({8: 40}, lambda n, q=q: q, 9) for q in (0.9, 0.7, 0.8)))
    settings = replace(SETTINGS, bootstrap=2000)
    found = Interval.of(bleus(counts, settings))
    random, slow = np.random.default_rng(5), []
    for _ in range(2000):
        lines, seeds = random.integers(40, size=40), random.integers(3, size=3)
        slow.append(np.mean([bleu(counts[seed, lines].sum(axis=0)) for seed in seeds]))
    assert found.value == pytest.approx(bleu(counts.sum(axis=1)).mean())
    assert [found.low, found.high] == pytest.approx(np.quantile(slow, [0.025, 0.975]), abs=2.0)
    for alone in (Interval.of(bleus(counts[seed, None], settings)) for seed in range(3)):
        assert alone.high - alone.low < 0.75 * (found.high - found.low)


@pytest.mark.parametrize("advantage", [0.02, 0.06])
@pytest.mark.parametrize("kind", ["bs", "ar"])
def test_p_values_are_those_of_sacrebleu(monkeypatch, kind, advantage):
    monkeypatch.setenv("SACREBLEU_SEED", str(SETTINGS.seed))
    baseline = translated(SENTENCES, lambda length: 0.7, seed=1)
    system = translated(SENTENCES, lambda length: 0.7 + advantage, seed=2)
    test = PairedTest(
        [("baseline", baseline.hypotheses), ("system", system.hypotheses)],
        {"bleu": sacrebleu.BLEU()},
        [baseline.references],
        test_type=kind,
        n_samples=300,
    )
    expected = test()[1]["BLEU"][1]
    ours = paired(counts_of(baseline), counts_of(system), SETTINGS)
    p = ours.p_bootstrap if kind == "bs" else ours.p_randomization
    assert p == pytest.approx(expected.p_value, abs=1e-9)


def test_perfect_against_shuffled_is_significant_and_a_system_against_itself_is_not():
    perfect = translated(SENTENCES, lambda length: 1.0)
    shuffled = replace(perfect, hypotheses=perfect.hypotheses[1:] + perfect.hypotheses[:1])
    found = paired(counts_of(shuffled), counts_of(perfect))
    assert found.gap.value > 80
    assert found.p_bootstrap == found.p_randomization == pytest.approx(1 / 301)
    mirrored = paired(counts_of(perfect), counts_of(shuffled))
    assert mirrored.gap.high == pytest.approx(-found.gap.low)
    same = paired(counts_of(perfect, perfect), counts_of(perfect))
    assert same == PairedComparison(Interval(0.0, 0.0, 0.0), 1.0, 1.0)


def difference(quality_baseline, quality_system, seeds=(1,)):
    lengths = {8: 100, 25: 10, 40: 60}
    arms = [
        {s: translated(lengths, quality, first + s) for s in seeds}
        for first, quality in ((10, quality_baseline), (20, quality_system))
    ]
    counts = [{s: counts_of(texts)[0] for s, texts in arm.items()} for arm in arms]
    return growth(*counts, source_lengths(arms[0][1].sources))


def test_the_sign_of_the_difference_follows_the_direction():
    good, bad = lambda length: 0.9, lambda length: 0.5 if length > 30 else 0.9
    found = difference(bad, good, seeds=(1, 2, 3))
    assert found.difference.value == found.long.value - found.short.value
    assert found.difference.low > 20
    assert abs(found.short.value) < 12
    assert (found.long_sentences, found.short_sentences) == (60, 100)  # 25 words are neither
    assert list(found.by_seed) == ["1", "2", "3"]
    assert np.mean(list(found.by_seed.values())) == pytest.approx(found.difference.value)
    assert difference(good, bad).difference.high < -20
    none = difference(lambda length: 0.8, lambda length: 0.8)
    assert none.difference.low < 0 < none.difference.high


def test_each_gap_and_its_interval_are_those_of_its_pool_alone():
    """By sacreBLEU, and a slow bootstrap over the pool, the same draws for both systems."""
    lengths = {3: 50, 18: 50, 33: 40, 70: 20}
    arms = [translated(lengths, lambda n, q=q: q, seed) for q, seed in ((0.6, 1), (0.8, 2))]
    counts = [bleu_counts(t.hypotheses, t.references) for t in arms]
    words = np.repeat(list(lengths), list(lengths.values()))
    found = growth({1: counts[0]}, {1: counts[1]}, words)
    for interval, pool in ((found.short, words <= 20), (found.long, words > 30)):
        chosen = np.flatnonzero(pool)
        sides = [[[side[i] for i in chosen] for side in (t.hypotheses, t.references)] for t in arms]
        baseline, system = (sacrebleu.corpus_bleu(said, [meant]).score for said, meant in sides)
        assert interval.value == pytest.approx(system - baseline)
        random, gaps = np.random.default_rng(5), []
        for _ in range(2000):
            drawn = random.choice(chosen, len(chosen))
            gaps.append(float(bleu(counts[1][drawn].sum(0)) - bleu(counts[0][drawn].sum(0))))
        expected = np.quantile(gaps, [0.025, 0.975])
        assert [interval.low, interval.high] == pytest.approx(expected, abs=1.0)


def test_the_pools_are_resampled_independently():
    # The same sentences, called short and long: resamples in step would always cancel out.
    baseline, system = (
        np.tile(counts_of(translated({20: 40}, lambda length, q=q: q, seed))[0], (2, 1))
        for q, seed in ((0.5, 1), (0.8, 2))
    )
    found = growth({1: baseline}, {1: system}, np.repeat([20, 31], 40))
    assert found.difference.value == 0
    assert found.difference.low < -1
    assert found.difference.high > 1


@pytest.mark.parametrize(("qualities", "others"), [((0.9, 0.2), (0.6, 0.5)), ((0.9, 0.2), (0.6,))])
def test_what_is_randomised_is_the_gap_between_means_over_seeds(qualities, others):
    """By a slow loop; of pooled counts the gap would be another one, seeds being so different."""

    def seeds(chances: tuple[float, ...], start: int) -> np.ndarray:
        return counts_of(
            *(translated({10: 40}, lambda n, q=q: q, start + i) for i, q in enumerate(chances))
        )

    baseline, system = seeds(qualities, 1), seeds(others, 11)
    random = np.random.default_rng(SETTINGS.seed)
    swaps = random.integers(2, size=(SETTINGS.bootstrap, 40), dtype=bool)
    pairs = [(one, system[i % len(system)]) for i, one in enumerate(baseline)]

    def distance(swap: np.ndarray) -> float:
        ours = [bleu(np.where(swap[:, None], b, a).sum(axis=0)) for a, b in pairs]
        theirs = [bleu(np.where(swap[:, None], a, b).sum(axis=0)) for a, b in pairs]
        return abs(np.mean(ours) - np.mean(theirs))

    observed = distance(np.zeros(40, dtype=bool))
    found = paired(baseline, system)
    assert observed == pytest.approx(abs(found.gap.value))
    extreme = sum(distance(swap) >= observed - 1e-9 for swap in swaps)
    assert found.p_randomization == pytest.approx((extreme + 1) / 301)


def test_the_half_length_is_that_of_each_resample():
    """By a slow search for the half between two buckets."""
    generator, lengths = np.random.default_rng(1), [5.0, 15.0, 35.0]
    ends = ((30, 50), (15, 35), (5, 25))
    scores = np.stack([generator.uniform(*of, size=151) for of in ends])
    grid = np.linspace(5, 35, 30_001)
    halves = []
    for values in scores.T:
        lower = np.interp(grid, lengths, values) < values[0] / 2
        halves.append(grid[lower.argmax()] if lower.any() else np.inf)
    assert np.isinf(halves).any()
    np.testing.assert_allclose(half_length(lengths, scores, scores[0]), halves, atol=2e-3)


def test_a_score_of_zero_has_the_half_length_zero():
    scores = np.array([[0.0, 4.0], [3.0, 1.0]])
    assert half_length([5.0, 15.0], scores, scores[0])[0] == 0
