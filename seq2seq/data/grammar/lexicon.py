"""Words of the grammar: regular forms are derived here, irregular ones are in ``lexicon.tsv``."""

from collections import defaultdict
from collections.abc import Callable
from importlib.resources import files
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T")
Words = tuple[str, ...]
Linked = tuple[tuple[Words, Words], ...]
"""A fixed phrase as groups of words that translate each other."""
Forms = tuple[Words, ...]
"""``[case][column]``; the columns are masculine, feminine, neuter and plural."""

Form = tuple[Words, Words, Words]
"""English verb; German one in main clauses, the finite word first, and at the end of others."""
Kind = Literal["person", "animal", "thing", "place"]
"""Kind of a noun; it decides which verbs, adjectives and prepositions fit."""
CASES = ("nominative", "accusative", "dative")
NOMINATIVE, ACCUSATIVE, DATIVE = range(3)
SINGULAR, PLURAL = range(2)


class Noun(NamedTuple):
    """A noun: ``english[number]``, ``german[number][case]``, gender 0-2 = der, die, das."""

    gender: int
    english: Words
    german: tuple[Words, Words]


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


class Verb(NamedTuple):
    """A verb with ``present[number]``, ``past[number]``, and the case of its object.

    The German infinitive is ``prefix + stem``; main clauses separate the prefix ("ruft ... an").
    """

    english: Words
    present: tuple[Form, ...]
    past: tuple[Form, ...]
    prefix: str
    stem: str
    case: int = ACCUSATIVE
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


def _phrase(english: str, german: str) -> Linked:
    groups = zip(english.split(), german.split(), strict=True)
    return tuple((_group(one), _group(other)) for one, other in groups)


def _verb(english: str, german: str) -> Verb:
    base, past, *preposition = english.split()
    infinitive, third, participle, *governed = german.split()
    prefix, _, stem = infinitive.rpartition("|")
    words = _group(base)
    third_english = (_with_s(words[0]), *words[1:])
    auxiliaries = ("ist", "sind") if participle.startswith("+") else ("hat", "haben")
    end, separate = participle.removeprefix("+"), (prefix,) if prefix else ()
    return Verb(
        english=words,
        present=(
            (third_english, (third, *separate), (prefix + third,)),
            (words, (stem, *separate), (prefix + stem,)),
        ),
        past=tuple((_group(past), (one, end), (end, one)) for one in auxiliaries),
        prefix=prefix,
        stem=stem,
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


_ENDINGS: dict[str, Forms] = {
    "article": (("er", "ie", "as", "ie"), ("en", "ie", "as", "ie"), ("em", "er", "em", "en")),
    "relative": (("er", "ie", "as", "ie"), ("en", "ie", "as", "ie"), ("em", "er", "em", "enen")),
    "ein": (("", "e", "", "e"), ("en", "e", "", "e"), ("em", "er", "em", "en")),
    "strong": (("er", "e", "es", "e"), ("en", "e", "es", "e"), ("em", "er", "em", "en")),
    "mixed": (("er", "e", "es", "en"), ("en", "e", "es", "en"), ("en", "en", "en", "en")),
    "weak": (("e", "e", "e", "en"), ("en", "e", "e", "en"), ("en", "en", "en", "en")),
}


def _forms(stem: str, endings: str) -> Forms:
    return tuple(tuple(stem + ending for ending in row) for row in _ENDINGS[endings])


def _determiner(english: str, german: str) -> Determiner:
    stem, own, following = german.split()
    return Determiner(english, _forms(stem, own), _ENDINGS[following])


DETERMINERS = _read("determiner", _determiner)
DETERMINERS["plural"] = DETERMINERS["countable"] + DETERMINERS["plural"]
NO_ARTICLE = Determiner("", (("",) * 4,) * 3, _ENDINGS["strong"])
RELATIVE = _forms("d", "relative")
CONTRACTIONS = dict(_read("contraction", lambda parts, word: (parts, word))[""])

NOUNS = _read("noun", _noun)
NAMES = _read("name", lambda name, _: name)
"""Proper names of people, animals and places; they are the same in both languages."""
_PRONOUNS = _read("pronoun", lambda english, german: ((english,), (german,)))
PRONOUNS = [(one, number) for number, name in enumerate(_PRONOUNS) for one in _PRONOUNS[name]]
"""(English and German, number) of one-word subjects; the verb shows the number of "sie"."""
_ADJECTIVES = _read("adjective", _adjective)
ADJECTIVES = {
    kind: (*(_ADJECTIVES[f"{name} {kind}"] for name in ("quality", "size", "state")), *others)
    for kind, others in {
        "person": (_ADJECTIVES["origin"],),
        "animal": (_ADJECTIVES["colour"],),
        "thing": (_ADJECTIVES["colour"], _ADJECTIVES["origin"]),
        "place": (_ADJECTIVES["origin"],),
    }.items()
}
"""Kind of noun -> classes of adjectives, in their order before the noun."""
PHRASES = _read("phrase", _phrase)
for name in ("adverb person", "time present", "time past", "time future"):
    PHRASES[name] = PHRASES[name.split()[0]] + PHRASES[name]
PREPOSITIONS = _read("preposition", _preposition)
MODALS = _read("modal", _phrase)
VERBS = _read("verb", _verb)
VERBS["intransitive"] = VERBS["intransitive simple"] + VERBS["intransitive"]
VERBS["prepositional"] = VERBS["prepositional thing"] + VERBS["prepositional"]
BE = Verb(
    english=("be",),
    present=((("is",), ("ist",), ("ist",)), (("are",), ("sind",), ("sind",))),
    past=((("was",), ("war",), ("war",)), (("were",), ("waren",), ("waren",))),
    prefix="",
    stem="sein",
)
