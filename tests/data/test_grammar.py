"""The sentences of the embedded grammar: are they German, are they aligned?"""

import random
from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from textbook import (
    ADJECTIVES,
    AGREEMENT,
    CASES,
    DICTIONARY,
    GENDERS,
    PREPOSITION_WORDS,
    PREPOSITIONS,
    RELATIVE,
    RELATIVE_FORMS,
    listed,
)

from seq2seq.data.grammar import SentencePair, lexicon, sentence
from seq2seq.data.grammar.lexicon import Verb


def draw(seed: int, count: int, shortest: int, longest: int) -> list[SentencePair]:
    rng = random.Random(seed)
    lengths = [rng.randint(shortest, longest) for _ in range(count)]
    return [sentence(rng, words) for words in lengths]


@pytest.fixture(scope="module")
def pairs() -> list[SentencePair]:
    return draw(7, 1_200, 4, 60)


def linked(pair: SentencePair) -> list[tuple[int, str, int, str]]:
    source, target = pair.source.split(), pair.target.split()
    return [(i, source[i], j, target[j]) for i, j in pair.links]


def segments(german: str) -> list[list[str]]:
    """The stretches between stops."""
    parts: list[list[str]] = [[]]
    for word in german.split():
        if word in {",", ";", "."}:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


class TestSentence:
    @pytest.mark.parametrize("words", [4, 5, 6, 7, 8, 9, 10, 11, 20, 21, 50, 70, 120])
    def test_english_side_has_the_words_asked_for(self, words: int) -> None:
        rng = random.Random(words)
        for _ in range(20):
            pair = sentence(rng, words)
            assert len(pair.source.split()) == words
            for text in (pair.source, pair.target):
                assert text == " ".join(text.split())
                assert text.endswith(" .")
                assert ", ," not in text
                assert ", ." not in text

    def test_draws_only_what_python_keeps_stable(self) -> None:
        class Strict(random.Random):
            def getrandbits(self, k: int) -> int:
                raise AssertionError("its algorithms may change between versions")

        strict = Strict(5)
        plain = random.Random(5)
        for _ in range(20):
            assert sentence(strict, 30) == sentence(plain, 30)

    def test_languages_mirror_each_other(self) -> None:
        for seed in range(50):
            english = sentence(random.Random(seed), 25, source="en")
            german = sentence(random.Random(seed), 25, source="de")
            assert german == english.reversed()
            assert german.reversed() == english
            assert set(german.links) == {(j, i) for i, j in english.links}

    def test_content_grows_with_length(self, pairs: list[SentencePair]) -> None:
        # A vocabulary of some size, drawn from evenly, and no phrase written twice.
        for side in ("source", "target"):
            counts = Counter(word for pair in pairs for word in getattr(pair, side).split())
            assert 400 < len(counts) < 850
        nouns = Counter(w for p in pairs for w in p.source.split() if w in {"dog", "cat", "owl"})
        assert max(nouns.values()) < 2 * min(nouns.values())
        for pair in pairs:
            words = [w for w in pair.source.split() if len(w) > 3]
            if len(words) >= 25:
                assert len(set(words)) > 0.6 * len(words)
        repeated = total = 0
        for pair in pairs:
            words = pair.source.split()
            phrases = [tuple(words[i : i + 4]) for i in range(len(words) - 3)]
            total += len(phrases)
            repeated += len(phrases) - len(set(phrases))
        assert repeated < 0.005 * total


class TestGerman:
    def test_determiners_and_adjectives_agree_with_the_noun(
        self, pairs: list[SentencePair]
    ) -> None:
        endings = {adjective + e: e for adjective in ADJECTIVES for e in ("e", "en", "er", "es")}
        checked = Counter()
        for pair in pairs:
            words = pair.target.split()
            for j, noun in enumerate(words):
                ending = endings.get(words[j - 1]) if j > 1 else None
                determiner = words[j - 2]
                if noun not in GENDERS or not ending:
                    continue
                forms = AGREEMENT[GENDERS[noun]]
                family = {form.split()[0] for row in AGREEMENT.values() for form in row}
                relative = {e for _, e, k, _ in linked(pair) if k == j - 2} & RELATIVE
                if determiner not in family or relative:
                    continue
                allowed = [
                    k % 3 for k, form in enumerate(forms) if form == f"{determiner} {ending}"
                ]
                assert allowed, f"{determiner} {words[j - 1]} {noun}: {pair.target}"
                checked[GENDERS[noun]] += 1
                before = words[j - 3] if j > 2 else ""
                linked_to = {e for _, e, k, _ in linked(pair) if k == j - 3}
                if before in PREPOSITIONS and linked_to & PREPOSITION_WORDS:
                    case = CASES.index(PREPOSITIONS[before])
                    assert case in allowed, f"{before} {determiner} {noun}: {pair.target}"
                    checked["preposition"] += 1
        assert min(checked[key] for key in "mfn") > 60, checked
        assert checked["p"] > 15, checked
        assert checked["preposition"] > 40, checked

    def test_subjects_are_nominative(self) -> None:
        oblique = listed("den dem einen einem einer diesen diesem meinen meinem unseren unserem")
        pairs = draw(3, 500, 4, 7)
        assert not [pair for pair in pairs if pair.target.split()[0] in oblique]

    def test_dative_verbs_take_datives(self, pairs: list[SentencePair]) -> None:
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

    def test_relative_pronouns_agree_with_their_noun(self, pairs: list[SentencePair]) -> None:
        seen = Counter()
        for pair in pairs:
            words = pair.target.split()
            for _, english, j, german in linked(pair):
                if english not in RELATIVE or german == "dass":
                    continue
                comma = j - 1 if words[j - 1] == "," else j - 2
                assert words[comma] == ",", pair.target
                gender = GENDERS.get(words[comma - 1])
                if gender:
                    assert german in RELATIVE_FORMS[gender].split(), pair.target
                    seen[gender] += 1
        assert min(seen.values()) > 20
        assert set(seen) == set("mfnp")

    def test_subordinate_clauses_end_with_the_finite_verb(self, pairs: list[SentencePair]) -> None:
        openers = {"weil", "obwohl", "wenn", "während", "bevor", "bis", "sobald", "dass", "ob"}
        _, final = finite_forms()
        relative = listed("der die das den dem denen")
        checked = 0
        for pair in pairs:
            parts = segments(pair.target)
            for part, following in pairwise(parts):
                opener = (
                    part[1] if part and part[0] in {"und", "aber", "oder"} else (part or [""])[0]
                )
                interrupted = following and bool(set(following[:2]) & relative)
                if opener not in openers or interrupted:
                    continue
                assert part[-1] in final, pair.target
                checked += 1
        assert checked > 500

    def test_verb_comes_second_after_a_fronted_adverb(self, pairs: list[SentencePair]) -> None:
        finite, _ = finite_forms()
        checked = 0
        for pair in pairs:
            words = pair.target.split()
            if words[0] in {"heute", "gestern", "morgen", "bald", "jetzt", "neulich", "nachts"}:
                assert words[1] in finite, pair.target
                checked += 1
            if words[0] in {"weil", "wenn", "obwohl"} and words.count(",") == 1 == len(
                [w for w in words if w in {",", ";"}]
            ):
                assert words[words.index(",") + 1] in finite, pair.target
                checked += 1
        assert checked > 30

    def test_english_articles_heed_the_next_sound(self, pairs: list[SentencePair]) -> None:
        for pair in pairs:
            words = pair.source.split()
            for article, word in pairwise(words):
                if article in {"a", "an"}:
                    assert (article == "an") == (word[0].lower() in "aeiou"), pair.source


class TestTranslation:
    @pytest.fixture
    def tiny_lexicon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A few words of each class, so that the same sentence is drawn again and again."""
        for name in listed(
            "NAMES CITIES NUMERALS ADVERBS ADVERBS_OF_THINGS INTENSIFIERS INTRANSITIVE_SIMPLE "
            "INTRANSITIVE_OF_THINGS MOTION TRANSITIVE TRANSITIVE_OF_PERSONS TRANSITIVE_OF_THINGS "
            "DATIVE_VERBS DITRANSITIVE PREPOSITIONAL PREPOSITIONAL_OF_THINGS SAYING ASKING TRYING "
            "AT_PLACES AT_CITIES IN_WHICH OF_BELONGINGS TO_PLACES COORDINATORS CONJUNCTIONS "
            "SINGULAR_DETERMINERS PLURAL_DETERMINERS COUNTABLE_DETERMINERS"
        ):
            monkeypatch.setattr(lexicon, name, getattr(lexicon, name)[:1])
        monkeypatch.setattr(lexicon, "NOUNS", tuple(nouns[:2] for nouns in lexicon.NOUNS))
        small = tuple(tuple(c[:1] for c in classes) for classes in lexicon.ADJECTIVES)
        monkeypatch.setattr(lexicon, "ADJECTIVES", small)
        monkeypatch.setattr(lexicon, "PREDICATIVES", tuple(p[:1] for p in lexicon.PREDICATIVES))

    @pytest.mark.usefixtures("tiny_lexicon")
    def test_each_side_determines_the_other(self) -> None:
        german, english = defaultdict(set), defaultdict(set)
        drawn = draw(11, 5_000, 4, 7)
        for pair in drawn:
            german[pair.source].add(pair.target)
            english[pair.target].add(pair.source)
        assert len(german) < 0.8 * len(drawn)  # many were drawn twice, else this shows nothing
        assert [g for g in german.values() if len(g) > 1] == []
        # "heute schläft der Mann im Garten": the man in the garden, or his sleep?
        assert sum(len(e) > 1 for e in english.values()) < 0.005 * len(english)

    def test_lexicon_is_one_to_one(self) -> None:
        entries = [
            (noun.english[0], noun.german[0][0]) for nouns in lexicon.NOUNS for noun in nouns
        ]
        entries += {
            (adjective.english, adjective.german)
            for classes in lexicon.ADJECTIVES
            for adjectives in classes
            for adjective in adjectives
        }
        assert len({english for english, _ in entries}) == len(entries)
        assert len({german for _, german in entries}) == len(entries)
        infinitives = defaultdict(set)
        for verb in all_verbs():
            infinitives[verb.english].add(verb.infinitive)
            assert verb.english_past[1] != verb.english_present[1], "tense would not show"
        assert all(len(forms) == 1 for forms in infinitives.values())


class TestAlignment:
    def test_links_are_positions_in_order_without_repeats(self, pairs: list[SentencePair]) -> None:
        for pair in pairs:
            sizes = len(pair.source.split()), len(pair.target.split())
            assert all(0 <= i < sizes[0] and 0 <= j < sizes[1] for i, j in pair.links)
            assert list(pair.links) == sorted(set(pair.links))
            assert pair.alignment.split()[-1] == f"{sizes[0] - 1}-{sizes[1] - 1}"  # full stop

    def test_only_grammatical_words_go_unaligned(self, pairs: list[SentencePair]) -> None:
        for pair in pairs:
            links = linked(pair)
            sources, targets = {i for i, *_ in links}, {j for _, _, j, _ in links}
            loose = {w for i, w in enumerate(pair.source.split()) if i not in sources}
            assert loose <= {"to"}, pair.source
            loose = {w for j, w in enumerate(pair.target.split()) if j not in targets}
            assert loose <= {","}, pair.target

    def test_links_connect_translations(self, pairs: list[SentencePair]) -> None:
        # A dictionary written by hand, then the whole lexicon.
        checked = Counter()
        known = defaultdict(set)
        for nouns in lexicon.NOUNS:
            for noun in nouns:
                for number in (0, 1):
                    known[noun.english[number]] |= set(noun.german[number])
        for classes in lexicon.ADJECTIVES:
            for adjective in (a for adjectives in classes for a in adjectives):
                endings = ("e", "en", "er", "es")
                forms = {adjective.german, *(adjective.stem + e for e in endings)}
                known[adjective.english] |= forms
        for name in lexicon.NAMES + lexicon.CITIES:
            known[name] = {name}
        for pair in pairs:
            for _, english, _, german in linked(pair):
                if english in DICTIONARY:
                    assert german in DICTIONARY[english], f"{english}-{german}: {pair}"
                    checked[english] += 1
                if english in known:
                    assert german in known[english], f"{english}-{german}: {pair}"
        assert set(checked) == set(DICTIONARY)

    def test_word_order_differs(self, pairs: list[SentencePair]) -> None:
        crossing = total = 0
        for pair in pairs:
            for i, j in pair.links:
                total += 1
                crossing += any((i - k) * (j - m) < 0 for k, m in pair.links)
        assert crossing > 0.35 * total


def all_verbs() -> list[Verb]:
    tables = [value for name, value in vars(lexicon).items() if isinstance(value, tuple)]
    return [entry for table in tables for entry in table if isinstance(entry, Verb)]


def finite_forms() -> tuple[set[str], set[str]]:
    """Verb-second and verb-final finite forms."""
    others = listed(
        "hat haben ist sind war waren wird werden kann können muss müssen sollte sollten darf "
        "dürfen will wollen"
    )
    verbs = all_verbs()
    return (
        others | {form for verb in verbs for form in verb.finite},
        others | {form for verb in verbs for form in verb.final},
    )
