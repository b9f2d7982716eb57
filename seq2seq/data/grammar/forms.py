"""Nouns, verbs, adjectives and their forms, and the reading of dictionary tables into them.

Regular forms are derived (English -s, German dative plural -n, adjective endings, separable
prefixes); irregular ones stand in the tables of :mod:`seq2seq.data.grammar.lexicon`.
"""

from dataclasses import dataclass
from enum import IntEnum

Words = tuple[str, ...]


class Case(IntEnum):
    """The German cases in use; also an index into tables of forms."""

    NOMINATIVE = 0
    ACCUSATIVE = 1
    DATIVE = 2


class Number(IntEnum):
    """Singular or plural; also an index into pairs of forms."""

    SINGULAR = 0
    PLURAL = 1


class Kind(IntEnum):
    """What a noun stands for: decides which verbs and prepositions go with it."""

    PERSON = 0
    ANIMAL = 1
    THING = 2
    PLACE = 3


PLURAL_COLUMN = 3
"""In tables by gender, columns 0-2 are masculine, feminine, neuter; the plural has no gender."""


# Endings by case, then by column masculine, feminine, neuter, plural.
WEAK = (("e", "e", "e", "en"), ("en", "e", "e", "en"), ("en", "en", "en", "en"))
MIXED = (("er", "e", "es", "en"), ("en", "e", "es", "en"), ("en", "en", "en", "en"))
STRONG = (("er", "e", "es", "e"), ("en", "e", "es", "e"), ("em", "er", "em", "en"))
ARTICLE = (
    ("der", "die", "das", "die"),
    ("den", "die", "das", "die"),
    ("dem", "der", "dem", "den"),
)


@dataclass(frozen=True)
class Noun:
    """A noun: ``english[number]``, ``german[number][case]``, gender 0-2 = der, die, das."""

    kind: Kind
    gender: int
    english: tuple[str, str]
    german: tuple[tuple[str, str, str], tuple[str, str, str]]

    def column(self, number: Number) -> int:
        """Column of this noun in tables by gender."""
        return PLURAL_COLUMN if number is Number.PLURAL else self.gender


@dataclass(frozen=True)
class Adjective:
    """An adjective: the German base form serves after "sein", the stem takes endings."""

    english: str
    german: str
    stem: str


@dataclass(frozen=True)
class Determiner:
    """A word before the noun: ``german[case][column]``; ``endings``: what adjectives then take."""

    english: str
    german: tuple[Words, Words, Words]
    endings: tuple[Words, Words, Words]


@dataclass(frozen=True)
class Preposition:
    """A preposition and the case it governs in the sense at hand."""

    english: Words
    german: str
    case: Case


@dataclass(frozen=True)
class Verb:
    """A verb in the forms the grammar needs; pairs are indexed by number.

    ``finite`` is the verb-second form, whose separable ``prefix`` (or "") closes the clause;
    ``final`` the verb-final one ("ruft ... an", "anruft"). ``past`` holds German auxiliary and
    participle, the latter empty for the one verb with a simple past ("war").
    """

    english: Words
    english_present: tuple[Words, Words]
    english_past: tuple[Words, Words]
    infinitive: str
    finite: tuple[str, str]
    final: tuple[str, str]
    prefix: str
    past: tuple[str, str]
    participle: str
    to_infinitive: Words
    case: Case = Case.ACCUSATIVE
    preposition: Preposition | None = None


@dataclass(frozen=True)
class Modal:
    """An auxiliary before the infinitive; pairs are indexed by number."""

    english: tuple[Words, Words]
    german: tuple[str, str]


Linked = tuple[tuple[Words, Words], ...]
"""A fixed phrase as groups of words that translate each other."""


def _rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def words(table: str) -> Words:
    """The words of a table of names."""
    return tuple(table.split())


def _words(entry: str) -> Words:
    return tuple(entry.split("_"))


def _with_s(word: str) -> str:
    """English -s of plurals and of the third person."""
    if word.endswith(("s", "x", "ch", "sh", "go")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def nouns(kind: Kind, table: str) -> tuple[Noun, ...]:
    """Rows: English singular [plural] der|die|das singular[/its accusative and dative] plural."""
    entries = []
    for row in _rows(table):
        *english, article, singular, plural = row
        nominative, _, oblique = singular.partition("/")
        oblique = oblique or nominative
        dative = plural if plural.endswith(("n", "s")) else plural + "n"
        entries.append(
            Noun(
                kind,
                ("der", "die", "das").index(article),
                (english[0], english[-1] if len(english) == 2 else _with_s(english[0])),
                ((nominative, oblique, oblique), (plural, plural, dative)),
            )
        )
    return tuple(entries)


def verbs(table: str, case: Case = Case.ACCUSATIVE) -> tuple[Verb, ...]:
    """Rows: English base and past (_ joins words) [preposition], infinitive (prefix| if separable),
    third person, participle (+ if with "sein") [preposition and its case]."""
    entries = []
    for row in _rows(table):
        preposition = None
        if len(row) == 8:
            base, past, english, infinitive, third, participle, german, governed = row
            preposition = Preposition((english,), german, Case[governed.upper()])
        else:
            base, past, infinitive, third, participle = row
        prefix, _, stem = infinitive.rpartition("|")
        head, *particles = _words(base)
        entries.append(
            Verb(
                english=_words(base),
                english_present=((_with_s(head), *particles), _words(base)),
                english_past=(_words(past), _words(past)),
                infinitive=prefix + stem,
                finite=(third, stem),
                final=(prefix + third, prefix + stem),
                prefix=prefix,
                past=("ist", "sind") if participle.startswith("+") else ("hat", "haben"),
                participle=participle.removeprefix("+"),
                to_infinitive=(f"{prefix}zu{stem}",) if prefix else ("zu", stem),
                case=case,
                preposition=preposition,
            )
        )
    return tuple(entries)


def adjectives(*tables: str) -> tuple[tuple[Adjective, ...], ...]:
    """A tuple per table; entries english=german[/stem before endings]."""
    classes = []
    for table in tables:
        entries = []
        for entry in table.split():
            english, _, german = entry.partition("=")
            base, _, stem = german.partition("/")
            entries.append(Adjective(english, base, stem or base))
        classes.append(tuple(entries))
    return tuple(classes)


def phrases(table: str) -> tuple[Linked, ...]:
    """Lines of groups english=german; _ joins the words of a group."""
    return tuple(
        tuple((_words(english), _words(german)) for english, german in (g.split("=") for g in row))
        for row in _rows(table)
    )


def like_dieser(english: str, stem: str, endings: tuple[Words, Words, Words]) -> Determiner:
    """A determiner inflected like "dieser"; ``endings`` are those of the adjectives after it."""
    forms = tuple(tuple(stem + ending for ending in row) for row in STRONG)
    return Determiner(english, (forms[0], forms[1], forms[2]), endings)


def like_ein(english: str, stem: str) -> Determiner:
    """A determiner inflected like "ein" and "mein"."""
    bare = (("", "e", "", "e"), ("en", "e", "", "e"), ("em", "er", "em", "en"))
    forms = tuple(tuple(stem + ending for ending in row) for row in bare)
    return Determiner(english, (forms[0], forms[1], forms[2]), MIXED)
