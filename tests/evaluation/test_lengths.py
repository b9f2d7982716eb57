from dataclasses import replace

import numpy as np
import pytest
import sacrebleu
from synthetic_translations import translated

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.lengths import (
    bucket_labels,
    bucket_members,
    score_texts,
    source_words,
)
from seq2seq.evaluation.scores import Translations

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
        assert shown[label].chrf == sacrebleu.CHRF().corpus_score(hypotheses, references).score
        assert shown[label].bleu_low < shown[label].bleu < shown[label].bleu_high
    whole = sacrebleu.BLEU().corpus_score(texts.hypotheses, [texts.references])
    assert scores.overall.bleu == pytest.approx(whole.score)
    assert scores.overall.words == "all"


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
