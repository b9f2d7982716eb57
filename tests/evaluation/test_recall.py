"""Recall of content words, against a slow loop, and for systems that lose some of the words."""

import random
import re
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers.synthetic_translations import evaluated

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.comparison import compare_systems
from seq2seq.evaluation.recall import ContentWords
from seq2seq.evaluation.translations import Translations
from seq2seq.report.findings import findings
from seq2seq.report.tables import notes, recall_tables

TEXT = random.Random(1)
VOCABULARY = [f"word{number}" for number in range(3_000)]
REFERENCES = [
    " ".join(TEXT.choice([*VOCABULARY, "the", "THEN", ","]) for _ in range(length))
    for length in [8, 12, 34, 40] * 60
]
TRAINING = [word for word in VOCABULARY[::2] for _ in range(20)]
KNOWN = {*TRAINING}
MIDDLE = range(30, 70)


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def test_accents_and_vowel_signs_belong_to_their_word():
    words = "विद्यार्थी e\u0301le\u0300ve שָׁלוֹם"
    assert ContentWords.of([f"({words}) ?!\u0301"], share=1.0).words == words.split()


def slow(hypotheses: list[str]) -> list[tuple[int, int, str, bool]]:
    """Line, tenth, word and whether it is found, of each content word."""
    lines = [words_of(reference) for reference in REFERENCES]
    sets = [{*words} for words in lines]
    found = []
    for number, words in enumerate(lines):
        for position, word in enumerate(words):
            often = sum(word in other for other in sets)
            if len(word) > 3 and words.count(word) == 1 and often <= 0.02 * len(lines):
                tenth = min(t for t in range(10) if 10 * position < (t + 1) * len(words))
                found.append((number, tenth, word, word in words_of(hypotheses[number])))
    return found


def losing(chance) -> list[str]:
    """The references, where each word is lost with ``chance(word, place in percent, words)``."""
    luck = random.Random(2)
    said = []
    for reference in REFERENCES:
        words = reference.split()
        kept = [
            word
            for position, word in enumerate(words)
            if luck.random() >= chance(word, 100 * position / len(words), len(words))
        ]
        said.append(" ".join(kept) or ".")
    return said


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    @cache
    def evaluation(chance, name, more):
        texts = Translations(REFERENCES, REFERENCES, losing(chance), [], more_references=[*more])
        return evaluated(tmp_path_factory.mktemp(name), texts, name)

    def compare(chance, language="fr", more=(), **settings):
        both = [evaluation(chance, "lossy", more), evaluation(never, "whole", more)]
        config = {"corpus": {"target": language}}
        both = [replace(one, record=replace(one.record, config=config)) for one in both]
        settings = EvaluationConfig(bootstrap=100, **settings)
        return compare_systems(both, "lossy", settings, training=TRAINING)

    return compare


def never(word: str, place: float, words: int) -> float:
    return 0.0


def rare(word: str, place: float, words: int) -> float:
    return 0.0 if word in KNOWN else 0.8


def middle(word: str, place: float, words: int) -> float:
    return 0.9 if int(place) in MIDDLE else 0.0


def long(word: str, place: float, words: int) -> float:
    return 0.7 if words > 30 else 0.0


def test_words_places_and_hits_are_those_of_a_slow_loop():
    hypotheses = losing(middle)
    words = ContentWords.of(REFERENCES)
    assert 2_000 < len(words.words) < len(" ".join(REFERENCES).split())
    hits = words.recalled(hypotheses)
    assert [*zip(words.line, words.place, words.words, hits, strict=True)] == slow(hypotheses)
    groups, names = words.training_groups(TRAINING)
    counts = Counter(TRAINING)
    assert {names[group] for group in groups} == {"0", "10-99"}
    assert all(
        (names[g] == "0") == (counts[w] == 0) for g, w in zip(groups, words.words, strict=True)
    )


def test_recall_of_groups_is_that_of_a_slow_loop(compared):
    comparison = compared(middle)
    words = slow(comparison.systems[0].first.texts.hypotheses)
    long_sources = [len(source.split()) > 30 for source in REFERENCES]
    for key, kept in (("place", [True] * len(REFERENCES)), ("place, long sources", long_sources)):
        recall = comparison.recall[key]
        for tenth in range(10):
            of = [hit for line, place, _, hit in words if place == tenth and kept[line]]
            assert recall.words[tenth] == len(of)
            assert recall.systems["lossy"][tenth].value == pytest.approx(np.mean(of))
            assert recall.systems["whole"][tenth].value == 1
        values = [one.value for one in recall.systems["lossy"]]
        contrast = np.mean(values[3:7]) - np.mean([values[0], values[9]])
        assert recall.contrast["lossy"].value == pytest.approx(contrast)
        assert recall.contrast["lossy"].high < -0.5
        assert recall.contrast["whole"].value == pytest.approx(0)
    recall = comparison.recall["length"]
    assert recall.groups == [row.words for row in comparison.systems[0].rows[:-1]]
    shares = np.array(recall.words) / sum(recall.words)
    gaps = np.array([1 - one.value for one in recall.systems["lossy"]])
    spread = np.sqrt(shares @ (gaps - shares @ gaps) ** 2)
    assert recall.spread["whole"].value == pytest.approx(spread)


@pytest.mark.parametrize(("tokenize", "language"), [("zh", "fr"), ("13a", "zh"), ("intl", "th")])
def test_text_without_spaces_has_no_content_words(compared, tokenize, language):
    assert compared(middle, language, tokenize=tokenize).recall == {}


def test_of_several_references_the_first_is_named_as_the_one_that_counts(compared):
    several = compared(middle, more=(("another",) * len(REFERENCES),))
    assert {one.value for one in several.recall["place"].systems["whole"]} == {1}
    assert "first reference" in " ".join(notes(several))
    assert "first reference" not in " ".join(notes(compared(middle)))


@pytest.mark.parametrize(
    ("chance", "factor"), [(rare, "training"), (middle, "place"), (long, "length")]
)
def test_the_factor_that_loses_words_is_the_one_that_the_gap_depends_on(compared, chance, factor):
    comparison = compared(chance)
    spread = {name: comparison.recall[name].spread["whole"].value for name in comparison.recall}
    del spread["place, long sources"]
    assert max(spread, key=spread.get) == factor
    assert any("content words" in sentence.lower() for sentence in findings(comparison))
    assert len(recall_tables(comparison)) == 3


def test_without_enough_content_words_there_is_no_recall(tmp_path):
    texts = Translations(["a b"] * 120, ["c d"] * 120, ["c d"] * 120, [])
    comparison = compare_systems([evaluated(tmp_path, texts, "short")], None, EvaluationConfig())
    assert comparison.recall == {}
    assert recall_tables(comparison) == []
