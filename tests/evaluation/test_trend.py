"""The trend by length against one resample at a time, and where it cannot be told."""

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
    assert halves[3] < halves[146]  # this system is a case of doubt


def test_a_system_that_keeps_half_everywhere():
    found = trend(*counted(lambda n: 0.95, 3), SETTINGS)
    assert (found.half, found.half_from, found.half_to) == (None, None, None)
    assert found.low < found.change < found.high


def test_one_length_of_enough_sentences_has_no_trend():
    counts, members = counted(lambda n: 0.9, 1)
    few = {"1-10": members["1-10"], "21-30": members["21-30"]}
    assert trend(counts, few, SETTINGS) is None
