import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.errors import UserError
from seq2seq.evaluation.scores import (
    ReferenceScores,
    Translations,
    bleu,
    bleu_counts,
    brevity_ratio,
    chrf,
    signatures,
    ter,
    ter_counts,
)

SENTENCE = st.lists(st.sampled_from(["a", "b", "Cat", "dog's", "it,", "42."]), max_size=9).map(
    " ".join
)
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=6)


def sacrebleu_score(hypotheses: list[str], references: list[str]) -> float:
    return sacrebleu.BLEU().corpus_score(hypotheses, [references]).score


@given(PAIRS)
@settings(max_examples=200, deadline=None)
def test_bleu_of_summed_counts_is_sacrebleus_corpus_bleu(pairs):
    hypotheses, references = [h for h, _ in pairs], [r for _, r in pairs]
    counts = bleu_counts(hypotheses, references)
    assert float(bleu(counts.sum(axis=0))) == pytest.approx(
        sacrebleu_score(hypotheses, references), abs=1e-9
    )


@pytest.mark.parametrize("tokenize", ["13a", "none", "intl", "char"])
def test_each_way_to_cut_text_is_sacrebleus(tokenize):
    hypotheses = ["the cat's on the mat, isn't it ?", "a well-known cat , here  it sits."]
    references = ["the cat is on the mat, isn't it?", "a well-known cat, here it sits ."]
    metric = sacrebleu.BLEU(tokenize=tokenize)
    counts = bleu_counts(hypotheses, references, tokenize)
    expected = metric.corpus_score(hypotheses, [references]).score
    assert float(bleu(counts.sum(axis=0))) == pytest.approx(expected, abs=1e-9)
    assert f"|tok:{tokenize}|" in signatures(tokenize).bleu


def test_bleu_scores_many_pools_at_once():
    counts = bleu_counts(
        ["the cat sat on the mat .", "", "a dog barked at me today"],
        ["the cat sat on a mat .", "some words", "a dog barked at you today"],
    )
    pools = np.stack([counts[:1].sum(axis=0), counts[1:2].sum(axis=0), counts.sum(axis=0)])
    assert bleu(pools[:, None, :]).shape == (3, 1)
    assert bleu(pools).tolist() == [float(bleu(pool)) for pool in pools]
    assert bleu(pools)[1] == 0.0  # nothing said


def test_perfect_and_empty_translations_mark_the_ends_of_the_scale():
    references = ["One, two, three and four.", "Five six seven eight nine."]
    perfect, silent = bleu_counts(references, references), bleu_counts(["", ""], references)
    assert float(bleu(perfect.sum(axis=0))) == pytest.approx(100)
    assert float(bleu(silent.sum(axis=0))) == 0
    assert brevity_ratio(perfect.sum(axis=0)) == 1
    assert brevity_ratio(silent.sum(axis=0)) == 0
    assert chrf(references, references) == pytest.approx(100)
    assert chrf(["", ""], references) == 0


def test_brevity_ratio_counts_the_tokens_of_bleu():
    hypotheses, references = ["Yes, sir."], ["No, I say no, sir."]
    score = sacrebleu.BLEU().corpus_score(hypotheses, [references])
    assert brevity_ratio(bleu_counts(hypotheses, references)[0]) == score.ratio == 4 / 8


def test_case_counts():
    lower = bleu_counts(["one two three four"], ["One Two Three Four"])
    assert float(bleu(lower[0])) == 0


def test_signatures_say_how_and_with_which_version():
    said = signatures()
    assert (
        said.bleu == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"
    )
    assert said.chrf.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")


@given(PAIRS)
@settings(max_examples=100, deadline=None)
def test_ter_of_summed_counts_is_sacrebleus_corpus_ter(pairs):
    hypotheses, references = [h for h, _ in pairs], [r for _, r in pairs]
    expected = sacrebleu.TER().corpus_score(hypotheses, [references]).score
    assert ter(ter_counts(hypotheses, references).sum(axis=0)) == pytest.approx(expected, abs=1e-9)


def test_ter_is_signed_where_it_is_asked_for():
    assert signatures().ter is None
    said = signatures(ter=True)
    assert said.ter.startswith("nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:")
    assert (said.bleu, said.chrf) == (signatures().bleu, signatures().chrf)


def test_scores_of_references_go_line_by_line():
    said = ReferenceScores([-1.0], [2], None)
    with pytest.raises(UserError, match="2 hypotheses, 1 scores of references, 1 counts of"):
        Translations(["a", "b"], ["a", "b"], ["a", "b"], [], reference_scores=said)


def test_texts_of_different_length_are_refused():
    with pytest.raises(UserError) as refused:
        Translations(["a", "b"], ["a"], ["a", "b"], [False, False])
    assert str(refused.value) == (
        "The texts of a test set must agree line by line, but got 2 sources, 1 references, "
        "2 hypotheses, 2 capped flags."
    )


def test_an_empty_test_set_is_refused():
    with pytest.raises(UserError, match="The test set is empty; give at least one sentence"):
        Translations([], [], [], [])
