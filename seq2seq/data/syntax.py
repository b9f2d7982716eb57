"""The phrases and clauses of the embedded grammar, composed in English and German at once.

Each method draws one phrase of exactly ``room`` English words and returns it in both languages.
A token is a word with a link number: tokens of the two sides that share a number translate each
other, and 0 marks a token without counterpart (the comma before a German relative clause). Word
order is each language's own, so the links cross wherever the syntaxes differ.

Two rules keep German a function of English. A relative clause or prepositional phrase belongs to
the nearest noun, and an adverb of time to the nearest clause; so nothing of an outer clause
follows an inner one except what German cannot place differently. Inside relative clauses there
are no adverbial clauses (``simple``), which could be read as belonging outside. A third rule
serves the way back: where a German relative pronoun does not tell subject from object ("die Frau,
die das Kind sieht"), the two differ in number, and the verb decides.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from seq2seq.data.lexicon import (
    ADVERBS,
    AT_PLACES,
    CONJUNCTIONS,
    COORDINATORS,
    DATIVE_VERBS,
    FUTURE,
    FUTURE_TIMES,
    INTRANSITIVE,
    MODALS,
    PAST_TIMES,
    PREPOSITIONAL,
    PRESENT_TIMES,
    RELATIVE_PRONOUNS,
    TRANSITIVE,
    TRANSITIVE_OF_PERSONS,
    TRANSITIVE_OF_THINGS,
    Case,
    Kind,
    Linked,
    Modal,
    Noun,
    Number,
    Words,
)

T = TypeVar("T")

Token = tuple[str, int]
Tokens = list[Token]

PERSON, ANIMAL, THING, PLACE = Kind
SINGULAR, PLURAL = Number
NOMINATIVE, ACCUSATIVE, DATIVE = Case

COMMA: Token = (",", 0)


class Phrase(NamedTuple):
    """One phrase in both languages; ``number`` is what a verb agrees with."""

    english: Tokens
    german: Tokens
    number: Number = SINGULAR


class Tense(NamedTuple):
    """How a verb is put: present, past, with a modal, or (``infinitive``) with "to"."""

    modal: Modal | None
    times: tuple[Linked, ...]
    past: bool = False
    infinitive: bool = False


class VerbGroup(NamedTuple):
    """A verb in its tense: German opens and closes its bracket, or ends the clause with it."""

    english: Tokens
    finite: Tokens
    closing: Tokens
    final: Tokens


class Predicate(NamedTuple):
    """A clause without its subject; ``after`` are the German clauses behind the bracket."""

    english: Tokens
    verb: VerbGroup
    middle: Tokens
    after: Tokens

    def verb_final(self) -> Tokens:
        """The German predicate of a subordinate clause."""
        return self.middle + self.verb.final + self.after


PRESENT = Tense(None, PRESENT_TIMES)
PAST = Tense(None, PAST_TIMES, past=True)
INFINITIVE = Tense(None, (), infinitive=True)
WITH_MODALS = (*(Tense(FUTURE, FUTURE_TIMES),) * 3, *(Tense(m, FUTURE_TIMES) for m in MODALS))
"""The last one needs a person or animal that wants."""

FRAMES: dict[Kind, tuple[tuple[str, ...], ...]] = {
    # What may follow the verb, by the kind of the subject and the English words to fill:
    # 0, 1, 2, 3, 4-8, more. Repeated names are more frequent.
    PERSON: (
        ("alone",),
        ("alone", "object", "object", "object", "dative", "state"),
        ("object", "object", "dative", "place", "motion", "state", "attempt", "prepositional"),
        ("object",) * 5
        + ("dative", "place", "motion", "attempt", "prepositional", "ditransitive", "report"),
        ("object",) * 5
        + ("dative", "place", "motion", "attempt", "prepositional", "prepositional")
        + ("ditransitive", "ditransitive", "report", "report", "question"),
        ("report", "report", "report", "question", "attempt", "ditransitive", "object"),
    ),
    ANIMAL: (
        ("alone",),
        ("alone", "object", "object", "dative", "state"),
        ("object", "object", "dative", "place", "motion", "state"),
        ("object", "object", "object", "dative", "place", "motion"),
        ("object", "object", "object", "dative", "place", "motion"),
        ("object", "object", "dative"),
    ),
    THING: (
        ("alone",),
        ("state",),
        ("state", "place", "dative"),
        ("place", "dative", "dative"),
        ("place", "dative", "dative"),
        ("dative",),
    ),
}
CLAUSAL_FRAMES = ("report", "question", "attempt")


class Composer:
    """Draws phrases from a random generator; only ``rng.random()`` is ever called.

    That is the one method whose numbers Python promises to keep, for a seed, in all versions.
    """

    def __init__(self, rng: random.Random) -> None:
        self._random = rng.random
        self._links = 0

    def _pick(self, items: Sequence[T]) -> T:
        return items[int(self._random() * len(items))]

    def _between(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low + 1))

    def _chance(self, probability: float) -> bool:
        return self._random() < probability

    def _link(self, english: Words, german: Words) -> tuple[Tokens, Tokens]:
        """Words that translate each other as a group."""
        self._links += 1
        link = self._links
        return [(word, link) for word in english], [(word, link) for word in german]

    def _linked(self, groups: Linked) -> tuple[Tokens, Tokens]:
        """A fixed phrase, group by group."""
        english: Tokens = []
        german: Tokens = []
        for group in groups:
            left, right = self._link(*group)
            english += left
            german += right
        return english, german

    # Sentences and main clauses

    def sentence(self, room: int) -> Phrase:
        """Main clauses in co-ordination, without the full stop."""
        if room >= 9 and self._random() * 30 < room - 8:
            between = self._pick(COORDINATORS)
            rest = room - len(between)
            left = self._between(4, rest - 3)
            first = self.sentence(left)
            english, german = self._linked(between)
            second = self.sentence(rest - left)
            return Phrase(
                first.english + english + second.english, first.german + german + second.german
            )
        return self.main_clause(room)

    def main_clause(self, room: int) -> Phrase:
        """A verb-second clause; whatever comes first, German keeps the finite verb second."""
        tense = None
        english: Tokens = []
        german: Tokens = []
        front = self._random()
        if room >= 7 and front < (0.5 if room > 16 else 0.2):
            inner = self._pick(CONJUNCTIONS)
            size = self._between(2, min(room - 5, 13))
            inner_clause = self._adverbial(inner, size)
            comma, german_comma = self._link((",",), (",",))
            english = inner_clause.english + comma
            german = inner_clause.german[1:-1] + german_comma
        elif room >= 5 and front > 0.85:
            tense = self._tense(min(room - 4, 2), PERSON)
            time = self._pick([t for t in tense.times if sum(len(g[0]) for g in t) <= room - 3])
            english, german = self._linked(time)
        elif room >= 7 and front > 0.75:
            phrase = self._place(self._between(2, min(room - 4, 5)), plain=True)
            english, german = phrase.english, phrase.german
        kind = self._subject_kind()
        rest = room - len(english)
        subject = self._subject(self._between(1, min(rest - 1, 7)), kind)
        predicate = self._predicate(
            rest - len(subject.english), subject.number, kind, tense, timed=tense is not None
        )
        verb = predicate.verb
        if german:
            german = german + verb.finite + subject.german
        else:
            german = subject.german + verb.finite
        return Phrase(
            english + subject.english + predicate.english,
            german + predicate.middle + verb.closing + predicate.after,
        )

    # Subordinate clauses

    def clause(self, room: int, simple: bool = False) -> Phrase:
        """A clause as it follows a conjunction: German ends it with the verb."""
        kind = self._subject_kind()
        subject = self._subject(self._between(1, min(room - 1, 6)), kind)
        rest = room - len(subject.english)
        predicate = self._predicate(rest, subject.number, kind, simple=simple)
        return Phrase(subject.english + predicate.english, subject.german + predicate.verb_final())

    def _adverbial(self, conjunction: Linked, room: int) -> Phrase:
        """Conjunction and clause of ``room`` words after it, between German commas."""
        english, german = self._linked(conjunction)
        clause = self.clause(room)
        return Phrase(english + clause.english, [COMMA, *german, *clause.german, COMMA])

    def _purpose(self, room: int) -> Phrase:
        """ "in order to" with the rest of the ``room`` words; German "um ... zu"."""
        english, german = self._link(("in", "order"), ("um",))
        predicate = self._predicate(room - 2, SINGULAR, PERSON, INFINITIVE)
        return Phrase(
            english + predicate.english, [COMMA, *german, *predicate.verb_final(), COMMA]
        )

    def _relative(self, room: int, head: Noun, number: Number) -> Phrase:
        """A relative clause of ``room`` words; the pronoun has the head's gender and its own case."""
        kind = head.kind
        column = head.column(number)
        animate = kind <= ANIMAL
        # "die", "das" do not tell subject from object: then number must.
        contrast = None
        if animate and column != 0:
            contrast = SINGULAR if number is PLURAL else PLURAL
        choice = self._random()
        if room == 2 or choice < (0.5 if animate else 0.2):
            pronoun = self._pronoun("who" if kind is PERSON else "that", NOMINATIVE, column)
            acts = kind if animate else THING
            predicate = self._predicate(
                room - 1, number, acts, simple=True, object_number=contrast
            )
            return self._set_off(pronoun, predicate.english, predicate.verb_final())
        subject_kind = PERSON if self._chance(0.75) else ANIMAL
        if choice < 0.75 or room < 4:
            verbs = TRANSITIVE_OF_THINGS if kind is THING else TRANSITIVE_OF_PERSONS
            if kind in (ANIMAL, PLACE) or self._chance(0.6):
                verbs = DATIVE_VERBS if animate and self._chance(0.3) else TRANSITIVE
            verb = self._pick(verbs)
            while len(verb.english) > room - 2:
                verb = self._pick(verbs)
            preposition = None
            if verb.case is DATIVE:
                contrast = None
        else:
            contrast = None
            if kind is PLACE:
                verb = self._pick(INTRANSITIVE[:7])
                preposition = self._pick(AT_PLACES[:4])
            else:
                verb = self._pick(PREPOSITIONAL)
                preposition = verb.preposition
        links: tuple[Tokens, Tokens] = ([], [])
        case = verb.case
        english_pronoun = "whom" if kind is PERSON else "that"
        if preposition:
            links = self._link(preposition.english, (preposition.german,))
            case = preposition.case
            english_pronoun = "whom" if kind is PERSON else "which"
        english, german = self._pronoun(english_pronoun, case, column)
        pronoun = (links[0] + english, links[1] + german)
        rest = room - len(pronoun[0]) - len(verb.english)
        tense = self._tense(min(rest - 1, 2), subject_kind)
        rest -= len(tense.modal.english[1]) if tense.modal else 0
        adverb: tuple[Tokens, Tokens] = ([], [])
        if rest > 7 or (rest > 1 and self._chance(0.2)):
            adverb = self._linked(self._pick(ADVERBS))
            rest -= 1
        subject = self._subject(rest, subject_kind, contrast)
        group = self._verb(verb, subject.number, tense, adverb[0])
        return self._set_off(
            pronoun, subject.english + group.english, subject.german + adverb[1] + group.final
        )

    def _pronoun(self, english: str, case: Case, column: int) -> tuple[Tokens, Tokens]:
        return self._link((english,), (RELATIVE_PRONOUNS[case][column],))

    @staticmethod
    def _set_off(pronoun: tuple[Tokens, Tokens], english: Tokens, german: Tokens) -> Phrase:
        return Phrase(pronoun[0] + english, [COMMA, *pronoun[1], *german, COMMA])
