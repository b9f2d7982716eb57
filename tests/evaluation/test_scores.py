"""Scores by length, intervals and p-values, against sacreBLEU's own and slow loops."""

import math
import re
from statistics import fmean

import numpy as np
import pytest
import sacrebleu
from helpers.synthetic_translations import translated
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.significance import PairedTest

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.scores import TINY, bleu, bleu_counts, bucket_members, source_lengths
from seq2seq.evaluation.significance import (
    Interval,
    PairedComparison,
    Pool,
    compare_paired,
    difference_in_differences,
)
from seq2seq.evaluation.translations import (
    ENDS,
    Counts,
    ReferenceScores,
    ScoreRow,
    Translations,
    bleu_samples,
    length_pools,
    lines_by_length,
    score_rows,
)

SETTINGS = EvaluationConfig(bootstrap=300)
BUCKETS = {"1-10": range(11), "11-20": range(11, 21), "21+": range(21, 100), "all": range(100)}
WORDS = ["a", "b", "Cat", "dog's", "it,", "42.", "well-known", "猫。"]
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
SOURCES = st.sampled_from([0, 1, 10, 11, 20, 21, 99]).map(lambda length: "a " * length)
LOSSES = st.sampled_from([-1.5, -8.0, -30.0, -40_000.0, None])


@st.composite
def outputs(draw) -> list[Translations]:
    """Those of one or two seeds for one text, which has one or two references."""
    size = draw(st.integers(1, 6))

    def column(of):
        return draw(st.lists(of, min_size=size, max_size=size))

    def seed() -> Translations:
        forced = ReferenceScores(column(LOSSES), column(st.integers(0, 5)))
        return Translations(
            sources,
            references[0],
            column(SENTENCES),
            capped=draw(st.sampled_from([column(st.booleans()), []])),
            reference_scores=draw(st.sampled_from([forced, forced, None])),
            more_references=references[1:],
        )

    sources = column(SOURCES)
    references = [column(SENTENCES) for _ in range(draw(st.integers(1, 2)))]
    return [seed() for _ in range(draw(st.integers(1, 2)))]


def slow_scores(
    texts: Translations, lines: list[int], metric: sacrebleu.BLEU
) -> dict[str, float | None]:
    said = [texts.hypotheses[i] for i in lines]
    meant = [[side[i] for i in lines] for side in texts.all_references]
    found, loss = metric.corpus_score(said, meant), None
    if texts.reference_scores:
        columns = texts.reference_scores.log_probabilities, texts.reference_scores.pieces
        pairs = [(columns[0][i], columns[1][i]) for i in lines if columns[1][i]]
        if pairs and all(total is not None for total, _ in pairs):
            loss = -sum(total for total, _ in pairs) / sum(pieces for _, pieces in pairs)
    return {
        "bleu": found.score,
        "chrf": sacrebleu.CHRF().corpus_score(said, meant).score,
        "brevity_ratio": found.ratio,
        "unpenalised": found.score / (found.bp or 1),
        "capped": sum(texts.capped[i] for i in lines) if texts.capped else None,
        "loss": loss,
    }


@pytest.mark.slow
@pytest.mark.unchecked  # the checks draw random numbers, which strategies may not
@given(outputs(), st.sampled_from(["13a", "none", "intl", "char", "zh"]))
@settings(max_examples=80)
def test_scores_are_sacrebleus_for_the_sentences_of_each_bucket(seeds, tokenize):
    """The mean over seeds, of corpora with one reference or two."""
    config = EvaluationConfig(length_buckets=[10, 20], tokenize=tokenize)
    counted = [(texts, Counts.of(texts, config)) for texts in seeds]
    lengths = source_lengths(seeds[0].sources)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("seq2seq.evaluation.scores.TINY", 1)
        rows = score_rows(counted, length_pools(lengths, config))
    assert [row.words for row in rows] == [*BUCKETS]
    for row in rows:
        lines = [i for i, length in enumerate(lengths) if length in BUCKETS[row.words]]
        assert row.sentences == len(lines)
        if not lines:
            assert row == ScoreRow(row.words, 0)
            continue
        metric = sacrebleu.BLEU(tokenize=tokenize)
        expected = [slow_scores(texts, lines, metric) for texts in seeds]
        for key in expected[0]:
            values = [of_seed[key] for of_seed in expected]
            mean = None if None in values else fmean(values)
            assert getattr(row, key) == pytest.approx(mean, abs=1e-9), key
        assert row.by_seed == pytest.approx([one["bleu"] for one in expected], abs=1e-9)
        huge = row.loss is None or row.loss > 700
        assert row.perplexity == (None if huge else pytest.approx(math.exp(row.loss)))
        assert counted[0][1].signatures["BLEU"] == str(metric.get_signature())


def test_lengths_are_in_words_or_in_characters_without_spaces():
    sources = ["", "  ", " two  words ", "It's, three!", "我们 走。"]
    assert source_lengths(sources).tolist() == [0, 0, 2, 2, 2]
    assert source_lengths(sources, "characters").tolist() == [0, 0, 8, 11, 4]
    assert [ScoreRow("1-10", count).few for count in (99, 100)] == [True, False]


@given(st.lists(st.integers(0, 80), min_size=1, max_size=150))
def test_each_sentence_is_in_one_bucket_and_no_bucket_has_few(lengths):
    members = bucket_members(np.array(lengths), [10, 20, 40])
    assert (np.sum([*members.values()], axis=0) == 1).all()
    sizes = {int(mask.sum()) for mask in members.values()} - {0}
    assert len(members) == 1 or min(sizes) >= TINY
    for label, mask in members.items():
        low, high = re.fullmatch(r"(\d+)(?:-(\d+)|\+)", label).groups(default=80)
        assert all(int(low) <= max(length, 1) <= int(high) for length in np.array(lengths)[mask])


def test_lines_to_look_at_are_of_every_length_that_is_there(monkeypatch):
    monkeypatch.setattr("seq2seq.evaluation.scores.TINY", 1)
    lengths = [0, 1, 3, 30, 4, 5, 30, 6, 7, 8]
    sources, config = ["w " * length for length in lengths], EvaluationConfig(length_buckets=[10])
    chosen = lines_by_length(sources, config, 3)
    assert [lengths[line] for line in chosen] == [3, 30, 30, 6, 8]
    assert lines_by_length(sources, config, 99) == list(range(1, len(sources)))


def counts_of(size: int, *chances: float, seed: int = 1) -> np.ndarray:
    """[K N 10]: of a system whose k-th seed has each word right with the k-th of ``chances``."""
    seeds = enumerate(chances, start=seed)
    texts = [translated({10: size}, lambda n, chance=chance: chance, k) for k, chance in seeds]
    return np.stack([bleu_counts(one.hypotheses, one.references) for one in texts])


def paired(baseline: np.ndarray, system: np.ndarray) -> PairedComparison:
    pool = Pool(np.ones(baseline.shape[1], dtype=bool), 0, SETTINGS.bootstrap, SETTINGS.seed)
    gap = pool.estimate(system, bleu) - pool.estimate(baseline, bleu)
    return compare_paired(gap, baseline, system, SETTINGS)


def test_growth_with_length_and_its_intervals_equal_a_slow_bootstrap():
    """By lines and seeds; the same outputs are better on short sources and worse on long ones."""
    better, worse = counts_of(90, 0.8, 0.7), counts_of(90, 0.6, 0.6, seed=11)
    ways = (worse, better, better, better), (better, worse, worse, worse)
    arms = [np.concatenate(way, axis=1) for way in ways]
    # Sources of 20 words are short, and of 31 words long.
    every = length_pools(np.repeat([20, 21, 30, 31], 90), EvaluationConfig(bootstrap=5000))
    pools = {end: every[end] for end in ENDS}
    baseline, system = (bleu_samples(arm, pools) for arm in arms)
    short, long = ((pools[end], system[end] - baseline[end]) for end in ENDS)
    by_seed = [dict(enumerate(arm, start=1)) for arm in arms]
    found = difference_in_differences(short, long, *by_seed)
    assert (found.short_sentences, found.long_sentences) == (90, 90)
    first, second = bleu(better.sum(axis=1)) - bleu(worse.sum(axis=1))
    assert found.by_seed == pytest.approx({"1": -2 * first, "2": -2 * second})
    random, drawn = np.random.default_rng(5), []
    for _ in range(5000):
        seeds, lines = random.integers(2, size=2), random.integers(90, size=(2, 90))
        drawn.append([[arm[seeds][:, of].sum(axis=1) for of in lines] for arm in (better, worse)])
    above, below = np.moveaxis(bleu(np.array(drawn)).mean(axis=-1), 1, 0)
    shorter, longer = (above - below).T
    for interval, factor, slow in (
        (found.short, 1, shorter),
        (found.long, -1, -longer),
        (found.difference, -2, -longer - shorter),
    ):
        assert interval.value == pytest.approx(factor * (first + second) / 2)
        assert interval.low == pytest.approx(np.quantile(slow, 0.025), abs=1.0)
        assert interval.high == pytest.approx(np.quantile(slow, 0.975), abs=1.0)


def test_seeds_are_drawn_in_pairs_only_by_systems_that_have_equally_many():
    """Statistics that depend on the seed alone."""
    pool = Pool(np.ones(3, dtype=bool), 0, 4_000, 1)

    def samples(*seeds: float) -> np.ndarray:
        columns = np.broadcast_to(np.reshape(seeds, (-1, 1, 1)), (len(seeds), 3, 1))
        return pool.estimate(columns, lambda sums: sums[..., 0])[1:]

    four, again, two = samples(0, 1, 2, 3), samples(0, 1, 2, 3), samples(0, 1)
    assert np.corrcoef(four, again)[0, 1] > 0.99
    in_one_stream = two[1:-1].reshape(-1, 2).mean(axis=1)  # would have the draws of these four
    assert abs(np.corrcoef(in_one_stream, four[: len(in_one_stream)])[0, 1]) < 0.1


@pytest.mark.parametrize("advantage", [0.02, 0.06])
@pytest.mark.parametrize("kind", ["bs", "ar"])
def test_p_values_are_those_of_sacrebleu(monkeypatch, kind, advantage):
    monkeypatch.setenv("SACREBLEU_SEED", str(SETTINGS.seed))
    baseline = translated({10: 120}, lambda length: 0.7, seed=1)
    system = translated({10: 120}, lambda length: 0.7 + advantage, seed=2)
    named = [("baseline", baseline.hypotheses), ("system", system.hypotheses)]
    metric = {"bleu": sacrebleu.BLEU()}
    test = PairedTest(named, metric, [baseline.references], test_type=kind, n_samples=300)
    expected = test()[1]["BLEU"][1].p_value
    ours = paired(counts_of(120, 0.7), counts_of(120, 0.7 + advantage, seed=2))
    p = ours.p_bootstrap if kind == "bs" else ours.p_randomization
    assert p == pytest.approx(expected, abs=1e-9)


def test_a_system_is_not_better_than_itself():
    counts = counts_of(40, 0.1)
    found = paired(np.concatenate([counts, counts]), counts)
    assert found == PairedComparison(Interval(0.0, 0.0, 0.0), 1.0, 1.0)


@pytest.mark.parametrize(("qualities", "others"), [((0.9, 0.2), (0.6, 0.5)), ((0.9, 0.2), (0.6,))])
def test_what_is_randomised_is_the_gap_between_means_over_seeds(qualities, others):
    """By a slow loop; of pooled counts the gap would be another one, seeds being so different."""
    baseline, system = counts_of(40, *qualities), counts_of(40, *others, seed=11)
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
