"""The words of the grammar and their forms, read once from ``lexicon.tsv``.

Regular forms are derived here (English -s, German dative plural -n, adjective endings, separable
prefixes); irregular ones stand in the table, whose head explains its columns.
"""

from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum
from importlib.resources import files
from itertools import combinations

Words = tuple[str, ...]
Linked = tuple[tuple[Words, Words], ...]
"""A fixed phrase as groups of words that translate each other."""
Forms = tuple[Words, ...]
"""``[case][column]``; the columns are masculine, feminine, neuter and plural."""


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


@dataclass(frozen=True)
class Noun:
    """A noun: ``english[number]``, ``german[number][case]``, gender 0-2 = der, die, das."""

    kind: Kind
    gender: int
    english: Words
    german: tuple[Words, Words]

    def column(self, number: Number) -> int:
        """Return the column of this noun in :data:`Forms`; the plural has no gender."""
        return 3 if number is Number.PLURAL else self.gender


@dataclass(frozen=True)
class Adjective:
    """An adjective: the German base form serves after "sein", the stem takes endings."""

    english: str
    german: str
    stem: str


@dataclass(frozen=True)
class Determiner:
    """A word before the noun, and the endings that adjectives take after it."""

    english: str
    german: Forms
    endings: Forms


@dataclass(frozen=True)
class Preposition:
    """A preposition and the case it governs in the sense at hand."""

    english: Words
    german: str
    case: Case


@dataclass(frozen=True)
class Modal:
    """An auxiliary before the infinitive; pairs are indexed by number."""

    english: tuple[Words, ...]
    german: Words


@dataclass(frozen=True)
class Verb:
    """A verb in the forms the grammar needs; pairs are indexed by number.

    ``finite`` is the verb-second form, whose separable ``prefix`` (or "") closes the clause;
    ``final`` the verb-final one ("ruft ... an", "anruft"). ``past`` holds the German auxiliary;
    ``participle`` is empty for the one verb with a simple past ("war").
    """

    english: Words
    english_present: tuple[Words, Words]
    english_past: tuple[Words, Words]
    infinitive: str
    finite: Words
    final: Words
    prefix: str
    past: Words
    participle: str
    to_infinitive: Words
    case: Case = Case.ACCUSATIVE
    preposition: Preposition | None = None


def _read_table() -> dict[str, list[tuple[str, str]]]:
    """Read ``lexicon.tsv``: word class -> its English and German entries."""
    table: dict[str, list[tuple[str, str]]] = defaultdict(list)
    text = (files(__package__) / "lexicon.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            word_class, english, german = line.split("\t")
            table[word_class].append((english, german))
    return table


_TABLE = _read_table()


def _group(entry: str) -> Words:
    return tuple(entry.split("_"))


def _with_s(word: str) -> str:
    """Add the English -s of plurals and of the third person."""
    if word.endswith(("s", "x", "ch", "sh", "go")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def _nouns(kind: Kind) -> tuple[Noun, ...]:
    nouns = []
    for english, german in _TABLE[f"noun {kind.name.lower()}"]:
        singular, *irregular = english.split()
        article, forms, plural = german.split()
        nominative, _, oblique = forms.partition("/")
        oblique = oblique or nominative
        dative = plural if plural.endswith(("n", "s")) else plural + "n"
        nouns.append(
            Noun(
                kind,
                ("der", "die", "das").index(article),
                (singular, *(irregular or [_with_s(singular)])),
                ((nominative, oblique, oblique), (plural, plural, dative)),
            )
        )
    return tuple(nouns)


def _adjectives(word_class: str) -> tuple[Adjective, ...]:
    entries = []
    for english, german in _TABLE[f"adjective {word_class}"]:
        base, _, stem = german.partition("/")
        entries.append(Adjective(english, base, stem or base))
    return tuple(entries)


def _preposition(english: str, german: str) -> Preposition:
    word, case = german.split()
    return Preposition(_group(english), word, Case[case.upper()])


def _prepositions(use: str) -> tuple[Preposition, ...]:
    return tuple(_preposition(*entry) for entry in _TABLE[f"preposition {use}"])


def _modals(word_class: str) -> tuple[Modal, ...]:
    return tuple(
        Modal(tuple(map(_group, english.split())), tuple(german.split()))
        for english, german in _TABLE[word_class]
    )


def _phrases(word_class: str) -> tuple[Linked, ...]:
    return tuple(
        tuple(
            (_group(one), _group(other))
            for one, other in zip(english.split(), german.split(), strict=True)
        )
        for english, german in _TABLE[word_class]
    )


def _verbs(word_class: str, case: Case = Case.ACCUSATIVE) -> tuple[Verb, ...]:
    verbs = []
    for english, german in _TABLE[f"verb {word_class}"]:
        base, past, *english_preposition = english.split()
        infinitive, third, participle, *german_preposition = german.split()
        prefix, _, stem = infinitive.rpartition("|")
        head, *particles = _group(base)
        preposition = None
        if english_preposition:
            preposition = _preposition(english_preposition[0], " ".join(german_preposition))
        verbs.append(
            Verb(
                english=_group(base),
                english_present=((_with_s(head), *particles), _group(base)),
                english_past=(_group(past), _group(past)),
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
    return tuple(verbs)


# Determiners and what they make of the adjectives behind them.
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
# Repeated entries are drawn more often.
SINGULAR_DETERMINERS = (
    *(THE,) * 5,
    *(A,) * 4,
    _determiner("this", "dies", STRONG, WEAK),
    _determiner("every", "jed", STRONG, WEAK),
    *_POSSESSIVES,
)
COUNTABLE_DETERMINERS = (*(THE,) * 3, _determiner("these", "dies", STRONG, WEAK), *_POSSESSIVES)
"""Plural determiners that a numeral may follow ("die drei alten Hunde")."""
PLURAL_DETERMINERS = (
    *COUNTABLE_DETERMINERS,
    _determiner("all", "all", STRONG, WEAK),
    _determiner("many", "viel", STRONG, STRONG),
    _determiner("some", "einig", STRONG, STRONG),
)
RELATIVE_PRONOUNS = (*ARTICLE[:2], ("dem", "der", "dem", "denen"))
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("bei", "dem"): "beim",
    ("von", "dem"): "vom",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("an", "das"): "ans",
}

NOUNS = tuple(_nouns(kind) for kind in Kind)
NAMES = tuple(english for english, _ in _TABLE["name"])
CITIES = tuple(english for english, _ in _TABLE["city"])
PRONOUNS = tuple(
    (english, german.split()[0], Number[german.split()[1].upper()])
    for english, german in _TABLE["pronoun"]
)
"""Subjects of one word; the number of its verb tells one "sie" from the other."""
ADJECTIVES = tuple(
    tuple(_adjectives(word_class) for word_class in word_classes)
    for word_classes in (
        ("quality person", "size person", "state person", "origin"),
        ("quality animal", "size animal", "state animal", "colour"),
        ("quality thing", "size thing", "state thing", "colour", "origin"),
        ("quality place", "size place", "state place", "origin"),
    )
)
"""By kind, then by class in the order in which they precede a noun."""
ADJECTIVE_CLASSES = tuple(
    tuple(tuple(combinations(range(len(classes)), n)) for n in range(4)) for classes in ADJECTIVES
)
"""By kind: the choices of 0-3 different classes, each in their order."""
PREDICATIVES = tuple(sum(classes[:-1], ()) for classes in ADJECTIVES)
"""By kind: the adjectives that stand after "is"; the last class does not."""

INTENSIFIERS = _phrases("intensifier")
NUMERALS = _phrases("numeral")
ADVERBS_OF_THINGS = _phrases("adverb")
ADVERBS = ADVERBS_OF_THINGS + _phrases("adverb person")
PRESENT_TIMES = _phrases("time") + _phrases("time present")
PAST_TIMES = _phrases("time") + _phrases("time past")
FUTURE_TIMES = _phrases("time") + _phrases("time future")
COORDINATORS = _phrases("coordinator")
CONJUNCTIONS = _phrases("conjunction")

AT_PLACES = _prepositions("place")
AT_CITIES = AT_PLACES[:2]
IN_WHICH = AT_PLACES[:4]
"""Those of one word that a relative clause may begin with."""
OF_BELONGINGS = _prepositions("belonging")
(OF_ORIGIN,) = _prepositions("origin")
TO_PLACES = _prepositions("destination")
(TO_CITIES,) = _prepositions("city")

(FUTURE,) = _modals("future")
MODALS = _modals("modal")
BE = Verb(
    english=("be",),
    english_present=(("is",), ("are",)),
    english_past=(("was",), ("were",)),
    infinitive="sein",
    finite=("ist", "sind"),
    final=("ist", "sind"),
    prefix="",
    past=("war", "waren"),
    participle="",
    to_infinitive=("zu", "sein"),
)
INTRANSITIVE = _verbs("intransitive")
INTRANSITIVE_SIMPLE = tuple(verb for verb in INTRANSITIVE if len(verb.english) == 1)
INTRANSITIVE_OF_THINGS = _verbs("intransitive thing")
MOTION = _verbs("motion")
TRANSITIVE = _verbs("transitive")
TRANSITIVE_OF_PERSONS = _verbs("transitive person")
TRANSITIVE_OF_THINGS = _verbs("transitive thing")
DATIVE_VERBS = _verbs("dative", Case.DATIVE)
DATIVE_VERBS_OF_THINGS = _verbs("dative thing", Case.DATIVE)
DITRANSITIVE = _verbs("ditransitive")
PREPOSITIONAL_OF_THINGS = _verbs("prepositional thing")
PREPOSITIONAL = PREPOSITIONAL_OF_THINGS + _verbs("prepositional person")
SAYING = _verbs("saying")  # these take "that"
ASKING = _verbs("asking")  # "whether"
TRYING = _verbs("trying")  # an infinitive with "to"
