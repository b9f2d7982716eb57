"""The embedded grammar: are its sentences German and aligned, and its files as asked for?"""

import dataclasses
import random
import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from helpers import textbook
from helpers.textbook import DICTIONARY, GENDERS, PREPOSITIONS, RELATIVE
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.config import GrammarCorpus
from seq2seq.data.grammar import lexicon, sentence, write_corpus

pytestmark = pytest.mark.unchecked  # no arrays; to check every call takes 20 times as long

ROWS = [row for verbs in lexicon.VERBS.values() for verb in verbs for row in verb.forms["present"]]
VERB_SECOND = textbook.AUXILIARIES | {main.split("_")[0] for _, main, _ in ROWS}
VERB_FINAL = textbook.AUXILIARIES | {end for _, _, end in ROWS}


def draw(seed, count, shortest, longest):
    rng = random.Random(seed)
    return [sentence(rng, rng.randint(shortest, longest)) for _ in range(count)]


@pytest.fixture(scope="module")
def pairs():
    return draw(1, 2_400, 3, 60)


@pytest.fixture(scope="module")
def links(pairs):
    """(English words, position, German words, position) of each link."""
    texts = [(pair.source.split(), pair.target.split(), pair.links) for pair in pairs]
    return [(source, i, target, j) for source, target, linked in texts for i, j in linked]


class Stable(random.Random):
    def getrandbits(self, k):
        raise AssertionError("its algorithms may change between versions of Python")


@given(st.integers(), st.integers(3, 120))
def test_a_sentence_has_the_words_asked_for_and_each_has_its_link(seed, words):
    pair = sentence(Stable(seed), words)
    assert pair == sentence(random.Random(seed), words, source="de").reversed()
    source, target = pair.source.split(" "), pair.target.split(" ")
    assert len(source) == words
    assert Counter(source)["."] == Counter(target)["."]
    assert Counter(source)["?"] == Counter(target)["?"]
    assert not re.search(" {2}|, [,.?!]|,$", f"{pair.source} {pair.target}".strip())
    for article, word in pairwise(source):
        assert article not in ("a", "an") or (article == "an") == (word[0].lower() in "aeiou")
    assert list(pair.links) == sorted({*pair.links})
    english, german = zip(*pair.links, strict=True)
    assert {source[i] for i in {*range(len(source))} - {*english}} <= {"to"}
    free = {",", *textbook.RELATIVE_PRONOUNS}
    assert {target[j] for j in {*range(len(target))} - {*german}} <= free


def test_links_connect_translations_of_many_words(links):
    german = defaultdict(set)
    for source, i, target, j in links:
        german[source[i]].add(target[j])
    assert all(german[english] and german[english] <= DICTIONARY[english] for english in DICTIONARY)
    assert 650 < len(german) < len(set.union(*german.values())) < 1_500


def test_determiners_and_adjectives_agree_with_the_noun_and_what_governs_it(links):
    found = Counter()
    for source, i, target, j in links:
        determiner, adjective, noun = [*target[j : j + 3], "", ""][:3]
        known = determiner in textbook.DETERMINERS and source[i] not in RELATIVE
        if known and adjective in textbook.ENDINGS and noun in GENDERS:
            case = "nominative" if j == 0 else textbook.GOVERNED.get(source[i - 1])
            if case == "preposition":
                case = PREPOSITIONS.get(target[j - 1])
            found[GENDERS[noun], case, f"{determiner} {textbook.ENDINGS[adjective]}"] += 1
    for gender, case, form in found:
        agreeing = textbook.AGREEMENT[gender]
        assert form in set().union(*(agreeing[one] for one in agreeing if case in (None, one)))
    genders = Counter(gender for gender, _, _ in found.elements())
    assert min(genders[key] for key in "mfn") > 30, genders
    assert genders["p"] > 5, genders
    cases = Counter(case for _, case, _ in found.elements())
    assert min(cases[case] for case in textbook.CASES) > 5, cases


@pytest.mark.slow
@pytest.mark.parametrize(("subjects", "verb"), textbook.PERSONS.items())
def test_verbs_agree_with_their_subject(subjects, verb):
    """Also that of two joined nouns, of which each may be singular."""
    joined = r" (?:(?:der|die|das|ein|eine) )?"
    found = Counter()
    for pair in draw(7, 6_000, 3, 9):
        if match := re.match(f"(?:{subjects}) (\\S+) ".replace(" + ", joined), pair.target):
            found[match[1]] += 1
    wrong = [word for word in found if word in VERB_SECOND and not re.fullmatch(verb, word)]
    assert not wrong, wrong
    assert sum(found[word] for word in found if word in VERB_SECOND) > 25, found


def test_every_not_and_no_is_there_in_german(pairs):
    for pair in pairs:
        english = re.findall(r"\b(?:not|cannot|no)\b(?! ,)|n't\b", pair.source)
        german = re.findall(r"\bnicht\b|\bkein(?:e[nmrs]?)?\b", pair.target)
        assert len(english) == len(german), pair
    text = "\n".join(pair.target for pair in pairs)
    assert not re.search(r"nicht (?:eine[nmr]?|keine?n?) ", text)
    assert len(re.findall(r"\bnicht\b", text)) > 100


def test_relative_pronouns_have_the_gender_of_the_noun_and_every_case(links):
    found = defaultdict(set)
    for source, i, target, j in links:
        before = target[max(j - 2, 0) : j]
        relative = source[i] in RELATIVE and target[j] in textbook.RELATIVE_PRONOUNS
        if relative and "," in before:
            *_, noun, comma = target[: j if target[j - 1] == "," else j - 1]
            assert comma == ",", target
            found[GENDERS.get(noun)].add(target[j])
    assert {gender: found[gender] for gender in textbook.RELATIVE_FORMS} == textbook.RELATIVE_FORMS


@pytest.mark.slow
def test_the_finite_verb_ends_a_subordinate_clause_and_else_comes_second():
    pairs = draw(3, 5_000, 3, 25)
    german = "\n".join(pair.target for pair in pairs if "," not in pair.source)  # no lists
    openers, pronouns = "|".join(textbook.CONJUNCTIONS), "|".join(textbook.RELATIVE_PRONOUNS)
    begun = rf", (?:{openers}) [^,;.?!\n]*?"
    interrupted = rf" , (?:\S+ )?(?:{pronouns}) "
    last = re.findall(rf"{begun}(\S+)(?= [,;.?!])(?!{interrupted})", german, re.MULTILINE)
    assert len(last) > 500
    assert {*last} <= VERB_FINAL
    adverbs = "|".join(textbook.ADVERBS)
    second = re.findall(rf"^(?:{adverbs}|wo|wann|warum) (\S+)", german, re.MULTILINE)
    assert len(second) > 60
    assert {*second} - {"Abend"} <= VERB_SECOND  # "heute Abend"


@pytest.mark.slow
def test_english_determines_german(monkeypatch):
    """With few words of each class, so that the same sentence is drawn again and again."""
    few = lexicon.NAMES, lexicon.DETERMINERS, lexicon.PREPOSITIONS, lexicon.PHRASES, lexicon.NOUNS
    for table in few:
        for name in table:
            if not re.match("coordinator$|here|time", name):
                monkeypatch.setitem(table, name, table[name][: 2 if table is lexicon.NOUNS else 1])
    german = defaultdict(set)
    for pair in draw(11, 9_000, 3, 7):
        german[pair.source].add(pair.target)
    assert len(german) < 8_000  # many were drawn twice, else this shows nothing
    assert {len(targets) for targets in german.values()} == {1}


@pytest.mark.parametrize("word_class", ["noun", "adjective", "verb", "name"])
def test_the_lexicon_is_one_to_one(word_class):
    lines = Path(lexicon.__file__).with_name("lexicon.tsv").read_text("utf-8").splitlines()
    two = "know knew|verb moving"  # English verbs with another translation elsewhere
    rows = [one.replace("*", "").split("\t") for one in lines if not re.search(two, one)]
    entries = {tuple(row[1:]) for row in rows if row[0].startswith(f"{word_class} ")}
    english, german = ({*words} for words in zip(*entries, strict=True))
    assert len(entries) == len(english) == len(german) > 20
    forms = [verb.forms for verbs in lexicon.VERBS.values() for verb in verbs]
    assert all(of["past"][1][0] != of["present"][1][0] for of in forms if "past" in of)


def written(folder, config, **changes):
    """Name of each file -> its lines."""
    write_corpus(dataclasses.replace(config, **changes), folder)
    return {path.name: path.read_text("utf-8").splitlines() for path in folder.iterdir()}


def test_files_have_the_lengths_asked_for_and_repeat_by_seed_also_if_they_are_longer(tmp_path):
    config = GrammarCorpus(train=800, valid=60, test_per_bucket=12, max_words=35)
    texts = written(tmp_path / "1", config)
    bands = Counter((len(line.split()) - 1) // 10 for line in texts["test.en"])
    assert bands == {0: 12, 1: 12, 2: 12, 3: 12}
    lengths = [len(line.split()) for line in texts["train.en"]]
    assert {*lengths} == {*range(3, 36)}
    first = {name: lines[: 300 if "train" in name else None] for name, lines in texts.items()}
    assert written(tmp_path / "2", config, train=300) == first
    other = written(tmp_path / "3", config, seed=2)
    assert not [name for name, lines in other.items() if lines == texts[name]]


def test_splits_are_disjoint(tmp_path):
    """At most ten words: the same short sentences come up again and must be turned away."""
    config = GrammarCorpus(train=1_500, valid=300, test_per_bucket=300, max_words=10)
    texts = written(tmp_path, config)
    train, valid, test = ({*texts[f"{name}.en"]} for name in ("train", "valid", "test"))
    assert len(valid) == len(test) == len(texts["valid.en"]) == len(texts["test.en"]) == 300
    assert len(train | valid | test) == len(train) + 600
