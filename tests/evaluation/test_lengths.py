import math
from dataclasses import replace

import numpy as np
import pytest
import sacrebleu
from helpers.synthetic_translations import evaluated, translated
from sacrebleu.metrics import TER

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.folder import read_evaluation
from seq2seq.evaluation.lengths import (
    ENDS,
    ScoreRow,
    bleu_samples,
    length_pools,
    lines_by_length,
    score_rows,
)
from seq2seq.evaluation.scores import METRICS, Metric, bucket_members, signatures, source_lengths
from seq2seq.evaluation.translations import Counts, ReferenceScores, Translations

SETTINGS = EvaluationConfig(bootstrap=200)
SHORT_BUCKETS = EvaluationConfig(length_buckets=[10, 20])


def scored(
    texts: Translations, config: EvaluationConfig = SETTINGS, *more: Translations
) -> dict[str, ScoreRow]:
    """Score rows by label; each text is the output of one seed."""
    seeds = [(one, Counts.of(one, config)) for one in (texts, *more)]
    pools = length_pools(source_lengths(texts.sources), config)
    samples = bleu_samples(np.stack([counts.bleu for _, counts in seeds]), pools)
    return {row.words: row for row in score_rows(seeds, pools, samples)}


def test_each_sentence_falls_in_exactly_one_bucket_by_its_words():
    counted = source_lengths(["", "  ", "one", " two  words ", "It's, three!"])
    assert counted.tolist() == [0, 0, 1, 2, 2]
    assert source_lengths(["", "我们 走。", "a bc"], "characters").tolist() == [0, 4, 3]
    words = np.array([0, 1, 10, 11, 20, 21, 99])
    members = bucket_members(words, [10, 20])
    assert {label: words[mask].tolist() for label, mask in members.items()} == {
        "1-10": [0, 1, 10],
        "11-20": [11, 20],
        "21+": [21, 99],
    }


def test_the_limits_of_short_and_long_sources_belong_to_the_shorter_side():
    short, long = SETTINGS.ends
    pools = length_pools(np.array([short, short + 1, long, long + 1]), SETTINGS)
    assert [pools[end].members.tolist() for end in ENDS] == [
        [True, False, False, False],
        [False, False, False, True],
    ]


def test_lines_to_look_at_are_of_every_length_that_is_there():
    sources = ["", "one", *["w " * length for length in (3, 30, 4, 5, 30, 6, 7, 8)]]
    chosen = lines_by_length(sources, SHORT_BUCKETS, 3)
    assert chosen == sorted(set(chosen))
    words = [len(sources[line].split()) for line in chosen]
    assert sorted(length for length in words if length <= 10) == [3, 6, 8]
    assert [length for length in words if length > 10] == [30, 30]
    assert lines_by_length(sources, SHORT_BUCKETS, 99) == list(range(1, len(sources)))


def test_bucket_scores_are_sacrebleus_on_the_subset():
    texts = translated({4: 30, 15: 20, 35: 10}, lambda length: 1 - length / 60)
    rows = scored(texts)
    for label, length in {"1-10": 4, "11-20": 15, "31-40": 35, "all": None}.items():
        chosen = [i for i, s in enumerate(texts.sources) if length in (None, len(s.split()))]
        hypotheses = [texts.hypotheses[i] for i in chosen]
        references = [[texts.references[i] for i in chosen]]
        expected = sacrebleu.BLEU().corpus_score(hypotheses, references)
        row = rows[label]
        assert row.sentences == len(chosen)
        assert row.bleu == pytest.approx(expected.score)
        assert row.brevity_ratio == pytest.approx(expected.ratio)
        assert row.unpenalised == pytest.approx(expected.score / expected.bp)
        assert row.chrf == pytest.approx(
            sacrebleu.CHRF().corpus_score(hypotheses, references).score
        )
        assert row.bleu_low < row.bleu < row.bleu_high


def test_a_score_is_the_mean_over_seeds():
    seeds = [translated({4: 30, 15: 20}, lambda length: 0.8, seed) for seed in (1, 2)]
    each, both = [scored(texts) for texts in seeds], scored(seeds[0], SETTINGS, seeds[1])
    for words, row in both.items():
        ours = [rows[words] for rows in each]
        if row.sentences:
            assert row.by_seed == [one.bleu for one in ours]
            for key in (*METRICS, "brevity_ratio", "unpenalised"):
                assert row.scores[key] == pytest.approx(np.mean([one.scores[key] for one in ours]))
            assert row.bleu_low <= row.bleu <= row.bleu_high


def test_buckets_add_up_to_the_test_set_with_empty_sources_in_the_first():
    texts = Translations(
        sources=["", "one", "a " * 15],
        references=["", "eins", "ein " * 15],
        hypotheses=["", "", "ein " * 15],
        capped=[True, False, True],
    )
    rows = list(scored(texts).values())
    assert [row.sentences for row in rows] == [2, 1, 0, 0, 0, 0, 0, 3]
    assert [row.capped for row in rows] == [1, 1, *[None] * 5, 2]
    assert rows[0].bleu == 0.0
    assert rows[6] == ScoreRow("61+", 0)
    assert scored(replace(texts, capped=[]))["all"].capped is None
    assert [ScoreRow("1-10", count).few for count in (99, 100)] == [True, False]


def scored_references(**changes: object) -> Translations:
    """Sentences of 4, 4, 15, 15 and 0 words; the last is blank and has no pieces."""
    said = ReferenceScores(
        log_probabilities=[-8.0, -1.5, -30.0, -2.25, None], pieces=[5, 6, 16, 17, 0]
    )
    texts = translated({4: 2, 15: 2, 0: 1}, lambda length: 0.9)
    return replace(texts, reference_scores=replace(said, **changes))


def test_loss_and_perplexity_are_per_piece_of_each_bucket():
    texts = scored_references()
    rows = scored(texts)
    for words, total, pieces in (("1-10", 9.5, 11), ("11-20", 32.25, 33), ("all", 41.75, 44)):
        assert rows[words].loss == pytest.approx(total / pieces)
        assert rows[words].perplexity == pytest.approx(math.exp(total / pieces))
    assert rows["21-30"].loss is None
    assert scored(replace(texts, reference_scores=None))["all"].loss is None


def test_an_infinite_loss_is_not_averaged_away():
    rows = scored(scored_references(log_probabilities=[-8.0, None, -30.0, -20000.0, None]))
    assert rows["all"].loss is rows["1-10"].loss is None
    assert rows["11-20"].loss == pytest.approx(20030 / 33)
    huge = scored_references(log_probabilities=[-8.0, -1.0, -30.0, -40000.0, None])
    assert scored(huge)["11-20"].perplexity is None


def ter_counts(hypotheses, *references, **_):
    """Edits and mean length of the references, of each sentence."""
    lines = zip(hypotheses, *references, strict=True)
    found = [TER().sentence_score(said, meant) for said, *meant in lines]
    return np.array([[one.num_edits, one.ref_length] for one in found])


def test_a_further_metric_is_one_entry(tmp_path, monkeypatch):
    """It is counted, stored, read, and scored, in evaluations from before it, too."""
    texts = translated({4: 6, 15: 5}, lambda length: 0.8)
    before = evaluated(tmp_path / "before", texts, "old")
    metric = Metric(
        "TER", 2, ter_counts, lambda sums: 100 * sums[..., 0] / sums[..., 1], lambda _: TER()
    )
    monkeypatch.setitem(METRICS, "ter", metric)
    signatures.cache_clear()
    expected = TER().corpus_score(texts.hypotheses, texts.all_references)
    made = evaluated(tmp_path / "after", texts, "new")
    for one in (made, read_evaluation(made.directory), read_evaluation(before.directory)):
        assert one.overall.scores["ter"] == pytest.approx(expected.score)
        assert one.counts.signatures["TER"].startswith("nrefs:1|")
    signatures.cache_clear()
