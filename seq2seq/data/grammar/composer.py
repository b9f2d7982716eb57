"""Phrases, clauses and sentences, composed in both languages at once from random draws.

Three rules keep each language a function of the other. A relative clause, a prepositional phrase
or an adverb of time belongs to the nearest noun or clause before it, so nothing of an outer clause
follows an inner one where German would place it differently. Inside relative clauses there are no
adverbial clauses (``simple``), which could be read as belonging outside. And where a German
relative pronoun does not tell subject from object ("die Frau , die das Kind sieht"), the two differ
in number, and the verb decides.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from seq2seq.data.grammar import lexicon
from seq2seq.data.grammar.lexicon import (
    Case,
    Determiner,
    Kind,
    Linked,
    Modal,
    Noun,
    Number,
    Preposition,
    Verb,
    Words,
)

T = TypeVar("T")
PERSON, ANIMAL, THING, PLACE = Kind
SINGULAR, PLURAL = Number

Tokens = list[tuple[str, int]]
"""Words with their links: tokens of the two sides with one number translate each other; 0: none."""


class Phrase(NamedTuple):
    """One phrase in both languages; ``number`` is what a verb agrees with."""

    english: Tokens
    german: Tokens
    number: Number = SINGULAR


NOTHING = Phrase([], [])


def join(*phrases: Phrase) -> Phrase:
    """Put phrases one after the other in both languages."""
    return Phrase(
        [token for phrase in phrases for token in phrase.english],
        [token for phrase in phrases for token in phrase.german],
    )


def set_off(phrase: Phrase) -> Phrase:
    """Put the German side between commas; those that meet other stops are dropped at the end."""
    return Phrase(phrase.english, [(",", 0), *phrase.german, (",", 0)])


class Tense(NamedTuple):
    """How a verb is put, and the times that go with it; ``words`` English ones are added."""

    modal: Modal | None
    times: tuple[Linked, ...]
    words: int = 0


PRESENT = Tense(None, lexicon.PRESENT_TIMES)
PAST = Tense(None, lexicon.PAST_TIMES)
INFINITIVE = Tense(None, (), 1)
MODALS = tuple(Tense(m, lexicon.FUTURE_TIMES, len(m.english[0])) for m in lexicon.MODALS)
FUTURE_OR_MODAL = (*(Tense(lexicon.FUTURE, lexicon.FUTURE_TIMES, 1),) * 3, *MODALS)


class VerbGroup(NamedTuple):
    """A verb in its tense: German opens and closes its bracket, or ends the clause with it."""

    english: Tokens
    finite: Tokens
    closing: Tokens
    final: Tokens


class Complement(NamedTuple):
    """A verb and what it governs; ``after`` are the German clauses behind the verb bracket."""

    verb: Verb
    english: Tokens
    middle: Tokens
    after: Tokens


class Predicate(NamedTuple):
    """A clause without its subject."""

    english: Tokens
    verb: VerbGroup
    middle: Tokens
    after: Tokens

    @property
    def subordinate(self) -> Phrase:
        """The predicate of a subordinate clause, which German ends with the verb."""
        return Phrase(self.english, self.middle + self.verb.final + self.after)


class Setting(NamedTuple):
    """What a complement must heed."""

    subject: Kind
    clause: bool
    """Nouns may have relative clauses."""
    simple: bool
    """Clauses may not have adverbial clauses."""
    object_number: Number | None
    """The number that an animate accusative object must have."""


# Frames (methods of Composer) by the kind of the subject; then by the words to fill after the
# verb's first: 0, 1, 2, 3, 4-8, more. Repeated frames are drawn more often.
_FRAMES = {
    PERSON: (
        "alone",
        "alone object object object dative state",
        "object object object dative place motion state attempt partner",
        "object object object object object dative place motion attempt partner ditransitive "
        "report",
        "object object object object object dative place motion attempt partner partner "
        "ditransitive ditransitive report report question",
        "report report report question attempt ditransitive object",
    ),
    ANIMAL: (
        "alone",
        "alone object object dative state",
        "object object dative place motion state",
        "object object object dative place motion",
        "object object object dative place motion",
        "object object dative",
    ),
    THING: (
        "alone",
        "state",
        "state place dative",
        "place dative dative",
        "place dative dative",
        "dative",
    ),
}
FRAMES = {kind: tuple(row.split() for row in rows) for kind, rows in _FRAMES.items()}
CLAUSAL_FRAMES = ("attempt", "report", "question")


class Composer:
    """Composes phrases of exactly ``room`` English words.

    Of the random generator only ``random()`` is called, the one method whose numbers Python
    promises to keep, for a seed, in all versions.
    """

    def __init__(self, rng: random.Random) -> None:
        self._random = rng.random
        self._links = 0

    # Draws

    def _chance(self, probability: float) -> bool:
        return self._random() < probability

    def _between(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low + 1))

    def _pick(self, items: Sequence[T]) -> T:
        return items[int(self._random() * len(items))]

    def _link(self, english: Words, german: Words) -> Phrase:
        """Words that translate each other as a group."""
        self._links += 1
        link = self._links
        return Phrase([(word, link) for word in english], [(word, link) for word in german])

    def _linked(self, groups: Linked) -> Phrase:
        return join(*(self._link(*group) for group in groups))

    def _fitting(self, phrases: Sequence[Linked], room: int) -> Linked:
        """One of the phrases of at most ``room`` English words."""
        while True:
            phrase = self._pick(phrases)
            if sum(len(english) for english, _ in phrase) <= room:
                return phrase

    def _verb_of(self, verbs: Sequence[Verb], room: int) -> Verb:
        """A verb of at most ``room`` words; ``verbs`` has some of one word."""
        while True:
            verb = self._pick(verbs)
            if len(verb.english) <= max(room, 1):
                return verb

    # Sentences and clauses

    def sentence(self, room: int) -> Phrase:
        """One main clause, or several in co-ordination; no full stop; ``room`` is at least 2."""
        if room >= 9 and self._random() * 30 < room - 8:
            coordinator = self._linked(self._pick(lexicon.COORDINATORS))
            rest = room - len(coordinator.english)
            left = self._between(4, rest - 3)
            return join(self.sentence(left), coordinator, self.sentence(rest - left))
        return self._main_clause(room)

    def _main_clause(self, room: int) -> Phrase:
        """A verb-second clause: whatever comes first, one German verb form stands next."""
        kind = self._subject_kind()
        tense = self._tense(min(room - 4, 2), kind)
        front, timed = NOTHING, False
        choice = self._random()
        if room >= 9 and choice < (0.5 if room > 16 else 0.2):
            size = self._between(4, min(room - 5, 15))
            clause = self._adverbial_clause(size, tense, purpose=False)
            comma = self._link((",",), (",",))
            front = Phrase(clause.english + comma.english, clause.german[1:-1] + comma.german)
        elif room >= 5 and choice > 0.85:
            front = self._linked(self._fitting(tense.times, room - 2 - tense.words))
            timed = True
        elif room >= 7 and choice > 0.75:
            front = self._place(self._between(2, min(room - 4, 5)), clause=False)
        room -= len(front.english)
        subject = self._subject(self._between(1, min(room - 1 - tense.words, 7)), kind)
        room -= len(subject.english)
        predicate = self._predicate(room, subject.number, kind, tense, timed=timed)
        verb = predicate.verb
        first, second = (front.german, subject.german) if front.german else (subject.german, [])
        return Phrase(
            front.english + subject.english + predicate.english,
            first + verb.finite + second + predicate.middle + verb.closing + predicate.after,
        )

    def _dependent_clause(self, room: int, simple: bool, like: Tense | None = None) -> Phrase:
        """A clause as it follows a conjunction: German ends it with the verb."""
        kind = self._subject_kind()
        subject = self._subject(self._between(1, min(room - 1, 6)), kind)
        room -= len(subject.english)
        predicate = self._predicate(room, subject.number, kind, simple=simple, like=like)
        return join(subject, predicate.subordinate)

    def _adverbial_clause(self, room: int, tense: Tense, purpose: bool) -> Phrase:
        """A conjunction and its clause, or (``purpose``) perhaps "in order to", "um ... zu"."""
        if purpose and self._chance(0.2):
            opening = self._link(("in", "order"), ("um",))
            predicate = self._predicate(room - 2, SINGULAR, PERSON, INFINITIVE)
            return set_off(join(opening, predicate.subordinate))
        opening = self._linked(self._fitting(lexicon.CONJUNCTIONS, room - 2))
        clause = self._dependent_clause(room - len(opening.english), simple=False, like=tense)
        return set_off(join(opening, clause))

    def _relative_clause(self, room: int, head: Noun, number: Number) -> Phrase:
        """The pronoun has the head's gender and number, and a case of its own."""
        animate = head.kind in (PERSON, ANIMAL)
        column = head.column(number)
        contrast = None
        if animate and column != 0:  # "die" and "das" may be subject or object
            contrast = SINGULAR if number is PLURAL else PLURAL

        def pronoun(of_person: str, of_others: str, case: int) -> Phrase:
            english = of_person if head.kind is PERSON else of_others
            return self._link((english,), (lexicon.RELATIVE_PRONOUNS[case][column],))

        choice = self._random()
        if room == 2 or room > 10 or choice < (0.5 if animate else 0.2):
            opening = pronoun("who", "that", Case.NOMINATIVE)
            kind = head.kind if animate else THING
            predicate = self._predicate(room - 1, number, kind, simple=True, object_number=contrast)
            return set_off(join(opening, predicate.subordinate))
        verb, preposition = self._verb_without_object(room, head.kind, choice > 0.75)
        if preposition:
            opening = self._link(preposition.english, (preposition.german,))
            opening = join(opening, pronoun("whom", "which", preposition.case))
        else:
            opening = pronoun("whom", "that", verb.case)
        if preposition or verb.case is Case.DATIVE:
            contrast = None
        return set_off(join(opening, self._gap(room - len(opening.english), verb, contrast)))

    def _gap(self, room: int, verb: Verb, number: Number | None) -> Phrase:
        """The rest of a relative clause whose pronoun is the object: subject and verb."""
        room -= len(verb.english)
        kind = PERSON if self._chance(0.75) else ANIMAL
        tense = self._tense(room - 1, kind)
        room -= tense.words
        adverb = NOTHING
        if room > 1 and self._chance(0.2):
            adverb = self._linked(self._pick(lexicon.ADVERBS))
            room -= 1
        subject = self._subject(room, kind, number)
        group = self._verb_group(verb, subject.number, tense, adverb.english)
        return Phrase(subject.english + group.english, subject.german + adverb.german + group.final)

    def _verb_without_object(
        self, room: int, head: Kind, prepositional: bool
    ) -> tuple[Verb, Preposition | None]:
        """A verb whose object, or prepositional object, the head of a relative clause can be."""
        if prepositional and room >= 4:
            if head is PLACE:
                return self._pick(lexicon.INTRANSITIVE_SIMPLE), self._pick(lexicon.IN_WHICH)
            verb = self._pick(
                lexicon.PREPOSITIONAL_OF_THINGS if head is THING else lexicon.PREPOSITIONAL
            )
            return verb, verb.preposition
        verbs = lexicon.TRANSITIVE
        if head is THING and self._chance(0.4):
            verbs = lexicon.TRANSITIVE_OF_THINGS
        elif head is PERSON and self._chance(0.4):
            verbs = lexicon.TRANSITIVE_OF_PERSONS
        elif head in (PERSON, ANIMAL) and self._chance(0.3):
            verbs = lexicon.DATIVE_VERBS
        return self._verb_of(verbs, room - 2), None

    # Predicates

    def _predicate(
        self,
        room: int,
        number: Number,
        kind: Kind,
        tense: Tense | None = None,
        *,
        timed: bool = False,
        simple: bool = False,
        like: Tense | None = None,
        object_number: Number | None = None,
    ) -> Predicate:
        """A verb with all that depends on it, for a subject of this number and kind.

        German order behind the finite verb or subject: time, adverb, dative, accusative,
        prepositional phrase, rest of the verb, clauses. ``timed``: an adverb of time stands in
        front already. For ``like`` see :meth:`_tense`, for the others :class:`Setting`.
        """
        if tense is None:
            tense = self._tense(room - 1, kind, like)
        room -= tense.words
        adverb = time = clause = NOTHING
        if not simple and room >= 5 and self._chance(0.6 if room > 11 else 0.12):
            size = self._between(4, min(room - 1, 16))
            clause = self._adverbial_clause(size, tense, purpose=kind is PERSON)
            room -= len(clause.english)
        if room > 1 and self._chance(0.2):
            adverbs = lexicon.ADVERBS_OF_THINGS if kind is THING else lexicon.ADVERBS
            adverb = self._linked(self._pick(adverbs))
            room -= 1
        if tense.times and not timed and 1 < room < 10 and self._chance(0.2):
            time = self._linked(self._fitting(tense.times, room - 1))
            room -= len(time.english)
        frames = FRAMES[kind][min(room - 1, 4) if room < 10 else 5]
        frame = self._pick(frames)
        while time.english and frame in CLAUSAL_FRAMES:
            frame = self._pick(frames)
        setting = Setting(kind, not time.english, simple, object_number)
        complement: Complement = getattr(self, f"_frame_{frame}")(room - 1, setting)
        group = self._verb_group(complement.verb, number, tense, adverb.english)
        return Predicate(
            group.english + complement.english + time.english + clause.english,
            group,
            time.german + adverb.german + complement.middle,
            complement.after + clause.german,
        )

    def _tense(self, room: int, kind: Kind, like: Tense | None = None) -> Tense:
        """A tense that adds at most ``room`` words to the verb of a subject of this kind.

        Next to a clause in the tense ``like`` it is past only if that is, and no future.
        """
        choice = self._random()
        if like is PAST:
            return PAST
        if room > 0 and choice > 0.7:
            tenses = FUTURE_OR_MODAL if like is None else MODALS
            tense = self._pick(tenses)
            while tense.words > room or (tense.words > 1 and kind is THING):  # things want nothing
                tense = self._pick(tenses)
            return tense
        return PRESENT if like or choice < 0.35 or choice > 0.85 else PAST

    def _verb_group(self, verb: Verb, number: Number, tense: Tense, adverb: Tokens) -> VerbGroup:
        """The verb in its tense; English puts the adverb before it, after an auxiliary."""
        if tense.modal:
            modal = self._link(tense.modal.english[number], (tense.modal.german[number],))
            main = self._link(verb.english, (verb.infinitive,))
            if len(modal.english) > 1:  # "often wants to see", but "can often see"
                english = adverb + modal.english + main.english
            else:
                english = modal.english + adverb + main.english
            return VerbGroup(english, modal.german, main.german, main.german + modal.german)
        if tense is INFINITIVE:
            if len(verb.to_infinitive) == 1:
                whole = self._link(("to", *verb.english), verb.to_infinitive)
            else:
                to = self._link(("to",), verb.to_infinitive[:1])
                whole = join(to, self._link(verb.english, verb.to_infinitive[1:]))
            english = [whole.english[0], *adverb, *whole.english[1:]]
            return VerbGroup(english, [], [], whole.german)
        if tense is PAST:
            participle = (verb.participle,) if verb.participle else ()
            whole = self._link(verb.english_past[number], (verb.past[number], *participle))
            finite, closing = whole.german[:1], whole.german[1:]
            return VerbGroup(adverb + whole.english, finite, closing, closing + finite)
        prefix = (verb.prefix,) if verb.prefix else ()
        whole = self._link(verb.english_present[number], (verb.finite[number], *prefix))
        final = [(verb.final[number], whole.german[0][1])]
        return VerbGroup(adverb + whole.english, whole.german[:1], whole.german[1:], final)

    # Frames: each draws a verb and fills ``room`` words after its first

    def _frame_alone(self, room: int, setting: Setting) -> Complement:
        things = setting.subject is THING
        verbs = lexicon.INTRANSITIVE_OF_THINGS if things else lexicon.INTRANSITIVE
        verb = self._pick(verbs)
        while len(verb.english) != room + 1:  # one word of room is for "wake up"
            verb = self._pick(verbs)
        return Complement(verb, [], [], [])

    def _frame_state(self, room: int, setting: Setting) -> Complement:
        adjective = self._pick(lexicon.PREDICATIVES[setting.subject])
        state = self._link((adjective.english,), (adjective.german,))
        if room == 2:
            state = join(self._linked(self._pick(lexicon.INTENSIFIERS)), state)
        return Complement(lexicon.BE, state.english, state.german, [])

    def _frame_object(self, room: int, setting: Setting) -> Complement:
        choice = self._random()
        if choice < 0.4:
            kind, special = PERSON, lexicon.TRANSITIVE_OF_PERSONS
        elif choice < 0.6:
            kind, special = ANIMAL, lexicon.TRANSITIVE
        elif choice < 0.9 or setting.subject is ANIMAL:
            kind, special = THING, lexicon.TRANSITIVE_OF_THINGS
        else:
            kind, special = PLACE, lexicon.TRANSITIVE
        verb = self._verb_of(special if self._chance(0.4) else lexicon.TRANSITIVE, room)
        room -= len(verb.english) - 1
        number = setting.object_number if kind in (PERSON, ANIMAL) else None
        phrase = self._noun_phrase(room, kind, Case.ACCUSATIVE, number, clause=setting.clause)
        return Complement(verb, phrase.english, phrase.german, [])

    def _frame_dative(self, room: int, setting: Setting) -> Complement:
        things = setting.subject is THING
        verbs = lexicon.DATIVE_VERBS_OF_THINGS if things else lexicon.DATIVE_VERBS
        verb = self._pick(verbs) if things else self._verb_of(verbs, room)
        room -= len(verb.english) - 1
        kind = PERSON if things or self._chance(0.8) else ANIMAL
        phrase = self._noun_phrase(room, kind, Case.DATIVE, clause=setting.clause)
        return Complement(verb, phrase.english, phrase.german, [])

    def _frame_partner(self, room: int, setting: Setting) -> Complement:
        kind = self._pick((PERSON, PERSON, ANIMAL, THING))
        verb = self._pick(
            lexicon.PREPOSITIONAL_OF_THINGS if kind is THING else lexicon.PREPOSITIONAL
        )
        assert verb.preposition is not None  # in these two tables all have one
        phrase = self._prepositional(room, verb.preposition, kind, setting.clause, chain=True)
        return Complement(verb, phrase.english, phrase.german, [])

    def _frame_ditransitive(self, room: int, setting: Setting) -> Complement:
        verb = self._verb_of(lexicon.DITRANSITIVE, room - 2)
        room -= len(verb.english)  # this counts "to", whose place in German is the dative
        size = self._between(1, min(room - 1, 5))
        thing = self._noun_phrase(size, THING, Case.ACCUSATIVE, clause=False)
        person = self._noun_phrase(room - size, PERSON, Case.DATIVE, clause=setting.clause)
        english = [*thing.english, ("to", 0), *person.english]
        return Complement(verb, english, person.german + thing.german, [])

    def _frame_place(self, room: int, setting: Setting) -> Complement:
        things = setting.subject is THING
        verbs = lexicon.INTRANSITIVE_OF_THINGS if things else lexicon.INTRANSITIVE_SIMPLE
        phrase = self._place(room, setting.clause)
        return Complement(self._pick(verbs), phrase.english, phrase.german, [])

    def _frame_motion(self, room: int, setting: Setting) -> Complement:
        way = lexicon.TO_CITIES if room == 2 else self._pick(lexicon.TO_PLACES)
        phrase = self._prepositional(room, way, PLACE, setting.clause)
        return Complement(self._pick(lexicon.MOTION), phrase.english, phrase.german, [])

    def _frame_attempt(self, room: int, setting: Setting) -> Complement:
        verb = self._pick(lexicon.TRYING)
        inner = self._predicate(room, SINGULAR, PERSON, INFINITIVE, simple=setting.simple)
        return Complement(verb, inner.english, [], set_off(inner.subordinate).german)

    def _frame_report(self, room: int, setting: Setting) -> Complement:
        return self._clausal(lexicon.SAYING, self._link(("that",), ("dass",)), room, setting)

    def _frame_question(self, room: int, setting: Setting) -> Complement:
        return self._clausal(lexicon.ASKING, self._link(("whether",), ("ob",)), room, setting)

    def _clausal(
        self, verbs: Sequence[Verb], opening: Phrase, room: int, setting: Setting
    ) -> Complement:
        verb = self._verb_of(verbs, room - 2)
        inner = join(opening, self._dependent_clause(room - len(verb.english), setting.simple))
        return Complement(verb, inner.english, [], set_off(inner).german)

    # Noun phrases: ``clause`` allows relative clauses inside, ``chain`` co-ordination with "and"

    def _subject_kind(self) -> Kind:
        choice = self._random()
        return PERSON if choice < 0.65 else ANIMAL if choice < 0.87 else THING

    def _subject(self, room: int, kind: Kind, number: Number | None = None) -> Phrase:
        """A noun phrase in the nominative, or a pronoun."""
        if room == 1 and kind is PERSON and self._chance(0.3):
            english, german, own_number = self._pick(lexicon.PRONOUNS)
            if number in (None, own_number):
                return self._link((english,), (german,))._replace(number=own_number)
        return self._noun_phrase(room, kind, Case.NOMINATIVE, number)

    def _noun_phrase(
        self,
        room: int,
        kind: Kind,
        case: Case,
        number: Number | None = None,
        *,
        preposition: Preposition | None = None,
        clause: bool = True,
        chain: bool = True,
    ) -> Phrase:
        """A noun phrase of ``room`` words, and before them the preposition, if any.

        The first part of a co-ordination has no attributes behind it, so that they always belong
        to the last noun.
        """
        if chain and room >= 3 and number is not SINGULAR and self._chance(0.12):
            left = self._between(1, min(room - 2, 4))
            first = self._single(left, 0, kind, case, None, preposition, clause)
            second = self._noun_phrase(room - left - 1, kind, case, clause=clause, chain=False)
            return join(first, self._link(("and",), ("und",)), second)._replace(number=PLURAL)
        spare = room - 2
        behind = 0
        if spare > 3 or (spare > 1 and self._chance(0.45)):
            behind = spare - self._between(0, min(2, spare - 2))
        return self._single(room - behind, behind, kind, case, number, preposition, clause)

    def _place(self, room: int, clause: bool) -> Phrase:
        """Where something is or happens; ``room`` is at least 2."""
        if room == 2:
            return self._prepositional(room, self._pick(lexicon.AT_CITIES), PLACE, clause)
        preposition = self._pick(lexicon.AT_PLACES)
        while len(preposition.english) > room - 2:
            preposition = self._pick(lexicon.AT_PLACES)
        return self._prepositional(room, preposition, PLACE, clause)

    def _prepositional(
        self, room: int, preposition: Preposition, kind: Kind, clause: bool, chain: bool = False
    ) -> Phrase:
        """Preposition and noun phrase, together ``room`` words."""
        room -= len(preposition.english)
        case = preposition.case
        return self._noun_phrase(
            room, kind, case, preposition=preposition, clause=clause, chain=chain
        )

    def _single(
        self,
        room: int,
        behind: int,
        kind: Kind,
        case: Case,
        number: Number | None,
        preposition: Preposition | None,
        clause: bool,
    ) -> Phrase:
        """One noun, with ``room`` - 1 words before it and ``behind`` words of attributes after."""
        if room == 1 and number is not PLURAL:  # a bare singular can only be a name
            names = lexicon.CITIES if kind is PLACE else ()
            if kind is not PLACE and (
                number is SINGULAR or (kind is PERSON and self._chance(0.75))
            ):
                names = lexicon.NAMES
            if names:
                name = self._pick(names)
                phrase = self._link((name,), (name,))
                return self._with_preposition(preposition, lexicon.NO_ARTICLE, "", phrase)
        if number is None:
            number = PLURAL if room == 1 or self._chance(0.3) else SINGULAR
        noun = self._pick(lexicon.NOUNS[kind])
        column = noun.column(number)
        determiner, count, adjectives = self._opening(room - 1, number)
        phrase = join(
            count,
            self._adjectives(adjectives, kind, determiner.endings[case][column]),
            self._link((noun.english[number],), (noun.german[number][case],)),
        )
        form = determiner.german[case][column]
        phrase = self._with_preposition(preposition, determiner, form, phrase)
        if behind:
            if clause and self._chance(0.6):
                phrase = join(phrase, self._relative_clause(behind, noun, number))
            else:
                phrase = join(phrase, self._attribute(behind, kind, clause))
        return phrase._replace(number=number)

    def _attribute(self, room: int, head: Kind, clause: bool) -> Phrase:
        """A prepositional phrase behind a noun; ``room`` is at least 2."""
        choice = self._random()
        if head in (PERSON, ANIMAL) and choice < 0.5:
            return self._prepositional(room, self._pick(lexicon.OF_BELONGINGS), THING, clause)
        if head is not PLACE and choice > 0.8:
            return self._prepositional(room, lexicon.OF_ORIGIN, PLACE, clause)
        return self._place(room, clause)

    def _opening(self, room: int, number: Number) -> tuple[Determiner, Phrase, int]:
        """Determiner, numeral, and how many of the ``room`` words are left for adjectives."""
        if number is SINGULAR:
            return self._pick(lexicon.SINGULAR_DETERMINERS), NOTHING, room - 1
        if room == 0 or (room < 3 and self._chance(0.15)):
            return lexicon.NO_ARTICLE, NOTHING, room
        choice = self._random()
        if choice < 0.2:
            return lexicon.NO_ARTICLE, self._linked(self._pick(lexicon.NUMERALS)), room - 1
        if choice < 0.4 and room > 1:
            determiner = self._pick(lexicon.COUNTABLE_DETERMINERS)
            return determiner, self._linked(self._pick(lexicon.NUMERALS)), room - 2
        return self._pick(lexicon.PLURAL_DETERMINERS), NOTHING, room - 1

    def _adjectives(self, words: int, kind: Kind, ending: str) -> Phrase:
        """Up to three adjectives in their order, the first perhaps intensified."""
        phrase = NOTHING
        classes = self._pick(lexicon.ADJECTIVE_CLASSES[kind][words])
        if words > 1 and self._chance(0.3):
            phrase = self._linked(self._pick(lexicon.INTENSIFIERS))
            classes = classes[:-1]  # never the last class alone: nobody is "very German"
        for number in classes:
            adjective = self._pick(lexicon.ADJECTIVES[kind][number])
            phrase = join(phrase, self._link((adjective.english,), (adjective.stem + ending,)))
        return phrase

    def _with_preposition(
        self, preposition: Preposition | None, determiner: Determiner, form: str, rest: Phrase
    ) -> Phrase:
        """Preposition and determiner, contracted ("im") where German does, before the rest."""
        article = determiner.english
        if determiner is lexicon.A and rest.english[0][0][0] in "aeiouAEIOU":
            article = "an"
        if preposition and determiner is lexicon.THE:
            contracted = lexicon.CONTRACTIONS.get((preposition.german, form))
            if contracted:
                return join(self._link((*preposition.english, article), (contracted,)), rest)
        if article:
            rest = join(self._link((article,), (form,)), rest)
        if preposition:
            rest = join(self._link(preposition.english, (preposition.german,)), rest)
        return rest
