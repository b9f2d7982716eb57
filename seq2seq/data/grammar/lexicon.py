"""Words of the grammar: regular forms are derived here, irregular ones are in ``lexicon.tsv``."""

from collections import defaultdict
from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple, TypeVar

T = TypeVar("T")
Words = tuple[str, ...]
Linked = tuple[tuple[Words, Words], ...]
"""A fixed phrase as groups of words that translate each other."""
Forms = tuple[Words, ...]
"""``[case][column]``; the columns are masculine, feminine, neuter and plural."""

CASES = ("nominative", "accusative", "dative")
NOMINATIVE, ACCUSATIVE, DATIVE = range(3)
SINGULAR, PLURAL = range(2)
PERSON, ANIMAL, THING, PLACE = "person", "animal", "thing", "place"
"""Kinds of nouns; the kind decides which verbs, adjectives and prepositions fit."""


class Noun(NamedTuple):
    """A noun: ``english[number]``, ``german[number][case]``, gender 0-2 = der, die, das."""

    gender: int
    english: Words
    german: tuple[Words, Words]

    def column(self, number: int) -> int:
        """Return the column of this noun in :data:`Forms`; the plural has no gender."""
        return 3 if number == PLURAL else self.gender


class Adjective(NamedTuple):
    """An adjective; German uses the base form after "sein" and adds endings to the stem."""

    english: str
    german: str
    stem: str


class Determiner(NamedTuple):
    """A word before the noun, and the endings that adjectives take after it."""

    english: str
    german: Forms
    endings: Forms


class Preposition(NamedTuple):
    """A preposition and its German case."""

    english: Words
    german: str
    case: int


class Modal(NamedTuple):
    """A verb that takes an infinitive; pairs are indexed by number."""

    english: tuple[Words, ...]
    german: Words


class Verb(NamedTuple):
    """A verb with the forms that the grammar needs; a pair has the singular and the plural.

    The German infinitive is ``prefix + stem``; main clauses separate the prefix ("ruft ... an").
    """

    english: Words
    english_present: tuple[Words, Words]
    english_past: tuple[Words, Words]
    prefix: str
    stem: str
    finite: Words
    past: Words
    """The auxiliary of the German perfect ("hat", "haben"), or a simple past ("war")."""
    participle: str
    """Of the perfect; "" with a simple past."""
    case: int = ACCUSATIVE
    """Of the object."""
    preposition: Preposition | None = None


def _group(entry: str) -> Words:
    return tuple(entry.split("_"))


def _with_s(word: str) -> str:
    """Add the English -s of plurals and of the third person."""
    if word.endswith(("s", "x", "ch", "sh", "go")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def _noun(english: str, german: str) -> Noun:
    singular, *irregular = english.split()
    article, forms, plural = german.split()
    nominative, _, oblique = forms.partition("/")
    oblique = oblique or nominative
    dative = plural if plural.endswith(("n", "s")) else plural + "n"
    return Noun(
        ("der", "die", "das").index(article),
        (singular, *(irregular or [_with_s(singular)])),
        ((nominative, oblique, oblique), (plural, plural, dative)),
    )


def _adjective(english: str, german: str) -> Adjective:
    base, _, stem = german.partition("/")
    return Adjective(english, base, stem or base)


def _preposition(english: str, german: str) -> Preposition:
    word, case = german.split()
    return Preposition(_group(english), word, CASES.index(case))


def _modal(english: str, german: str) -> Modal:
    return Modal(tuple(map(_group, english.split())), tuple(german.split()))


def _phrase(english: str, german: str) -> Linked:
    groups = zip(english.split(), german.split(), strict=True)
    return tuple((_group(one), _group(other)) for one, other in groups)


def _verb(english: str, german: str) -> Verb:
    base, past, *preposition = english.split()
    infinitive, third, participle, *governed = german.split()
    prefix, _, stem = infinitive.rpartition("|")
    words = _group(base)
    return Verb(
        english=words,
        english_present=((_with_s(words[0]), *words[1:]), words),
        english_past=(_group(past), _group(past)),
        prefix=prefix,
        stem=stem,
        finite=(third, stem),
        past=("ist", "sind") if participle.startswith("+") else ("hat", "haben"),
        participle=participle.removeprefix("+"),
        case=CASES.index(governed[-1]) if governed else ACCUSATIVE,
        preposition=_preposition(preposition[0], " ".join(governed)) if preposition else None,
    )


_LINES = (files(__package__) / "lexicon.tsv").read_text(encoding="utf-8").splitlines()
_ROWS = [line.split("\t") for line in _LINES if line and not line.startswith("#")]


def _read(word_class: str, parse: Callable[[str, str], T]) -> dict[str, tuple[T, ...]]:
    """Return the entries of a word class by the rest of their class: "person" of "noun person"."""
    entries: dict[str, list[T]] = defaultdict(list)
    for name, english, german in _ROWS:
        first, _, rest = name.partition(" ")
        if first == word_class:
            entries[rest].append(parse(english, german))
    return {rest: tuple(words) for rest, words in entries.items()}


# Determiners, and the endings of adjectives after them.
ARTICLE = (("der", "die", "das", "die"), ("den", "die", "das", "die"), ("dem", "der", "dem", "den"))
WEAK = (("e", "e", "e", "en"), ("en", "e", "e", "en"), ("en", "en", "en", "en"))
MIXED = (("er", "e", "es", "en"), ("en", "e", "es", "en"), ("en", "en", "en", "en"))
STRONG = (("er", "e", "es", "e"), ("en", "e", "es", "e"), ("em", "er", "em", "en"))
LIKE_EIN = (("", "e", "", "e"), ("en", "e", "", "e"), ("em", "er", "em", "en"))


def _determiner(english: str, stem: str, endings: Forms, adjective_endings: Forms) -> Determiner:
    forms = tuple(tuple(stem + ending for ending in row) for row in endings)
    return Determiner(english, forms, adjective_endings)


THE = Determiner("the", ARTICLE, WEAK)
A = _determiner("a", "ein", LIKE_EIN, MIXED)
NO_ARTICLE = Determiner("", (("",) * 4,) * 3, STRONG)
_POSSESSIVES = tuple(
    _determiner(english, stem, LIKE_EIN, MIXED)
    for english, stem in (("my", "mein"), ("his", "sein"), ("our", "unser"))
)
# Repeated entries are drawn more often; a numeral may follow the countable ones.
_COUNTABLE = (*(THE,) * 3, _determiner("these", "dies", STRONG, WEAK), *_POSSESSIVES)
DETERMINERS = {
    "singular": (
        *(THE,) * 5,
        *(A,) * 4,
        _determiner("this", "dies", STRONG, WEAK),
        _determiner("every", "jed", STRONG, WEAK),
        *_POSSESSIVES,
    ),
    "countable": _COUNTABLE,
    "plural": (
        *_COUNTABLE,
        _determiner("all", "all", STRONG, WEAK),
        _determiner("many", "viel", STRONG, STRONG),
        _determiner("some", "einig", STRONG, STRONG),
    ),
}
RELATIVE_PRONOUNS = (*ARTICLE[:2], ("dem", "der", "dem", "denen"))
CONTRACTIONS = dict(_read("contraction", lambda parts, word: (parts, word))[""])

NOUNS = _read("noun", _noun)
NAMES = _read("name", lambda name, _: name)
"""Proper names of people, animals and places; they are the same in both languages."""
_PRONOUNS = _read("pronoun", lambda english, german: (english, german))
PRONOUNS = [(*one, SINGULAR) for one in _PRONOUNS["singular"]]
PRONOUNS += [(*one, PLURAL) for one in _PRONOUNS["plural"]]
"""(English, German, number) of one-word subjects; the verb shows the number of "sie"."""
_ADJECTIVES = _read("adjective", _adjective)
ADJECTIVES = {
    kind: (*(_ADJECTIVES[f"{name} {kind}"] for name in ("quality", "size", "state")), *others)
    for kind, others in {
        PERSON: (_ADJECTIVES["origin"],),
        ANIMAL: (_ADJECTIVES["colour"],),
        THING: (_ADJECTIVES["colour"], _ADJECTIVES["origin"]),
        PLACE: (_ADJECTIVES["origin"],),
    }.items()
}
"""Kind of noun -> classes of adjectives, in their order before the noun."""
PHRASES = _read("phrase", _phrase)
for name in ("adverb person", "time present", "time past", "time future"):
    PHRASES[name] = PHRASES[name.split()[0]] + PHRASES[name]
PREPOSITIONS = _read("preposition", _preposition)
MODALS = _read("modal", _modal)
VERBS = _read("verb", _verb)
VERBS["intransitive simple"] = tuple(v for v in VERBS["intransitive"] if len(v.english) == 1)
VERBS["prepositional"] = VERBS["prepositional thing"] + VERBS["prepositional person"]
BE = Verb(
    english=("be",),
    english_present=(("is",), ("are",)),
    english_past=(("was",), ("were",)),
    prefix="",
    stem="sein",
    finite=("ist", "sind"),
    past=("war", "waren"),
    participle="",
)
