"""Words of the grammar: regular forms are derived here, irregular ones are in ``lexicon.tsv``."""

import re
from collections import defaultdict
from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple, TypeVar

T = TypeVar("T")
Forms = tuple[tuple[str, ...], ...]
"""``[case][column]``; the columns are masculine, feminine, neuter and plural."""
Determiner = tuple[str, Forms, Forms]
"""English; German; the endings that adjectives take after it."""
Inflected = tuple[str, str, str]
"""English verb; German one in main clauses, the finite word first, and at the end of others."""
Kind = str
"""Kind of a noun: person, animal, thing or place; it decides which verbs and adjectives fit."""
CASES = ("nominative", "accusative", "dative")
NOMINATIVE, ACCUSATIVE, DATIVE = range(3)
SINGULAR, PLURAL, SPEAKER, LISTENER = range(4)


class Preposition(NamedTuple):
    """A preposition, its German case, and the kind of noun that it takes."""

    english: str
    german: str
    case: int
    kind: Kind = ""


class Verb(NamedTuple):
    """A verb with its infinitives, ``forms[tense][number]``, and its object's case."""

    english: str
    german: str
    to: tuple[str, str]
    forms: dict[str, list[Inflected]]
    case: int = ACCUSATIVE
    preposition: Preposition | None = None


def length(english: str) -> int:
    """Number of words of an entry."""
    return 1 + english.count("_") + english.count(" ")


def _with_s(word: str) -> str:
    """Add the English -s of plurals and of the third person."""
    return re.sub("([^aeiou])y$", r"\1ie", re.sub("(s|x|ch|sh|go)$", r"\1e", word)) + "s"


def _with_ing(word: str) -> str:
    doubled = re.fullmatch("[^aeiou]*[aeiou][bdgmnpt]|begin|forget|travel", word)
    return (word + word[-1] if doubled else re.sub("(?<!e)e$", "", word)) + "ing"


def _noun(english: str, german: str) -> tuple[int, list[str], Forms]:
    """Return gender, English forms by number, German ones by number and case."""
    singular, *irregular = english.split()
    article, forms, plural = german.split()
    nominative, _, oblique = forms.partition("/")
    dative = plural if plural.endswith(("n", "s")) else plural + "n"
    cases = (nominative, *[oblique or nominative] * 2), (plural, plural, dative)
    return ("der", "die", "das").index(article), [singular, *irregular, _with_s(singular)], cases


def _adjective(english: str, german: str) -> tuple[str, str, str]:
    base, _, stem = german.partition("/")
    return english, base, stem or base


def _preposition(english: str, german: str) -> Preposition:
    word, case, kind = german.split()
    return Preposition(english, word, CASES.index(case), kind)


def _split(english: str, german: str) -> tuple[list[str], list[str]]:
    return english.split(), german.split()


def _row(bounds: str, names: str) -> tuple[int, int, list[str]]:
    low, high = map(int, bounds.split())
    return low, high, names.split()


def _verb(english: str, german: str) -> Verb:
    base, past, *preposition = english.split()
    infinitive, third, participle, *governed = german.split()
    prefix, _, stem = infinitive.rpartition("|")
    to = (f"to_{base}", f"{prefix}zu{stem}") if prefix else (f"to {base}", f"zu {stem}")
    if len(preposition) > 1:  # the row has all forms
        finite = [third, participle, *governed]
        rows = list(zip([past, *preposition], finite, finite, strict=True))
        return Verb(base, stem, to, {"present": rows[:4], "past": rows[4:]})
    first, *others = base.split("_")
    root = third.removesuffix("t")
    second = root + ("t" if root[-1] in "sßz" else "st")
    here = third, stem, third if root == third else stem[:-1], second
    have = "ist sind bin bist" if participle.startswith("+") else "hat haben habe hast"
    present = [(f"{word}_{prefix}".rstrip("_"), prefix + word) for word in here]
    last = participle.removeprefix("+")
    perfect = [(f"{word}_{last}", f"{last}_{word}") for word in have.split()]
    one, ing = ("_".join([word, *others]) for word in (_with_s(first), _with_ing(first)))
    forms = {
        "present": [
            (word, *row) for word, row in zip((one, base, base, base), present, strict=True)
        ],
        "past": [(past.rstrip("*"), *row) for row in perfect],
    }
    if not past.endswith("*"):
        order = f"{stem[:-2] if 'ä' in root else root}_{prefix}".rstrip("_")
        forms["order"] = [(base, order, "")] * 4
        are, were = ["is", "are", "am", "are"], ["was", "were", "was", "were"]
        forms["now"] = [(f"{be}_{ing}", *row) for be, row in zip(are, present, strict=True)]
        forms["then"] = [(f"{be}_{ing}", *row) for be, row in zip(were, perfect, strict=True)]
    if past == "-":
        forms = {name: rows for name, rows in forms.items() if name != "past"}
    case = CASES.index(governed[-1]) if governed else ACCUSATIVE
    way = Preposition(preposition[0], governed[0], case) if preposition else None
    return Verb(base, prefix + stem, to, forms, case, way)


_LINES = (files(__package__) / "lexicon.tsv").read_text(encoding="utf-8").splitlines()
_ROWS = [line.split("\t") for line in _LINES if line and not line.startswith("#")]


def _read(word_class: str, parse: Callable[[str, str], T]) -> dict[str, list[T]]:
    """Return the entries of a word class by the rest of their class: "person" of "noun person"."""
    entries: dict[str, list[T]] = defaultdict(list)
    for name, english, german in _ROWS:
        first, _, rest = name.partition(" ")
        for one in rest.split(",") if first == word_class else ():
            key, _, times = one.partition("*")
            entries[key] += [parse(english, german)] * int(times or 1)
    return dict(entries)


_ENDINGS: dict[str, Forms] = {
    "none": (),
    "article": (("er", "ie", "as", "ie"), ("en", "ie", "as", "ie"), ("em", "er", "em", "en")),
    "relative": (("er", "ie", "as", "ie"), ("en", "ie", "as", "ie"), ("em", "er", "em", "enen")),
    "ein": (("", "e", "", "e"), ("en", "e", "", "e"), ("em", "er", "em", "en")),
    "strong": (("er", "e", "es", "e"), ("en", "e", "es", "e"), ("em", "er", "em", "en")),
    "mixed": (("er", "e", "es", "en"), ("en", "e", "es", "en"), ("en", "en", "en", "en")),
    "weak": (("e", "e", "e", "en"), ("en", "e", "e", "en"), ("en", "en", "en", "en")),
}


def _determiner(english: str, german: str) -> Determiner:
    stem, own, following = german.split()
    forms = tuple(tuple(stem + ending for ending in row) for row in _ENDINGS[own])
    return english, forms, _ENDINGS[following]


DETERMINERS = _read("determiner", _determiner)
CONTRACTIONS = dict(_read("contraction", lambda *pair: pair)[""])
NOUNS = _read("noun", _noun)
NAMES = _read("name", lambda name, _: name)
"""Proper names of people and places; they are the same in both languages."""
PRONOUNS = _read("pronoun", _split)
"""English forms; German forms and number."""
ADJECTIVES: dict[str, list[list[tuple[str, str, str]]]] = defaultdict(list)
"""Kind of noun -> classes of adjectives, in their order before the noun."""
for name, adjectives in _read("adjective", _adjective).items():
    ADJECTIVES[name.split()[1]].append(adjectives)
PHRASES = _read("phrase", lambda *pair: pair)
PREPOSITIONS = _read("preposition", _preposition)
MODALS = _read("modal", _split)
VERBS = _read("verb", _verb)
BEFORE_NOT = {"can": "ca", "will": "wo"}
"""English words that have another form before "n't"."""
FRAMES = _read("frame", _row)
CLAUSES = _read("clause", _row)
