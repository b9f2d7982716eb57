"""Scores by length of the source, against sacreBLEU's own and slow sums."""

import math
from statistics import fmean

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import EvaluationConfig
from seq2seq.errors import UserError
from seq2seq.evaluation.lengths import ScoreRow, length_pools, lines_by_length, score_rows
from seq2seq.evaluation.scores import bleu_counts, source_lengths
from seq2seq.evaluation.translations import Counts, ReferenceScores, Translations

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


@given(outputs(), st.sampled_from(["13a", "none", "intl", "char", "zh"]))
@settings(max_examples=80)
def test_scores_are_sacrebleus_for_the_sentences_of_each_bucket(seeds, tokenize):
    """The mean over seeds, of corpora with one reference or two."""
    config = EvaluationConfig(length_buckets=[10, 20], tokenize=tokenize)
    counted = [(texts, Counts.of(texts, config)) for texts in seeds]
    lengths = source_lengths(seeds[0].sources)
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


def test_lines_to_look_at_are_of_every_length_that_is_there():
    lengths = [0, 1, 3, 30, 4, 5, 30, 6, 7, 8]
    sources, config = ["w " * length for length in lengths], EvaluationConfig(length_buckets=[10])
    chosen = lines_by_length(sources, config, 3)
    assert [lengths[line] for line in chosen] == [3, 30, 30, 6, 8]
    assert lines_by_length(sources, config, 99) == list(range(1, len(sources)))


def test_a_tokenizer_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_ko_mecab.MeCab", None)
    with pytest.raises(UserError, match=r"ko-mecab .*sacrebleu"):
        bleu_counts(["a"], ["a"], tokenize="ko-mecab")
