"""Predicates: the verb in its tense, and what depends on it."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

from seq2seq.data.grammar import lexicon
from seq2seq.data.grammar.forms import Case, Kind, Linked, Modal, Number, Verb
from seq2seq.data.grammar.nominals import ANIMAL, PERSON, PLACE, SINGULAR, THING, Nominals
from seq2seq.data.grammar.phrases import NOTHING, Phrase, Tokens, join, set_off


class Tense(NamedTuple):
    """How a verb is put, and the times that go with it; ``words`` English ones are added."""

    modal: Modal | None
    times: tuple[Linked, ...]
    words: int = 0


PRESENT = Tense(None, lexicon.PRESENT_TIMES)
PAST = Tense(None, lexicon.PAST_TIMES)
INFINITIVE = Tense(None, (), 1)
FUTURES = 3
MODAL_TENSES = (
    *(Tense(lexicon.FUTURE, lexicon.FUTURE_TIMES, 1),) * FUTURES,
    *(Tense(m, lexicon.FUTURE_TIMES, len(m.english[0])) for m in lexicon.MODALS),
)


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
    """What a complement must heed: the kind of the subject, and what nouns and clauses may have."""

    subject: Kind
    clause: bool
    """Nouns may have relative clauses."""
    simple: bool
    """Clauses may not have adverbial clauses."""
    object_number: Number | None
    """The number that an animate accusative object must have."""


class Predicates(Nominals):
    """Composes predicates of exactly ``room`` English words.

    German order behind the finite verb or subject: time, adverb, dative, accusative,
    prepositional phrase, rest of the verb, clauses.
    """

    @abstractmethod
    def dependent_clause(self, room: int, simple: bool, like: Tense | None = None) -> Phrase:
        """A clause as it follows a conjunction; ``room`` is at least 2; for ``like`` see tense."""

    @abstractmethod
    def adverbial_clause(self, room: int, tense: Tense, purpose: bool) -> Phrase:
        """A clause set off by commas, of at least 4 words, beside one in this tense.

        ``purpose`` allows "in order to".
        """

    def predicate(
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

        ``timed``: an adverb of time stands in front already. ``like``: see :meth:`tense`. For the
        others see :class:`Setting`.
        """
        if tense is None:
            tense = self.tense(room - 1, kind, like)
        room -= tense.words
        adverb = time = clause = NOTHING
        if not simple and room >= 5 and self.chance(0.6 if room > 11 else 0.12):
            size = self.between(4, min(room - 1, 16))
            clause = self.adverbial_clause(size, tense, kind is PERSON)
            room -= len(clause.english)
        if room > 1 and self.chance(0.2):
            things = kind is THING
            adverb = self.linked(
                self.pick(lexicon.ADVERBS_OF_THINGS if things else lexicon.ADVERBS)
            )
            room -= 1
        if tense.times and not timed and 1 < room < 10 and self.chance(0.2):
            time = self.linked(self.fitting(tense.times, room - 1))
            room -= len(time.english)
        frames = FRAMES[kind][min(room - 1, 4) if room < 10 else 5]
        frame = self.pick(frames)
        while time is not NOTHING and frame in CLAUSAL_FRAMES:
            frame = self.pick(frames)
        setting = Setting(kind, time is NOTHING, simple, object_number)
        complement = frame(self, room - 1, setting)
        group = self.verb_group(complement.verb, number, tense, adverb.english)
        return Predicate(
            group.english + complement.english + time.english + clause.english,
            group,
            time.german + adverb.german + complement.middle,
            complement.after + clause.german,
        )

    # The verb

    def tense(self, room: int, kind: Kind, like: Tense | None = None) -> Tense:
        """A tense that adds at most ``room`` words to the verb of a subject of this kind.

        Next to a clause in the tense ``like`` it is past only if that is, and no future.
        """
        choice = self.share()
        if like is PAST:
            return PAST
        if room > 0 and choice > 0.7:
            tenses = MODAL_TENSES if like is None else MODAL_TENSES[FUTURES:]
            tense = self.pick(tenses)
            while tense.words > room or (tense.words > 1 and kind is THING):  # things want nothing
                tense = self.pick(tenses)
            return tense
        return PRESENT if like or choice < 0.35 or choice > 0.85 else PAST

    def verb_of(self, verbs: Sequence[Verb], room: int) -> Verb:
        """A verb of at most ``room`` words; ``verbs`` has some of one word."""
        verb = self.pick(verbs)
        while len(verb.english) > max(room, 1):
            verb = self.pick(verbs)
        return verb

    def verb_group(self, verb: Verb, number: Number, tense: Tense, adverb: Tokens) -> VerbGroup:
        """The verb in its tense; English puts the adverb before it, after an auxiliary."""
        if tense.modal:
            before = self.link(tense.modal.english[number], (tense.modal.german[number],))
            after = self.link(verb.english, (verb.infinitive,))
            if len(before.english) > 1:  # "often wants to see", but "can often see"
                english = adverb + before.english + after.english
            else:
                english = before.english + adverb + after.english
            return VerbGroup(english, before.german, after.german, after.german + before.german)
        if tense is INFINITIVE:
            if len(verb.to_infinitive) == 1:
                whole = self.link(("to", *verb.english), verb.to_infinitive)
            else:
                whole = join(
                    self.link(("to",), verb.to_infinitive[:1]),
                    self.link(verb.english, verb.to_infinitive[1:]),
                )
            english = [whole.english[0], *adverb, *whole.english[1:]]
            return VerbGroup(english, [], [], whole.german)
        if tense is PAST:
            participle = (verb.participle,) if verb.participle else ()
            whole = self.link(verb.english_past[number], (verb.past[number], *participle))
            finite, closing = whole.german[:1], whole.german[1:]
            return VerbGroup(adverb + whole.english, finite, closing, closing + finite)
        prefix = (verb.prefix,) if verb.prefix else ()
        whole = self.link(verb.english_present[number], (verb.finite[number], *prefix))
        final = [(verb.final[number], whole.german[0][1])]
        return VerbGroup(adverb + whole.english, whole.german[:1], whole.german[1:], final)

    # Frames: each draws a verb and fills ``room`` words after its first

    def _alone(self, room: int, setting: Setting) -> Complement:
        things = setting.subject is THING
        verbs = lexicon.INTRANSITIVE_OF_THINGS if things else lexicon.INTRANSITIVE
        verb = self.pick(verbs)
        while len(verb.english) != room + 1:  # one word of room is for "wake up"
            verb = self.pick(verbs)
        return Complement(verb, [], [], [])

    def _state(self, room: int, setting: Setting) -> Complement:
        adjective = self.pick(lexicon.PREDICATIVES[setting.subject])
        state = self.link((adjective.english,), (adjective.german,))
        if room == 2:
            state = join(self.linked(self.pick(lexicon.INTENSIFIERS)), state)
        return Complement(lexicon.BE, state.english, state.german, [])

    def _object(self, room: int, setting: Setting) -> Complement:
        choice = self.share()
        if choice < 0.4:
            kind, special = PERSON, lexicon.TRANSITIVE_OF_PERSONS
        elif choice < 0.6:
            kind, special = ANIMAL, lexicon.TRANSITIVE
        elif choice < 0.9 or setting.subject is ANIMAL:
            kind, special = THING, lexicon.TRANSITIVE_OF_THINGS
        else:
            kind, special = PLACE, lexicon.TRANSITIVE
        verb = self.verb_of(special if self.chance(0.4) else lexicon.TRANSITIVE, room)
        room -= len(verb.english) - 1
        number = setting.object_number if kind in (PERSON, ANIMAL) else None
        phrase = self.noun_phrase(room, kind, Case.ACCUSATIVE, number, clause=setting.clause)
        return Complement(verb, phrase.english, phrase.german, [])

    def _dative(self, room: int, setting: Setting) -> Complement:
        things = setting.subject is THING
        verbs = lexicon.DATIVE_VERBS_OF_THINGS if things else lexicon.DATIVE_VERBS
        verb = self.pick(verbs) if things else self.verb_of(verbs, room)
        room -= len(verb.english) - 1
        kind = PERSON if things or self.chance(0.8) else ANIMAL
        phrase = self.noun_phrase(room, kind, Case.DATIVE, clause=setting.clause)
        return Complement(verb, phrase.english, phrase.german, [])

    def _partner(self, room: int, setting: Setting) -> Complement:
        kind = self.pick((PERSON, PERSON, ANIMAL, THING))
        things = kind is THING
        verb = self.pick(lexicon.PREPOSITIONAL_OF_THINGS if things else lexicon.PREPOSITIONAL)
        assert verb.preposition is not None  # in these two tables all have one
        phrase = self.prepositional(room, verb.preposition, kind, setting.clause, chain=True)
        return Complement(verb, phrase.english, phrase.german, [])

    def _ditransitive(self, room: int, setting: Setting) -> Complement:
        verb = self.verb_of(lexicon.DITRANSITIVE, room - 2)
        room -= len(verb.english)  # this counts "to", whose place in German is the dative
        size = self.between(1, min(room - 1, 5))
        thing = self.noun_phrase(size, THING, Case.ACCUSATIVE, clause=False)
        person = self.noun_phrase(room - size, PERSON, Case.DATIVE, clause=setting.clause)
        english = [*thing.english, ("to", 0), *person.english]
        return Complement(verb, english, person.german + thing.german, [])

    def _place(self, room: int, setting: Setting) -> Complement:
        things = setting.subject is THING
        verbs = lexicon.INTRANSITIVE_OF_THINGS if things else lexicon.INTRANSITIVE_SIMPLE
        phrase = self.place(room, setting.clause)
        return Complement(self.pick(verbs), phrase.english, phrase.german, [])

    def _motion(self, room: int, setting: Setting) -> Complement:
        way = lexicon.TO_CITIES if room == 2 else self.pick(lexicon.TO_PLACES)
        phrase = self.prepositional(room, way, PLACE, setting.clause)
        return Complement(self.pick(lexicon.MOTION), phrase.english, phrase.german, [])

    def _attempt(self, room: int, setting: Setting) -> Complement:
        verb = self.pick(lexicon.TRYING)
        inner = self.predicate(room, SINGULAR, PERSON, INFINITIVE, simple=setting.simple)
        return Complement(verb, inner.english, [], set_off(inner.subordinate).german)

    def _report(self, room: int, setting: Setting) -> Complement:
        return self._clausal(lexicon.SAYING, self.link(("that",), ("dass",)), room, setting)

    def _question(self, room: int, setting: Setting) -> Complement:
        return self._clausal(lexicon.ASKING, self.link(("whether",), ("ob",)), room, setting)

    def _clausal(
        self, verbs: Sequence[Verb], opening: Phrase, room: int, setting: Setting
    ) -> Complement:
        verb = self.verb_of(verbs, room - 2)
        inner = join(opening, self.dependent_clause(room - len(verb.english), setting.simple))
        return Complement(verb, inner.english, [], set_off(inner).german)


Frame = Callable[[Predicates, int, Setting], Complement]

_P = Predicates
CLAUSAL_FRAMES: tuple[Frame, ...] = (_P._attempt, _P._report, _P._question)
FRAMES: dict[Kind, tuple[tuple[Frame, ...], ...]] = {
    # By the kind of the subject; then by the words to fill after the verb's first:
    # 0, 1, 2, 3, 4-8, more.
    PERSON: (
        (_P._alone,),
        (_P._alone, *3 * (_P._object,), _P._dative, _P._state),
        (
            *3 * (_P._object,),
            _P._dative,
            _P._place,
            _P._motion,
            _P._state,
            _P._attempt,
            _P._partner,
        ),
        (
            *5 * (_P._object,),
            *(_P._dative, _P._place, _P._motion, _P._attempt, _P._partner),
            *(_P._ditransitive, _P._report),
        ),
        (
            *5 * (_P._object,),
            *(_P._dative, _P._place, _P._motion, _P._attempt, _P._partner, _P._partner),
            *(_P._ditransitive, _P._ditransitive, _P._report, _P._report, _P._question),
        ),
        (*3 * (_P._report,), _P._question, _P._attempt, _P._ditransitive, _P._object),
    ),
    ANIMAL: (
        (_P._alone,),
        (_P._alone, _P._object, _P._object, _P._dative, _P._state),
        (_P._object, _P._object, _P._dative, _P._place, _P._motion, _P._state),
        (*3 * (_P._object,), _P._dative, _P._place, _P._motion),
        (*3 * (_P._object,), _P._dative, _P._place, _P._motion),
        (_P._object, _P._object, _P._dative),
    ),
    THING: (
        (_P._alone,),
        (_P._state,),
        (_P._state, _P._place, _P._dative),
        (_P._place, _P._dative, _P._dative),
        (_P._place, _P._dative, _P._dative),
        (_P._dative,),
    ),
}
