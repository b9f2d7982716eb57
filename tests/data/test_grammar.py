"""The embedded grammar: are its sentences German and aligned, and its files as asked for?"""

import dataclasses
import random
from collections import Counter, defaultdict
from itertools import chain, pairwise

import pytest
from helpers import textbook
from helpers.textbook import DICTIONARY, GENDERS, PREPOSITIONS, RELATIVE, listed

from seq2seq.config import GrammarCorpus
from seq2seq.data.grammar import lexicon, sentence, write_corpus

pytestmark = pytest.mark.unchecked  # no arrays; to check every call takes 20 times as long

VERBS = [*chain.from_iterable(lexicon.VERBS.values()), lexicon.BE]
OTHERS = listed(
    "hat haben ist sind war waren wird werden kann können muss müssen sollte sollten darf dürfen "
    "will wollen"
)
VERB_SECOND = OTHERS | {main.split("_")[0] for verb in VERBS for _, main, _ in verb.present}
VERB_FINAL = OTHERS | {end for verb in VERBS for _, _, end in verb.present}


def draw(seed, count, shortest, longest):
    rng = random.Random(seed)
    lengths = [rng.randint(shortest, longest) for _ in range(count)]
    return [sentence(rng, words) for words in lengths]


@pytest.fixture(scope="module")
def pairs():
    return draw(7, 1_200, 4, 60)


def linked(pair):
    source, target = pair.source.split(), pair.target.split()
    return [(i, source[i], j, target[j]) for i, j in pair.links]


def segments(german):
    """The stretches between stops."""
    parts = [[]]
    for word in german.split():
        if word in {",", ";", "."}:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def test_the_english_side_has_the_words_asked_for():
    for words in (4, 5, 6, 7, 8, 9, 10, 11, 20, 21, 50, 70, 120):
        for pair in draw(words, 20, words, words):
            assert len(pair.source.split()) == words
            for text in (pair.source, pair.target):
                assert text == " ".join(text.split())
                assert text.endswith(" .")
                assert ", ," not in text
                assert ", ." not in text


def test_only_what_python_keeps_stable_is_drawn():
    class Strict(random.Random):
        def getrandbits(self, k):
            raise AssertionError("its algorithms may change between versions")

    strict, plain = Strict(5), random.Random(5)
    for _ in range(20):
        assert sentence(strict, 30) == sentence(plain, 30)


def test_the_languages_mirror_each_other():
    for seed in range(50):
        english = sentence(random.Random(seed), 25, source="en")
        german = sentence(random.Random(seed), 25, source="de")
        assert german == english.reversed()
        assert german.reversed() == english
        assert set(german.links) == {(j, i) for i, j in english.links}


def test_content_grows_with_length(pairs):
    """A vocabulary of some size, drawn from evenly, and no phrase written twice."""
    for side in ("source", "target"):
        counts = Counter(word for pair in pairs for word in getattr(pair, side).split())
        assert 400 < len(counts) < 850
    nouns = Counter(w for p in pairs for w in p.source.split() if w in {"dog", "cat", "owl"})
    assert max(nouns.values()) < 2 * min(nouns.values())
    repeated = total = 0
    for pair in pairs:
        words = pair.source.split()
        long = [word for word in words if len(word) > 3]
        assert len(long) < 25 or len(set(long)) > 0.6 * len(long)
        phrases = [tuple(words[i : i + 4]) for i in range(len(words) - 3)]
        total += len(phrases)
        repeated += len(phrases) - len(set(phrases))
    assert repeated < 0.005 * total


def test_determiners_and_adjectives_agree_with_the_noun(pairs):
    endings = {
        adjective + e: e for adjective in textbook.ADJECTIVES for e in ("e", "en", "er", "es")
    }
    family = {form.split()[0] for row in textbook.AGREEMENT.values() for form in row}
    checked = Counter()
    for pair in pairs:
        words = pair.target.split()
        english = defaultdict(set)
        for _, word, j, _ in linked(pair):
            english[j].add(word)
        for j in range(2, len(words)):
            determiner, adjective, noun = words[j - 2 : j + 1]
            ending, gender = endings.get(adjective), GENDERS.get(noun)
            if not ending or not gender or determiner not in family or english[j - 2] & RELATIVE:
                continue
            forms = enumerate(textbook.AGREEMENT[gender])
            allowed = [k % 3 for k, form in forms if form == f"{determiner} {ending}"]
            assert allowed, f"{determiner} {adjective} {noun}: {pair.target}"
            checked[gender] += 1
            before = words[j - 3] if j > 2 else ""
            if before in PREPOSITIONS and english[j - 3] & textbook.PREPOSITION_WORDS:
                case = textbook.CASES.index(PREPOSITIONS[before])
                assert case in allowed, f"{before} {determiner} {noun}: {pair.target}"
                checked["preposition"] += 1
    assert min(checked[key] for key in "mfn") > 60, checked
    assert checked["p"] > 15, checked
    assert checked["preposition"] > 40, checked


def test_subjects_are_nominative():
    oblique = listed("den dem einen einem einer diesen diesem meinen meinem unseren unserem")
    assert not [pair for pair in draw(3, 500, 4, 7) if pair.target.split()[0] in oblique]


def test_dative_verbs_take_datives(pairs):
    verbs = listed("thank thanks thanked help helps helped trust trusts trusted follow follows")
    datives = listed("dem der den einem einer diesem dieser diesen jedem jeder allen vielen")
    datives |= {stem + e for stem in ("mein", "sein", "unser") for e in ("em", "er", "en")}
    articles = listed("the a an this these every all many my his our")
    seen = 0
    for pair in pairs:
        source = pair.source.split()
        for i, english, _, german in linked(pair):
            if i > 0 and source[i - 1] in verbs and english in articles:
                assert german in datives, pair
                seen += 1
    assert seen > 30


def test_relative_pronouns_agree_with_their_noun(pairs):
    seen = Counter()
    for pair in pairs:
        words = pair.target.split()
        for _, english, j, german in linked(pair):
            if english not in RELATIVE or german == "dass":
                continue
            comma = j - 1 if words[j - 1] == "," else j - 2
            assert words[comma] == ",", pair.target
            if gender := GENDERS.get(words[comma - 1]):
                assert german in textbook.RELATIVE_FORMS[gender].split(), pair.target
                seen[gender] += 1
    assert min(seen.values()) > 20
    assert set(seen) == set("mfnp")


def test_subordinate_clauses_end_with_the_finite_verb(pairs):
    openers = listed("weil obwohl wenn während bevor bis sobald dass ob")
    relative = listed("der die das den dem denen")
    checked = 0
    for pair in pairs:
        for part, following in pairwise(segments(pair.target)):
            begins = part[1:] if part and part[0] in {"und", "aber", "oder"} else part
            interrupted = bool(set(following[:2]) & relative)
            if begins and begins[0] in openers and not interrupted:
                assert part[-1] in VERB_FINAL, pair.target
                checked += 1
    assert checked > 500


def test_the_verb_comes_second_after_a_fronted_adverb_or_clause(pairs):
    checked = 0
    for pair in pairs:
        words = pair.target.split()
        if words[0] in {"heute", "gestern", "morgen", "bald", "jetzt", "neulich", "nachts"}:
            assert words[1] in VERB_SECOND, pair.target
            checked += 1
        stops = [word for word in words if word in {",", ";"}]
        if words[0] in {"weil", "wenn", "obwohl"} and stops == [","]:
            assert words[words.index(",") + 1] in VERB_SECOND, pair.target
            checked += 1
    assert checked > 30


def test_english_articles_heed_the_next_sound(pairs):
    for pair in pairs:
        for article, word in pairwise(pair.source.split()):
            if article in {"a", "an"}:
                assert (article == "an") == (word[0].lower() in "aeiou"), pair.source


def test_each_side_determines_the_other(monkeypatch):
    """With few words of each class, so that the same sentence is drawn again and again."""

    def shorten(table, most, *keep):
        for name in table.keys() - set(keep):
            monkeypatch.setitem(table, name, table[name][:most])

    for table in (lexicon.NAMES, lexicon.DETERMINERS, lexicon.PREPOSITIONS):
        shorten(table, 1)
    shorten(lexicon.PHRASES, 1, *(name for name in lexicon.PHRASES if name.startswith("time")))
    shorten(lexicon.VERBS, 1, "intransitive")
    shorten(lexicon.NOUNS, 2)
    for kind, classes in lexicon.ADJECTIVES.items():
        monkeypatch.setitem(lexicon.ADJECTIVES, kind, tuple(c[:1] for c in classes))
    german, english = defaultdict(set), defaultdict(set)
    drawn = draw(11, 5_000, 4, 7)
    for pair in drawn:
        german[pair.source].add(pair.target)
        english[pair.target].add(pair.source)
    assert len(german) < 0.8 * len(drawn)  # many were drawn twice, else this shows nothing
    assert [g for g in german.values() if len(g) > 1] == []
    # "heute schläft der Mann im Garten": the man in the garden, or his sleep?
    assert sum(len(e) > 1 for e in english.values()) < 0.005 * len(english)


def test_the_lexicon_is_one_to_one():
    nouns = chain.from_iterable(lexicon.NOUNS.values())
    entries = [(noun.english[0], noun.german[0][0]) for noun in nouns]
    adjectives = chain.from_iterable(chain.from_iterable(lexicon.ADJECTIVES.values()))
    entries += {(adjective.english, adjective.german) for adjective in adjectives}
    assert len({english for english, _ in entries}) == len(entries)
    assert len({german for _, german in entries}) == len(entries)
    infinitives = defaultdict(set)
    for verb in VERBS:
        infinitives[verb.english].add(verb.german)
        assert verb.past[1][0] != verb.present[1][0], "tense would not show"
    assert all(len(forms) == 1 for forms in infinitives.values())


def test_links_are_positions_in_order_and_leave_only_grammatical_words_alone(pairs):
    for pair in pairs:
        source, target = pair.source.split(), pair.target.split()
        assert all(0 <= i < len(source) and 0 <= j < len(target) for i, j in pair.links)
        assert list(pair.links) == sorted(set(pair.links))
        assert pair.links[-1] == (len(source) - 1, len(target) - 1)  # full stop
        assert {source[i] for i in set(range(len(source))) - {i for i, _ in pair.links}} <= {"to"}
        assert {target[j] for j in set(range(len(target))) - {j for _, j in pair.links}} <= {","}


def test_links_connect_translations(pairs):
    checked = set()
    for pair in pairs:
        for _, english, _, german in linked(pair):
            if english in DICTIONARY:
                assert german in DICTIONARY[english], f"{english}-{german}: {pair}"
                checked.add(english)
    assert checked == set(DICTIONARY)


SMALL = GrammarCorpus(train=800, valid=60, test_per_bucket=12, max_words=35)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grammar") / "new"
    write_corpus(SMALL, folder)
    return folder


def read(path):
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def test_lengths(folder):
    texts = read(folder / "test.en"), read(folder / "train.en")
    test, train = ([len(line.split()) for line in text] for text in texts)
    assert Counter((length - 1) // 10 for length in test) == {0: 12, 1: 12, 2: 12, 3: 12}
    assert max(test) <= 35
    assert set(train) == set(range(4, 36))
    short = sum(length <= 10 for length in train)
    long = sum(length > 28 for length in train)
    assert 1.5 * long < short < 4 * long


def test_splits_are_disjoint(tmp_path):
    # At most ten words: the same short sentences come up again and must be turned away.
    write_corpus(GrammarCorpus(train=1_500, valid=300, test_per_bucket=300, max_words=10), tmp_path)
    train, valid, test = (read(tmp_path / f"{s}.en") for s in ("train", "valid", "test"))
    assert [len(set(valid)), len(valid), len(set(test)), len(test)] == [300] * 4
    assert not set(train) & {*valid, *test}
    assert not set(valid) & set(test)


def test_the_same_seed_writes_the_same_text_and_more_of_it_extends_less(folder, tmp_path):
    config = dataclasses.replace(SMALL, train=300)
    write_corpus(config, tmp_path)
    assert read(tmp_path / "train.en") == read(folder / "train.en")[:300]
    for name in ("test.en", "test.de", "valid.en"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    write_corpus(dataclasses.replace(config, seed=2), tmp_path / "other")
    for path in (tmp_path / "other").iterdir():
        assert path.read_bytes() != (tmp_path / path.name).read_bytes()
