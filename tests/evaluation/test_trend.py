"""The trend by length against one resample at a time, and where it cannot be told."""

from dataclasses import replace

import numpy as np
import pytest
from synthetic_translations import translated

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.lengths import bucket_members, source_words
from seq2seq.evaluation.scores import bleu, bleu_counts
from seq2seq.evaluation.trend import trend

SETTINGS = EvaluationConfig(bootstrap=150, seed=5)
LENGTHS = {5: 120, 15: 110, 25: 30, 35: 130, 45: 100}  # of 25 words there are too few


def counted(quality, *numbers):
    """Counts of a system with a seed for each number, and the buckets of its sentences."""
    texts = [translated(LENGTHS, quality, number) for number in numbers]
    counts = np.stack([bleu_counts(one.hypotheses, one.references, "13a") for one in texts])
    return counts, bucket_members(source_words(texts[0].sources), SETTINGS.edges)


def test_it_equals_one_resample_at_a_time():
    counts, members = counted(lambda n: 1 - n / 130, 1, 2)
    found = trend(counts, members, SETTINGS)
    believed = {w: np.flatnonzero(m) for w, m in members.items() if m.sum() >= 100}
    assert list(believed) == ["1-10", "11-20", "31-40", "41-50"]

    def mean(lines):
        return np.mean([bleu(of_seed[lines].sum(axis=0)) for of_seed in counts])

    true = [mean(lines) for lines in believed.values()]
    assert (found.first, found.last) == ("1-10", "41-50")
    assert found.change == pytest.approx(true[-1] - true[0])
    half = next(w for w, value in zip(believed, true, strict=True) if value < true[0] / 2)
    assert found.half == half

    drawn = []
    for place, lines in enumerate(believed.values()):
        generator = np.random.default_rng([5, place])
        drawn.append([])
        for draw in generator.integers(len(lines), size=(150, len(lines))):
            drawn[-1].append(mean(lines[draw]))
    changes = np.subtract(drawn[-1], drawn[0])
    expected = np.quantile(changes, [0.025, 0.975])
    np.testing.assert_allclose([found.low, found.high], expected)
    names = [*believed, None]
    halves = sorted(
        next((b for b in range(4) if drawn[b][r] < drawn[0][r] / 2), 4) for r in range(150)
    )
    # Of 150, the central 95% lie between the 4th and the 147th.
    assert (found.half_from, found.half_to) == (names[halves[3]], names[halves[146]])


def partly_right(right: int) -> np.ndarray:
    """Counts of 100 sentences, some right and all others wrong: BLEU is the share of right ones."""
    sizes, ngrams = [5, 5], [5, 4, 3, 2]
    rows = [[*sizes, *ngrams, *ngrams], [*sizes, 0, 0, 0, 0, *ngrams]]
    return np.repeat(rows, [right, 100 - right], axis=0)


def test_its_intervals_have_the_confidence_asked_for():
    """Of 100 drawn, 50 are right in one resample of ten where 43 are: then half is not yet lost."""
    counts = np.concatenate([partly_right(right) for right in (100, 43, 20)])[None]
    members = dict(zip(("1-10", "11-20", "21+"), np.eye(3, dtype=bool).repeat(100, 1), strict=True))
    settings = replace(SETTINGS, bootstrap=1000)
    wide, narrow = (
        trend(counts, members, replace(settings, confidence=share)) for share in (0.95, 0.5)
    )
    assert wide.change == narrow.change == pytest.approx(-80)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert (wide.half, wide.half_from, wide.half_to) == ("11-20", "11-20", "21+")
    assert (narrow.half, narrow.half_from, narrow.half_to) == ("11-20", "11-20", "11-20")


def test_a_system_that_keeps_half_everywhere():
    found = trend(*counted(lambda n: 0.95, 3), SETTINGS)
    assert (found.half, found.half_from, found.half_to) == (None, None, None)
    assert found.low < found.change < found.high


def test_one_length_of_enough_sentences_has_no_trend():
    counts, members = counted(lambda n: 0.9, 1)
    few = {"1-10": members["1-10"], "21-30": members["21-30"]}
    assert trend(counts, few, SETTINGS) is None
