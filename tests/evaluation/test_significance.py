from dataclasses import replace

import numpy as np
import pytest
import sacrebleu
from helpers.synthetic_translations import translated
from sacrebleu.significance import PairedTest

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.scores import bleu, bleu_counts, bucket_members, source_words
from seq2seq.evaluation.significance import (
    Interval,
    PairedComparison,
    bleu_interval,
    compare_paired,
    difference_in_differences,
    trend,
)
from seq2seq.evaluation.translations import Translations

SETTINGS = EvaluationConfig(bootstrap=300)
SENTENCES = {4: 60, 12: 60}


def counts_of(*systems: Translations) -> np.ndarray:
    """[K N 10]: one slice a seed."""
    return np.stack([bleu_counts(texts.hypotheses, texts.references) for texts in systems])


def test_interval_equals_a_slow_bootstrap_over_texts():
    texts = translated({7: 12}, lambda length: 0.8)
    rng = np.random.default_rng(SETTINGS.seed)
    slow = []
    for _ in range(SETTINGS.bootstrap):
        drawn = rng.choice(len(texts), size=len(texts))
        hypotheses = [texts.hypotheses[i] for i in drawn]
        references = [[texts.references[i] for i in drawn]]
        slow.append(sacrebleu.BLEU().corpus_score(hypotheses, references).score)
    found = bleu_interval(counts_of(texts), SETTINGS)
    assert [found.low, found.high] == pytest.approx(np.quantile(slow, [0.025, 0.975]))


def test_every_interval_has_the_confidence_asked_for():
    baseline, system = (counts_of(translated({8: 30, 40: 30}, lambda n: 0.7, s)) for s in (1, 2))

    def intervals(confidence: float) -> list[Interval]:
        settings = replace(SETTINGS, confidence=confidence)
        gap = compare_paired(baseline, system, settings).gap
        words = np.repeat([8, 40], 30)
        growth = difference_in_differences({1: baseline[0]}, {1: system[0]}, words, settings)
        alone = bleu_interval(system, settings)
        return [alone, gap, growth.difference, growth.long, growth.short]

    for wide, narrow in zip(intervals(0.95), intervals(0.5), strict=True):
        assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize("advantage", [0.02, 0.06])
@pytest.mark.parametrize("kind", ["bs", "ar"])
def test_p_values_are_those_of_sacrebleu(monkeypatch, kind, advantage):
    monkeypatch.setenv("SACREBLEU_SEED", "77")
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
    ours = compare_paired(counts_of(baseline), counts_of(system), replace(SETTINGS, seed=77))
    p = ours.p_bootstrap if kind == "bs" else ours.p_randomization
    assert p == pytest.approx(expected.p_value, abs=1e-9)


def test_perfect_against_shuffled_is_significant_and_a_system_against_itself_is_not():
    perfect = translated(SENTENCES, lambda length: 1.0)
    shuffled = replace(perfect, hypotheses=perfect.hypotheses[1:] + perfect.hypotheses[:1])
    found = compare_paired(counts_of(shuffled), counts_of(perfect), SETTINGS)
    assert found.gap.value > 80
    assert found.p_bootstrap == found.p_randomization == pytest.approx(1 / 301)
    mirrored = compare_paired(counts_of(perfect), counts_of(shuffled), SETTINGS)
    assert mirrored.gap.high == pytest.approx(-found.gap.low)
    same = compare_paired(counts_of(perfect, perfect), counts_of(perfect), SETTINGS)
    assert same == PairedComparison(Interval(0.0, 0.0, 0.0), 1.0, 1.0)


def difference(quality_baseline, quality_system, lengths=None, seeds=(1,)):
    lengths = lengths or {8: 100, 25: 10, 40: 60}
    baseline = {s: translated(lengths, quality_baseline, 10 + s) for s in seeds}
    system = {s: translated(lengths, quality_system, 20 + s) for s in seeds}
    return difference_in_differences(
        {s: bleu_counts(t.hypotheses, t.references) for s, t in baseline.items()},
        {s: bleu_counts(t.hypotheses, t.references) for s, t in system.items()},
        source_words(next(iter(system.values())).sources),
        SETTINGS,
    )


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
    for lengths in ({8: 50, 30: 50}, {21: 50, 40: 50}):  # none are long, none are short
        assert difference(bad, good, lengths) is None


def test_each_gap_and_its_interval_are_those_of_its_pool_alone():
    """By sacreBLEU, and a slow bootstrap over the pool, the same draws for both systems."""
    lengths = {3: 50, 18: 50, 33: 40, 70: 20}
    arms = [translated(lengths, lambda n, q=q: q, seed) for q, seed in ((0.6, 1), (0.8, 2))]
    counts = [bleu_counts(t.hypotheses, t.references) for t in arms]
    words = np.repeat(list(lengths), list(lengths.values()))
    found = difference_in_differences({1: counts[0]}, {1: counts[1]}, words, SETTINGS)
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
    baseline, system = counts_of(
        translated({20: 40}, lambda length: 0.5, 1), translated({20: 40}, lambda length: 0.8, 2)
    )
    found = difference_in_differences(
        {1: np.concatenate([baseline, baseline])},
        {1: np.concatenate([system, system])},
        np.repeat([20, 31], 40),
        SETTINGS,
    )
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
    found = compare_paired(baseline, system, SETTINGS)
    assert observed == pytest.approx(abs(found.gap.value))
    extreme = sum(distance(swap) >= observed - 1e-9 for swap in swaps)
    assert found.p_randomization == pytest.approx((extreme + 1) / 301)


TREND = EvaluationConfig(bootstrap=150, seed=5)
LENGTHS = {5: 120, 15: 110, 25: 30, 35: 130, 45: 100}  # of 25 words there are too few


def trend_counts(quality, *numbers):
    """Counts of a system with a seed for each number, and the buckets of its sentences."""
    texts = [translated(LENGTHS, quality, number) for number in numbers]
    counts = np.stack([bleu_counts(one.hypotheses, one.references, "13a") for one in texts])
    return counts, bucket_members(source_words(texts[0].sources), TREND.length_buckets)


def test_a_trend_equals_one_resample_at_a_time():
    counts, members = trend_counts(lambda n: 1 - n / 130, 1, 2)
    found = trend(counts, members, TREND)
    enough = {w: np.flatnonzero(m) for w, m in members.items() if m.sum() >= 100}
    assert list(enough) == ["1-10", "11-20", "31-40", "41-50"]

    def mean(lines):
        return np.mean([bleu(of_seed[lines].sum(axis=0)) for of_seed in counts])

    true = [mean(lines) for lines in enough.values()]
    assert (found.first, found.last) == ("1-10", "41-50")
    assert found.change.value == pytest.approx(true[-1] - true[0])
    half = next(w for w, value in zip(enough, true, strict=True) if value < true[0] / 2)
    assert found.half == half

    drawn = []
    for place, lines in enumerate(enough.values()):
        generator = np.random.default_rng([5, place])
        drawn.append([])
        for draw in generator.integers(len(lines), size=(150, len(lines))):
            drawn[-1].append(mean(lines[draw]))
    changes = np.subtract(drawn[-1], drawn[0])
    expected = np.quantile(changes, [0.025, 0.975])
    np.testing.assert_allclose([found.change.low, found.change.high], expected)
    names = [*enough, None]
    halves = sorted(
        next((b for b in range(4) if drawn[b][r] < drawn[0][r] / 2), 4) for r in range(150)
    )
    # Of 150, the central 95% lie between the 4th and the 147th.
    assert (found.half_from, found.half_to) == (names[halves[3]], names[halves[146]])


def test_a_trend_may_keep_half_everywhere_and_needs_two_lengths():
    counts, members = trend_counts(lambda n: 0.95, 3)
    found = trend(counts, members, TREND)
    assert (found.half, found.half_from, found.half_to) == (None, None, None)
    assert found.change.low < found.change.value < found.change.high
    few = {"1-10": members["1-10"], "21-30": members["21-30"]}
    assert trend(counts, few, TREND) is None
