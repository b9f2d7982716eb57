"""Words of the grammar: regular forms are derived here, irregular ones are in ``lexicon.tsv``."""

import re
from collections import defaultdict
from collections.abc import Callable
from importlib.resources import files
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T")
Forms = tuple[tuple[str, ...], ...]
"""``[case][column]``; the columns are masculine, feminine, neuter and plural."""
Inflected = tuple[str, str, str]
"""English verb; German one in main clauses, the finite word first, and at the end of others."""
Rows = tuple[Inflected, ...]
"""Forms of a verb after a singular noun, a plural noun, I, you."""
Kind = Literal["person", "animal", "thing", "place", ""]
"""Kind of a noun; it decides which verbs, adjectives and prepositions fit."""
CASES = ("nominative", "accusative", "dative")
NOMINATIVE, ACCUSATIVE, DATIVE = range(3)
SINGULAR, PLURAL, SPEAKER, LISTENER = range(4)


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
    """A preposition, its German case, and the kind of noun that it takes."""

    english: str
    german: str
    case: int
    kind: Kind = ""


class Verb(NamedTuple):
    """A verb with its infinitives, ``present[number]``, ``past[number]``, and its object's case."""

    english: str
    german: str
    to: tuple[str, str]
    present: Rows
    past: Rows
    ing: str = ""
    order: str = ""
    """The German imperative, its finite word first."""
    case: int = ACCUSATIVE
    preposition: Preposition | None = None


class Frame(NamedTuple):
    """What may follow a verb, in ``low`` to ``high`` words."""

    low: int
    high: int
    verbs: str
    parts: list[str]


class Clause(NamedTuple):
    """What stands in a clause of ``low`` to ``high`` words, and its German order."""

    low: int
    high: int
    opener: str
    who: str
    predicate: str
    order: str


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


def _with_ing(word: str) -> str:
    """Add the English -ing."""
    if re.fullmatch("[^aeiou]*[aeiou][bdgmnpt]|begin|forget|travel", word):
        return f"{word}{word[-1]}ing"
    return (word.removesuffix("e") if word[-2:] != "ee" else word) + "ing"


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
    word, case, *kind = german.split()
    return Preposition(english, word, CASES.index(case), *kind)


def _pair(english: str, german: str) -> tuple[str, str]:
    return english, german


def _modal(english: str, german: str) -> tuple[tuple[str, str], ...]:
    one, other = english.split()
    return tuple(zip((one, other, other, other), german.split(), strict=True))


def _pronoun(english: str, german: str) -> tuple[list[str], list[str], int]:
    *forms, number = german.split()
    return english.split(), forms, int(number)


def _frame(english: str, german: str) -> Frame:
    verbs, *parts = german.split()
    return Frame(*map(int, english.split()), verbs, parts)


def _clause(english: str, german: str) -> Clause:
    return Clause(*map(int, english.split()), *german.split())


def _verb(english: str, german: str) -> Verb:
    base, past, *preposition = english.split()
    infinitive, third, participle, *governed = german.split()
    if len(preposition) > 1:  # all forms are given
        forms = german.split()[1:]
        rows = tuple(zip(english.split()[1:], forms, forms, strict=True))
        return Verb(base, infinitive, (f"to {base}", f"zu {infinitive}"), rows[:4], rows[4:])
    prefix, _, stem = infinitive.rpartition("|")
    first, *others = base.split("_")
    root = third.removesuffix("t")
    second = root + ("t" if root[-1] in "sßz" else "st")
    persons = third, stem, third if root == third else stem[:-1], second
    with_s = "_".join([_with_s(first), *others])
    auxiliaries = "ist sind bin bist" if participle.startswith("+") else "hat haben habe hast"
    last = participle.removeprefix("+")
    return Verb(
        english=base,
        german=prefix + stem,
        to=(f"to_{base}", f"{prefix}zu{stem}") if prefix else (f"to {base}", f"zu {stem}"),
        present=tuple(
            (with_s if i == SINGULAR else base, f"{word}_{prefix}".rstrip("_"), prefix + word)
            for i, word in enumerate(persons)
        ),
        past=tuple(
            (past.rstrip("*"), f"{word}_{last}", f"{last}_{word}") for word in auxiliaries.split()
        ),
        ing="" if past.endswith("*") else "_".join([_with_ing(first), *others]),
        order=f"{stem[:-2] if 'ä' in root else root}_{prefix}".rstrip("_"),
        case=CASES.index(governed[-1]) if governed else ACCUSATIVE,
        preposition=_preposition(preposition[0], " ".join(governed)) if preposition else None,
    )


_LINES = (files(__package__) / "lexicon.tsv").read_text(encoding="utf-8").splitlines()
_ROWS = [line.split("\t") for line in _LINES if line and not line.startswith("#")]


def _read(word_class: str, parse: Callable[[str, str], T]) -> dict[str, list[T]]:
    """Return the entries of a word class by the rest of their class: "person" of "noun person"."""
    entries: dict[str, list[T]] = defaultdict(list)
    for name, english, german in _ROWS:
        first, _, rest = name.partition(" ")
        if first == word_class:
            for one in rest.split(","):
                key, _, times = one.partition("*")
                entries[key] += [parse(english, german)] * int(times or 1)
    return dict(entries)


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


NO_ARTICLE = Determiner("", (("",) * 4,) * 3, _ENDINGS["strong"])
DETERMINERS = _read("determiner", _determiner)
DETERMINERS["bare"] = DETERMINERS["exist bare"] = [NO_ARTICLE]
RELATIVE = _forms("d", "relative")
CONTRACTIONS = dict(_read("contraction", _pair)[""])
NOUNS = _read("noun", _noun)
NAMES = _read("name", lambda name, _: name)
"""Proper names of people and places; they are the same in both languages."""
PRONOUNS = _read("pronoun", _pronoun)
"""English forms, German forms, number; the verb shows the number of "sie"."""
ADJECTIVES: dict[str, list[list[Adjective]]] = defaultdict(list)
"""Kind of noun -> classes of adjectives, in their order before the noun."""
for name, adjectives in _read("adjective", _adjective).items():
    ADJECTIVES[name.split()[1]].append(adjectives)
PHRASES = _read("phrase", _pair)
PREPOSITIONS = _read("preposition", _preposition)
MODALS = _read("modal", _modal)
VERBS = _read("verb", _verb)
BE = VERBS["be"][0]
BEFORE_NOT = {"can": "ca", "will": "wo"}
"""English words that have another form before "n't"."""
FRAMES = _read("frame", _frame)
CLAUSES = _read("clause", _clause)
