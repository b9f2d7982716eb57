"""Words of the grammar: regular forms are derived here, irregular ones are in ``lexicon.tsv``."""

from collections import defaultdict
from collections.abc import Callable
from importlib.resources import files
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T")
Forms = tuple[tuple[str, ...], ...]
"""``[case][column]``; the columns are masculine, feminine, neuter and plural."""
Inflected = tuple[str, str, str]
"""English verb; German one in main clauses, the finite word first, and at the end of others."""
Kind = Literal["person", "animal", "thing", "place"]
"""Kind of a noun; it decides which verbs, adjectives and prepositions fit."""
CASES = ("nominative", "accusative", "dative")
NOMINATIVE, ACCUSATIVE, DATIVE = range(3)
SINGULAR, PLURAL = range(2)


class Noun(NamedTuple):
    """A noun: ``english[number]``, ``german[number][case]``, gender 0-2 = der, die, das."""

    gender: int
    english: tuple[str, ...]
    german: tuple[tuple[str, ...], ...]


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

    english: str
    german: str
    case: int


class Verb(NamedTuple):
    """A verb with its infinitives, ``present[number]``, ``past[number]``, and its object's case."""

    english: str
    german: str
    to: tuple[str, str]
    present: tuple[Inflected, ...]
    past: tuple[Inflected, ...]
    case: int = ACCUSATIVE
    preposition: Preposition | None = None


def length(english: str) -> int:
    """Number of words of an entry."""
    return 1 + english.count("_") + english.count(" ")


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
    return Preposition(english, word, CASES.index(case))


def _pair(english: str, german: str) -> tuple[str, str]:
    return english, german


def _modal(english: str, german: str) -> tuple[tuple[str, str], ...]:
    return tuple(zip(english.split(), german.split(), strict=True))


def _verb(english: str, german: str) -> Verb:
    base, past, *preposition = english.split()
    infinitive, third, participle, *governed = german.split()
    prefix, _, stem = infinitive.rpartition("|")
    first, *others = base.split("_")
    auxiliaries = ("ist", "sind") if participle.startswith("+") else ("hat", "haben")
    last = participle.removeprefix("+")
    present = ("_".join([_with_s(first), *others]), third), (base, stem)
    return Verb(
        english=base,
        german=prefix + stem,
        to=(f"to_{base}", f"{prefix}zu{stem}") if prefix else (f"to {base}", f"zu {stem}"),
        present=tuple(
            (one, f"{word}_{prefix}".rstrip("_"), prefix + word) for one, word in present
        ),
        past=tuple((past, f"{word}_{last}", f"{last}_{word}") for word in auxiliaries),
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
CONTRACTIONS = dict(_read("contraction", _pair)[""])

NOUNS = _read("noun", _noun)
NAMES = _read("name", lambda name, _: name)
"""Proper names of people, animals and places; they are the same in both languages."""
_PRONOUNS = _read("pronoun", _pair)
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
PHRASES = _read("phrase", _pair)
for name in ("adverb person", "time present", "time past", "time future"):
    PHRASES[name] = PHRASES[name.split()[0]] + PHRASES[name]
PREPOSITIONS = _read("preposition", _preposition)
MODALS = _read("modal", _modal)
VERBS = _read("verb", _verb)
VERBS["intransitive"] = VERBS["intransitive simple"] + VERBS["intransitive"]
VERBS["prepositional"] = VERBS["prepositional thing"] + VERBS["prepositional"]
BE = Verb(
    english="be",
    german="sein",
    to=("to be", "zu sein"),
    present=(("is", "ist", "ist"), ("are", "sind", "sind")),
    past=(("was", "war", "war"), ("were", "waren", "waren")),
)
