import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.evaluation.scores import (
    bleu,
    bleu_counts,
    brevity_ratio,
    chrf,
    chrf_counts,
    signatures,
    ter,
    ter_counts,
    unpenalised_bleu,
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
    assert f"|tok:{tokenize}|" in signatures(tokenize)["BLEU"]


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
    assert chrf(chrf_counts(references, references).sum(axis=0)) == pytest.approx(100)
    assert chrf(chrf_counts(["", ""], references).sum(axis=0)) == 0


def test_brevity_is_of_the_tokens_of_bleu_and_is_all_that_is_left_out():
    hypotheses, references = ["Yes, sir. I say no."], ["No, I say no, sir, I say no and no."]
    score = sacrebleu.BLEU().corpus_score(hypotheses, [references])
    counts = bleu_counts(hypotheses, references)
    assert brevity_ratio(counts)[0] == score.ratio < 1
    assert unpenalised_bleu(counts)[0] == pytest.approx(score.score / score.bp)
    longer = bleu_counts(references, hypotheses)
    assert unpenalised_bleu(longer) == bleu(longer)
    assert unpenalised_bleu(bleu_counts([""], references))[0] == 0


@given(PAIRS)
@settings(max_examples=200, deadline=None)
def test_chrf_of_summed_counts_is_sacrebleus_corpus_chrf(pairs):
    hypotheses, references = [h for h, _ in pairs], [r for _, r in pairs]
    expected = sacrebleu.CHRF().corpus_score(hypotheses, [references]).score
    assert chrf(chrf_counts(hypotheses, references).sum(axis=0)) == pytest.approx(expected)


def test_signatures_say_how_and_with_which_version():
    assert signatures() == {
        "BLEU": f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}",
        "chrF": f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{sacrebleu.__version__}",
    }
    assert signatures(ter=True)["TER"].startswith("nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|")


@given(PAIRS)
@settings(max_examples=100, deadline=None)
def test_ter_of_summed_counts_is_sacrebleus_corpus_ter(pairs):
    hypotheses, references = [h for h, _ in pairs], [r for _, r in pairs]
    expected = sacrebleu.TER().corpus_score(hypotheses, [references]).score
    assert ter(ter_counts(hypotheses, references).sum(axis=0)) == pytest.approx(expected, abs=1e-9)
