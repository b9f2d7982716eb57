import numpy as np
import pytest
import sacrebleu
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seq2seq.errors import UserError
from seq2seq.evaluation.scores import (
    bleu,
    bleu_counts,
    brevity_ratio,
    chrf,
    chrf_counts,
    signatures,
    unpenalised_bleu,
)

SENTENCE = st.lists(st.sampled_from(["a", "b", "Cat", "dog's", "it,", "42."]), max_size=9).map(
    " ".join
)
ROWS = st.integers(2, 4).flatmap(
    lambda columns: st.lists(st.tuples(*[SENTENCE] * columns), min_size=1, max_size=6)
)


@given(ROWS)
@example([("a b", "a b")])  # too short for a BLEU above 0
@example([("a a a a", "b b b b")])  # nothing is right
@settings(max_examples=60)
def test_scores_of_summed_counts_are_sacrebleus_of_the_corpus(rows):
    """With one reference or several; the ratio of lengths is that to the closest reference."""
    hypotheses, *references = (list(column) for column in zip(*rows, strict=True))
    for metric, score, counts in (
        (sacrebleu.BLEU(), bleu, bleu_counts),
        (sacrebleu.CHRF(), chrf, chrf_counts),
    ):
        expected = metric.corpus_score(hypotheses, references)
        alone = [counts([said], *([one] for one in meant))[0] for said, *meant in rows]
        for sums in (counts(hypotheses, *references).sum(axis=0), np.sum(alone, axis=0)):
            assert float(score(sums)) == pytest.approx(expected.score, abs=1e-9)
            if score is bleu:
                assert brevity_ratio(sums) == expected.ratio
    assert f"nrefs:{len(references)}|" in signatures(references=len(references))["BLEU"]


@pytest.mark.parametrize("tokenize", ["13a", "none", "intl", "char", "zh"])
def test_each_way_to_cut_text_is_sacrebleus(tokenize):
    hypotheses = ["the cat's on the mat, isn't it ?", "a well-known cat , here  it sits."]
    references = ["the cat is on the mat, isn't it?", "a well-known cat, here it sits ."]
    metric = sacrebleu.BLEU(tokenize=tokenize)
    counts = bleu_counts(hypotheses, references, tokenize=tokenize)
    expected = metric.corpus_score(hypotheses, [references]).score
    assert float(bleu(counts.sum(axis=0))) == pytest.approx(expected, abs=1e-9)
    assert f"|tok:{tokenize}|" in signatures(tokenize)["BLEU"]


def test_a_tokenizer_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_ko_mecab.MeCab", None)
    with pytest.raises(UserError, match=r"ko-mecab .*sacrebleu"):
        bleu_counts(["a"], ["a"], tokenize="ko-mecab")


def test_brevity_is_of_the_tokens_of_bleu_and_is_all_that_is_left_out():
    hypotheses, references = ["Yes, sir. I say no."], ["No, I say no, sir, I say no and no."]
    score = sacrebleu.BLEU().corpus_score(hypotheses, [references])
    counts = bleu_counts(hypotheses, references)
    assert brevity_ratio(counts)[0] == score.ratio < 1
    assert unpenalised_bleu(counts)[0] == pytest.approx(score.score / score.bp)
    longer = bleu_counts(references, hypotheses)
    assert unpenalised_bleu(longer) == bleu(longer)
    assert unpenalised_bleu(bleu_counts([""], references))[0] == 0
