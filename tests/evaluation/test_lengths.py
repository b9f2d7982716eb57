import math
from dataclasses import replace

import numpy as np
import pytest
import sacrebleu
from synthetic_translations import translated

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.lengths import (
    LengthScore,
    bucket_labels,
    bucket_members,
    lines_by_length,
    score_texts,
    source_words,
)
from seq2seq.evaluation.scores import ReferenceScores, Translations

SETTINGS = EvaluationConfig(bootstrap=200)


def test_labels_follow_the_edges():
    assert bucket_labels([10, 20, 30, 40, 50, 60]) == [
        "1-10", "11-20", "21-30", "31-40", "41-50", "51-60", "61+",
    ]  # fmt: skip
    assert bucket_labels([5]) == ["1-5", "6+"]


def test_each_sentence_falls_in_exactly_one_bucket_by_its_words():
    words = np.array([0, 1, 10, 11, 20, 21, 99])
    members = bucket_members(words, [10, 20])
    assert {label: words[mask].tolist() for label, mask in members.items()} == {
        "1-10": [0, 1, 10],
        "11-20": [11, 20],
        "21+": [21, 99],
    }


def test_length_is_words_between_spaces():
    assert source_words(["", "  ", "one", " two  words ", "It's, three!"]).tolist() == [
        0, 0, 1, 2, 2,
    ]  # fmt: skip


def test_lines_to_look_at_are_of_every_length_that_is_there():
    sources = ["", "one", *["w " * length for length in (3, 30, 4, 5, 30, 6, 7, 8)]]
    chosen = lines_by_length(sources, [10, 20], 3)
    assert chosen == sorted(set(chosen))
    words = [len(sources[line].split()) for line in chosen]
    assert sorted(length for length in words if length <= 10) == [3, 6, 8]
    assert [length for length in words if length > 10] == [30, 30]
    assert lines_by_length(sources, [10, 20], 99) == list(range(1, len(sources)))


def test_bucket_scores_are_sacrebleus_on_the_subset():
    texts = translated({4: 30, 15: 20, 35: 10}, lambda length: 1 - length / 60)
    scores = score_texts(texts, SETTINGS)
    shown = {bucket.words: bucket for bucket in scores.buckets}
    for label, length in {"1-10": 4, "11-20": 15, "31-40": 35}.items():
        chosen = [i for i, source in enumerate(texts.sources) if len(source.split()) == length]
        hypotheses = [texts.hypotheses[i] for i in chosen]
        references = [[texts.references[i] for i in chosen]]
        expected = sacrebleu.BLEU().corpus_score(hypotheses, references)
        assert shown[label].sentences == len(chosen)
        assert shown[label].bleu == pytest.approx(expected.score)
        assert shown[label].brevity_ratio == pytest.approx(expected.ratio)
        assert shown[label].unpenalised == pytest.approx(expected.score / expected.bp)
        assert shown[label].chrf == sacrebleu.CHRF().corpus_score(hypotheses, references).score
        assert shown[label].bleu_low < shown[label].bleu < shown[label].bleu_high
    whole = sacrebleu.BLEU().corpus_score(texts.hypotheses, [texts.references])
    assert scores.overall.bleu == pytest.approx(whole.score)
    assert scores.overall.words == "all"


@pytest.mark.parametrize(
    ("ratio", "expected"), [(1.25, 20.0), (1.0, 20.0), (0.5, 20 * math.e), (0.0, 20.0), (None, 20)]
)
def test_a_penalty_is_for_what_is_short_alone(ratio, expected):
    row = LengthScore("all", 1, True, 20.0, 19.0, 21.0, 50.0, ratio, 0)
    assert row.unpenalised == pytest.approx(expected)


def test_corpus_bleu_is_not_the_mean_of_sentence_scores():
    texts = translated({4: 1, 9: 1}, lambda length: 1.0)
    texts = replace(texts, hypotheses=[texts.hypotheses[0], "nothing of this"])
    assert score_texts(texts, SETTINGS).overall.bleu < 50


def test_a_bucket_without_sentences_has_no_scores():
    scores = score_texts(translated({4: 3}, lambda length: 1.0), SETTINGS)
    empty = scores.buckets[-1]
    assert (empty.words, empty.sentences, empty.few, empty.capped) == ("61+", 0, True, 0)
    assert empty.bleu is empty.bleu_low is empty.chrf is empty.brevity_ratio is None


def test_buckets_add_up_to_the_test_set_with_empty_sources_in_the_first():
    texts = Translations(
        sources=["", "one", "a " * 15],
        references=["", "eins", "ein " * 15],
        hypotheses=["", "", "ein " * 15],
        capped=[True, False, True],
    )
    scores = score_texts(texts, SETTINGS)
    assert [bucket.sentences for bucket in scores.buckets] == [2, 1, 0, 0, 0, 0, 0]
    assert [bucket.capped for bucket in scores.buckets] == [1, 1, 0, 0, 0, 0, 0]
    assert (scores.overall.sentences, scores.overall.capped) == (3, 2)
    assert scores.empty_sources == 1
    assert scores.buckets[0].bleu == 0.0


def test_fewer_than_a_hundred_sentences_are_few():
    scores = score_texts(translated({4: 100, 15: 99}, lambda length: 1.0), SETTINGS)
    assert [bucket.few for bucket in scores.buckets[:2]] == [False, True]


def test_scores_repeat_and_follow_the_seed():
    texts = translated({4: 30, 15: 20}, lambda length: 0.7)
    again = score_texts(texts, SETTINGS)
    assert score_texts(texts, SETTINGS) == again
    other = score_texts(texts, replace(SETTINGS, seed=2))
    assert other.overall.bleu == again.overall.bleu
    assert other.overall.bleu_low != again.overall.bleu_low


def test_ter_is_sacrebleus_on_each_bucket_and_only_where_asked_for():
    texts = translated({4: 12, 15: 8}, lambda length: 0.7)
    assert score_texts(texts, SETTINGS).overall.ter is None
    scores = score_texts(texts, replace(SETTINGS, ter=True))
    for row, length in ((scores.buckets[0], 4), (scores.buckets[1], 15), (scores.overall, None)):
        chosen = [i for i, s in enumerate(texts.sources) if length in (None, len(s.split()))]
        hypotheses = [texts.hypotheses[i] for i in chosen]
        references = [[texts.references[i] for i in chosen]]
        expected = sacrebleu.TER().corpus_score(hypotheses, references).score
        assert row.ter == pytest.approx(expected)
    assert scores.buckets[2].ter is None
    assert scores.signatures.ter is not None


def scored_references(**changes: object) -> Translations:
    """Sentences of 4, 4, 15, 15 and 0 words; the last is blank and has no pieces."""
    said = ReferenceScores(
        log_probabilities=[-8.0, -1.5, -30.0, -2.25, None],
        pieces=[5, 6, 16, 17, 0],
        known=[True, False, True, False, True],
    )
    texts = translated({4: 2, 15: 2, 0: 1}, lambda length: 0.9)
    return replace(texts, reference_scores=replace(said, **changes))


def test_loss_and_perplexity_are_per_piece_of_each_bucket():
    texts = scored_references()
    scores = score_texts(texts, SETTINGS)
    said = texts.reference_scores
    for row, lengths in ((scores.buckets[0], (0, 4)), (scores.buckets[1], (15,))):
        total = pieces = 0
        for source, value, count in zip(
            texts.sources, said.log_probabilities, said.pieces, strict=True
        ):
            if len(source.split()) in lengths and count:
                total, pieces = total - value, pieces + count
        assert row.loss == pytest.approx(total / pieces)
        assert row.perplexity == pytest.approx(math.exp(total / pieces))
    assert scores.overall.loss == pytest.approx(41.75 / 44)
    assert scores.buckets[2].loss is None
    assert score_texts(replace(texts, reference_scores=None), SETTINGS).overall.loss is None


def test_an_infinite_loss_is_not_averaged_away():
    texts = scored_references(log_probabilities=[-8.0, None, -30.0, -20000.0, None])
    scores = score_texts(texts, SETTINGS)
    assert scores.overall.loss is scores.buckets[0].loss is None
    assert scores.buckets[1].loss == pytest.approx(20030 / 33)
    assert scores.buckets[1].perplexity == pytest.approx(math.exp(20030 / 33))
    huge = scored_references(log_probabilities=[-8.0, -1.0, -30.0, -40000.0, None])
    assert score_texts(huge, SETTINGS).buckets[1].perplexity is None


def test_sentences_without_an_unknown_word_have_a_row():
    texts = scored_references()
    row = score_texts(texts, SETTINGS).known
    chosen = [0, 2, 4]
    hypotheses = [texts.hypotheses[i] for i in chosen]
    expected = sacrebleu.BLEU().corpus_score(hypotheses, [[texts.references[i] for i in chosen]])
    assert (row.words, row.sentences) == ("no unknown words", 3)
    assert row.bleu == pytest.approx(expected.score)
    assert row.loss == pytest.approx(38 / 21)
    assert score_texts(scored_references(known=[True] * 5), SETTINGS).known is None
    assert score_texts(scored_references(known=None), SETTINGS).known is None
    assert score_texts(scored_references(known=[False] * 5), SETTINGS).known.bleu is None


def test_cap_hits_of_text_that_was_given_are_not_known():
    texts = replace(translated({4: 3}, lambda length: 1.0), capped=[])
    scores = score_texts(texts, SETTINGS)
    assert scores.overall.capped is None
    assert scores.buckets[-1].capped is None


def test_text_in_tokens_may_be_scored_as_it_is():
    texts = Translations(["a"], ["it 's four tokens ."], ["it's four tokens."], [False])
    usual = score_texts(texts, EvaluationConfig(bootstrap=100))
    as_it_is = score_texts(texts, EvaluationConfig(bootstrap=100, tokenize="none"))
    assert "tok:13a" in usual.signatures.bleu
    assert "tok:none" in as_it_is.signatures.bleu
    assert usual.overall.bleu > as_it_is.overall.bleu
