"""Compose random phrases, clauses and sentences in both languages at once.

Three rules keep each language a function of the other. (1) A relative clause, a prepositional
phrase or an adverb of time belongs to the nearest noun or clause before it; so no part of an outer
clause follows an inner clause where German would place it differently. (2) Relative clauses contain
no adverbial clauses (``simple``), because these could also belong to the outer clause. (3) If a
German relative pronoun can be subject or object ("die Frau , die das Kind sieht"), the two nouns
differ in number, and the verb shows which one is the subject.
"""

import random
from collections.abc import Callable, Sequence
from itertools import combinations, count
from typing import NamedTuple, TypeVar

from seq2seq.data.grammar import lexicon
from seq2seq.data.grammar.lexicon import (
    ACCUSATIVE,
    ANIMAL,
    DATIVE,
    DETERMINERS,
    NOMINATIVE,
    PERSON,
    PLACE,
    PLURAL,
    PREPOSITIONS,
    SINGULAR,
    THING,
    VERBS,
    Determiner,
    Modal,
    Noun,
    Preposition,
    Verb,
    Words,
)

T = TypeVar("T")
Tokens = list[tuple[str, int]]
"""(Word, link) pairs: words of both sides with the same link translate each other; 0: no link."""


class Phrase(NamedTuple):
    """A phrase in both languages; a verb agrees with its ``number``."""

    english: Tokens
    german: Tokens
    number: int = SINGULAR


NOTHING = Phrase([], [])


def join(*phrases: Phrase) -> Phrase:
    return Phrase(
        [token for phrase in phrases for token in phrase.english],
        [token for phrase in phrases for token in phrase.german],
    )


def set_off(phrase: Phrase) -> Phrase:
    """Put the German side between commas; _merge_commas later drops superfluous ones."""
    return Phrase(phrase.english, [(",", 0), *phrase.german, (",", 0)])


class Tense(NamedTuple):
    """A tense or modal, and the class of adverbs of time that fit it ("" for none)."""

    modal: Modal | None
    times: str
    words: int = 0
    """Number of English words that the tense adds to the verb."""


PRESENT, PAST = Tense(None, "time present"), Tense(None, "time past")
INFINITIVE = Tense(None, "", 1)
MODAL = [Tense(modal, "time future", len(modal.english[0])) for modal in lexicon.MODALS[""]]
FUTURE_OR_MODAL = [Tense(lexicon.MODALS["future"][0], "time future", 1)] * 3 + MODAL


class VerbGroup(NamedTuple):
    """An inflected verb; German main clauses split it into ``finite`` and, at the end, ``closing``.

    In other German clauses all of it, ``final``, comes at the end.
    """

    english: Tokens
    finite: Tokens
    closing: Tokens
    final: Tokens


class Complement(NamedTuple):
    """A verb with its objects; German puts ``clause`` after the closing part of the verb."""

    verb: Verb
    objects: Phrase
    clause: Phrase = NOTHING


class Predicate(NamedTuple):
    """A clause without its subject; ``finite`` and ``rest`` are of German main clauses."""

    english: Tokens
    finite: Tokens
    rest: Tokens
    subordinate: Phrase


class Setting(NamedTuple):
    """Constraints on a complement."""

    subject: str
    clause: bool
    """Whether nouns may have relative clauses."""
    simple: bool
    """Whether clauses may not have adverbial clauses."""
    object_number: int | None
    """Number (singular or plural) that an animate accusative object must have; None for any."""


class Slot(NamedTuple):
    """Properties that decide the form of a noun phrase."""

    kind: str
    case: int
    number: int | None = None
    """Singular or plural; None for any."""
    preposition: Preposition | None = None
    clause: bool = True
    """Whether the noun may have a relative clause."""


# Kind of the subject -> frames (methods of Composer) by the number of words after the first word of
# the verb: 0, 1, 2, 3, 4-8, more. Repeated frames are drawn more often.
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
    THING: ("alone", "state", "state place dative", *["place dative dative"] * 2, "dative"),
}
FRAMES = {kind: tuple(row.split() for row in rows) for kind, rows in _FRAMES.items()}
CLAUSAL_FRAMES = ("attempt", "report", "question")


class Composer:
    """Composes phrases of exactly ``room`` English words."""

    def __init__(self, rng: random.Random) -> None:
        self._random = rng.random  # the only method whose numbers are the same in all Pythons
        self._links = count(1)

    # Draws

    def _chance(self, probability: float) -> bool:
        return self._random() < probability

    def _between(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low + 1))

    def _pick(self, items: Sequence[T], fits: Callable[[T], bool] | None = None) -> T:
        while True:
            item = items[int(self._random() * len(items))]
            if fits is None or fits(item):
                return item

    def _link(self, english: Words, german: Words) -> Phrase:
        """Build a phrase whose words translate each other as a group."""
        link = next(self._links)
        return Phrase([(word, link) for word in english], [(word, link) for word in german])

    def _fixed(self, name: str, room: int = 9) -> Phrase:
        """Pick a phrase of the lexicon, of at most ``room`` words."""
        phrases = lexicon.PHRASES[name]
        groups = self._pick(phrases, lambda groups: sum(len(e) for e, _ in groups) <= room)
        return join(*(self._link(*group) for group in groups))

    def _verb(self, name: str, room: int) -> Verb:
        """Pick a verb of at most max(room, 1) words."""
        return self._pick(VERBS[name], lambda verb: len(verb.english) <= max(room, 1))

    # Sentences and clauses

    def sentence(self, room: int) -> Phrase:
        """Compose main clauses, one or more, without full stop; ``room`` is at least 2."""
        if room >= 9 and self._random() * 30 < room - 8:
            coordinator = self._fixed("coordinator")
            rest = room - len(coordinator.english)
            left = self._between(4, rest - 3)
            return join(self.sentence(left), coordinator, self.sentence(rest - left))
        return self._main_clause(room)

    def _main_clause(self, room: int) -> Phrase:
        """Compose a main clause of ``room`` English words; the German finite verb comes second."""
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
            front = self._fixed(tense.times, room - 2 - tense.words)
            timed = True
        elif room >= 7 and choice > 0.75:
            front = self._place(self._between(2, min(room - 4, 5)), clause=False)
        room -= len(front.english)
        subject = self._subject(self._between(1, min(room - 1 - tense.words, 7)), kind)
        room -= len(subject.english)
        predicate = self._predicate(room, subject.number, kind, tense, timed=timed)
        first, second = (front.german, subject.german) if front.german else (subject.german, [])
        return Phrase(
            front.english + subject.english + predicate.english,
            first + predicate.finite + second + predicate.rest,
        )

    def _dependent_clause(self, room: int, simple: bool, like: Tense | None = None) -> Phrase:
        """Compose the clause that follows a conjunction; in German, the verb is at the end."""
        kind = self._subject_kind()
        subject = self._subject(self._between(1, min(room - 1, 6)), kind)
        room -= len(subject.english)
        tense = self._tense(room - 1, kind, like)
        predicate = self._predicate(room, subject.number, kind, tense, simple=simple)
        return join(subject, predicate.subordinate)

    def _adverbial_clause(self, room: int, tense: Tense, purpose: bool) -> Phrase:
        """Compose a conjunction and its clause; ``purpose`` allows "in order to", "um ... zu"."""
        if purpose and self._chance(0.2):
            opening = self._link(("in", "order"), ("um",))
            predicate = self._predicate(room - 2, SINGULAR, PERSON, INFINITIVE)
            return set_off(join(opening, predicate.subordinate))
        opening = self._fixed("conjunction", room - 2)
        clause = self._dependent_clause(room - len(opening.english), simple=False, like=tense)
        return set_off(join(opening, clause))

    def _relative_clause(self, room: int, kind: str, noun: Noun, number: int) -> Phrase:
        """Compose a relative clause; its pronoun has the gender and number of ``noun``."""
        animate = kind in (PERSON, ANIMAL)
        column = noun.column(number)
        # "die" and "das" may be subject or object
        contrast = 1 - number if animate and column != 0 else None

        def pronoun(of_person: str, of_others: str, case: int) -> Phrase:
            english = of_person if kind == PERSON else of_others
            return self._link((english,), (lexicon.RELATIVE_PRONOUNS[case][column],))

        choice = self._random()
        if room == 2 or room > 10 or choice < (0.5 if animate else 0.2):
            opening = pronoun("who", "that", NOMINATIVE)
            subject = kind if animate else THING
            tense = self._tense(room - 2, subject)
            predicate = self._predicate(
                room - 1, number, subject, tense, simple=True, object_number=contrast
            )
            return set_off(join(opening, predicate.subordinate))
        verb, preposition = self._verb_without_object(room, kind, choice > 0.75)
        if preposition:
            opening = self._link(preposition.english, (preposition.german,))
            opening = join(opening, pronoun("whom", "which", preposition.case))
        else:
            opening = pronoun("whom", "that", verb.case)
        if preposition or verb.case == DATIVE:
            contrast = None
        return set_off(join(opening, self._gap(room - len(opening.english), verb, contrast)))

    def _gap(self, room: int, verb: Verb, number: int | None) -> Phrase:
        """Compose subject and verb of a relative clause whose pronoun is the object."""
        room -= len(verb.english)
        kind = PERSON if self._chance(0.75) else ANIMAL
        tense = self._tense(room - 1, kind)
        room -= tense.words
        adverb = NOTHING
        if room > 1 and self._chance(0.2):
            adverb = self._fixed("adverb person")
            room -= 1
        subject = self._subject(room, kind, number)
        group = self._verb_group(verb, subject.number, tense, adverb.english)
        return Phrase(subject.english + group.english, subject.german + adverb.german + group.final)

    def _verb_without_object(
        self, room: int, kind: str, prepositional: bool
    ) -> tuple[Verb, Preposition | None]:
        """Pick a verb, perhaps with a preposition, that takes a noun of this kind as object."""
        if prepositional and room >= 4:
            if kind == PLACE:
                verb = self._pick(VERBS["intransitive simple"])
                return verb, self._pick(PREPOSITIONS["place"][:4])  # those of one word
            verb = self._pick(VERBS["prepositional thing" if kind == THING else "prepositional"])
            return verb, verb.preposition
        name = "transitive"
        if kind == THING and self._chance(0.4):
            name = "transitive thing"
        elif kind == PERSON and self._chance(0.4):
            name = "transitive person"
        elif kind in (PERSON, ANIMAL) and self._chance(0.3):
            name = "dative"
        return self._verb(name, room - 2), None

    # Predicates

    def _predicate(
        self,
        room: int,
        number: int,
        kind: str,
        tense: Tense,
        *,
        timed: bool = False,
        simple: bool = False,
        object_number: int | None = None,
    ) -> Predicate:
        """Compose a verb with its objects and adverbs; ``timed``: a time stands before them."""
        # German order after the finite verb or subject: time, adverb, dative, accusative,
        # prepositional phrase, rest of the verb, clauses.
        room -= tense.words
        adverb = time = clause = NOTHING
        if not simple and room >= 5 and self._chance(0.6 if room > 11 else 0.12):
            size = self._between(4, min(room - 1, 16))
            clause = self._adverbial_clause(size, tense, purpose=kind == PERSON)
            room -= len(clause.english)
        if room > 1 and self._chance(0.2):
            adverb = self._fixed("adverb" if kind == THING else "adverb person")
            room -= 1
        if tense.times and not timed and 1 < room < 10 and self._chance(0.2):
            time = self._fixed(tense.times, room - 1)
            room -= len(time.english)
        frame = self._pick(
            FRAMES[kind][min(room - 1, 4) if room < 10 else 5],
            lambda frame: not time.english or frame not in CLAUSAL_FRAMES,
        )
        setting = Setting(kind, not time.english, simple, object_number)
        verb, objects, inner = getattr(self, f"_frame_{frame}")(room - 1, setting)
        group = self._verb_group(verb, number, tense, adverb.english)
        english = join(objects, inner, time, clause).english
        middle = time.german + adverb.german + objects.german
        after = inner.german + clause.german
        return Predicate(
            group.english + english,
            group.finite,
            middle + group.closing + after,
            Phrase(group.english + english, middle + group.final + after),
        )

    def _tense(self, room: int, kind: str, like: Tense | None = None) -> Tense:
        """Pick a tense of at most ``room`` more words; ``like`` is that of the clause above."""
        choice = self._random()
        if like is PAST:
            return PAST
        if room > 0 and choice > 0.7:
            tenses = FUTURE_OR_MODAL if like is None else MODAL
            most = 1 if kind == THING else room  # no "want to" for things
            return self._pick(tenses, lambda tense: tense.words <= most)
        return PRESENT if like or choice < 0.35 or choice > 0.85 else PAST

    def _verb_group(self, verb: Verb, number: int, tense: Tense, adverb: Tokens) -> VerbGroup:
        """Inflect the verb for its tense. The English adverb precedes it, after an auxiliary."""
        if tense.modal:
            modal = self._link(tense.modal.english[number], (tense.modal.german[number],))
            main = self._link(verb.english, (verb.prefix + verb.stem,))
            if len(modal.english) > 1:  # "often wants to see", but "can often see"
                english = adverb + modal.english + main.english
            else:
                english = modal.english + adverb + main.english
            return VerbGroup(english, modal.german, main.german, main.german + modal.german)
        if tense is INFINITIVE:
            if verb.prefix:
                whole = self._link(("to", *verb.english), (f"{verb.prefix}zu{verb.stem}",))
            else:
                to = self._link(("to",), ("zu",))
                whole = join(to, self._link(verb.english, (verb.stem,)))
            english = [whole.english[0], *adverb, *whole.english[1:]]
            return VerbGroup(english, [], [], whole.german)
        if tense is PAST:
            participle = (verb.participle,) if verb.participle else ()
            whole = self._link(verb.english_past[number], (verb.past[number], *participle))
            finite, closing = whole.german[:1], whole.german[1:]
            return VerbGroup(adverb + whole.english, finite, closing, closing + finite)
        prefix = (verb.prefix,) if verb.prefix else ()
        whole = self._link(verb.english_present[number], (verb.finite[number], *prefix))
        final = [(verb.prefix + verb.finite[number], whole.german[0][1])]
        return VerbGroup(adverb + whole.english, whole.german[:1], whole.german[1:], final)

    # Frames: each draws a verb and composes ``room`` words, those after the verb's first word

    def _frame_alone(self, room: int, setting: Setting) -> Complement:
        verbs = VERBS["intransitive thing" if setting.subject == THING else "intransitive"]
        verb = self._pick(verbs, lambda verb: len(verb.english) == room + 1)  # or "wake up"
        return Complement(verb, NOTHING)

    def _frame_state(self, room: int, setting: Setting) -> Complement:
        *classes, _ = lexicon.ADJECTIVES[setting.subject]  # the last class cannot follow "is"
        adjective = self._pick(sum(classes, ()))
        state = self._link((adjective.english,), (adjective.german,))
        if room == 2:
            state = join(self._fixed("intensifier"), state)
        return Complement(lexicon.BE, state)

    def _frame_object(self, room: int, setting: Setting) -> Complement:
        choice = self._random()
        if choice < 0.4:
            kind, special = PERSON, "transitive person"
        elif choice < 0.6:
            kind, special = ANIMAL, "transitive"
        elif choice < 0.9 or setting.subject == ANIMAL:
            kind, special = THING, "transitive thing"
        else:
            kind, special = PLACE, "transitive"
        verb = self._verb(special if self._chance(0.4) else "transitive", room)
        room -= len(verb.english) - 1
        number = setting.object_number if kind in (PERSON, ANIMAL) else None
        slot = Slot(kind, ACCUSATIVE, number, clause=setting.clause)
        return Complement(verb, self._noun_phrase(room, slot))

    def _frame_dative(self, room: int, setting: Setting) -> Complement:
        verb = self._verb("dative thing" if setting.subject == THING else "dative", room)
        room -= len(verb.english) - 1
        kind = PERSON if setting.subject == THING or self._chance(0.8) else ANIMAL
        return Complement(verb, self._noun_phrase(room, Slot(kind, DATIVE, clause=setting.clause)))

    def _frame_partner(self, room: int, setting: Setting) -> Complement:
        kind = self._pick((PERSON, PERSON, ANIMAL, THING))
        verb = self._pick(VERBS["prepositional thing" if kind == THING else "prepositional"])
        assert verb.preposition is not None  # all verbs in these two tables have one
        phrase = self._prepositional(room, verb.preposition, kind, setting.clause, chain=True)
        return Complement(verb, phrase)

    def _frame_ditransitive(self, room: int, setting: Setting) -> Complement:
        verb = self._verb("ditransitive", room - 2)
        room -= len(verb.english)  # its other words, and "to" (German has the dative)
        size = self._between(1, min(room - 1, 5))
        thing = self._noun_phrase(size, Slot(THING, ACCUSATIVE, clause=False))
        person = self._noun_phrase(room - size, Slot(PERSON, DATIVE, clause=setting.clause))
        english = [*thing.english, ("to", 0), *person.english]
        return Complement(verb, Phrase(english, person.german + thing.german))

    def _frame_place(self, room: int, setting: Setting) -> Complement:
        phrase = self._place(room, setting.clause)
        verbs = "intransitive thing" if setting.subject == THING else "intransitive simple"
        return Complement(self._pick(VERBS[verbs]), phrase)

    def _frame_motion(self, room: int, setting: Setting) -> Complement:
        way = self._pick(PREPOSITIONS["destination"]) if room > 2 else PREPOSITIONS["city"][0]
        phrase = self._prepositional(room, way, PLACE, setting.clause)
        return Complement(self._pick(VERBS["motion"]), phrase)

    def _frame_attempt(self, room: int, setting: Setting) -> Complement:
        verb = self._pick(VERBS["trying"])
        inner = self._predicate(room, SINGULAR, PERSON, INFINITIVE, simple=setting.simple)
        return Complement(verb, NOTHING, set_off(inner.subordinate))

    def _frame_report(self, room: int, setting: Setting) -> Complement:
        return self._clausal("saying", self._link(("that",), ("dass",)), room, setting)

    def _frame_question(self, room: int, setting: Setting) -> Complement:
        return self._clausal("asking", self._link(("whether",), ("ob",)), room, setting)

    def _clausal(self, verbs: str, opening: Phrase, room: int, setting: Setting) -> Complement:
        verb = self._verb(verbs, room - 2)
        clause = self._dependent_clause(room - len(verb.english), setting.simple)
        return Complement(verb, NOTHING, set_off(join(opening, clause)))

    # Noun phrases

    def _subject_kind(self) -> str:
        choice = self._random()
        return PERSON if choice < 0.65 else ANIMAL if choice < 0.87 else THING

    def _subject(self, room: int, kind: str, number: int | None = None) -> Phrase:
        if room == 1 and kind == PERSON and self._chance(0.3):
            english, german, own_number = self._pick(lexicon.PRONOUNS)
            if number in (None, own_number):
                return self._link((english,), (german,))._replace(number=own_number)
        return self._noun_phrase(room, Slot(kind, NOMINATIVE, number))

    def _noun_phrase(self, room: int, slot: Slot, chain: bool = True) -> Phrase:
        """Compose a noun phrase of ``room`` words after its preposition, perhaps with "and"."""
        # The first of two has no attributes after it: they always belong to the last noun.
        if chain and room >= 3 and slot.number != SINGULAR and self._chance(0.12):
            left = self._between(1, min(room - 2, 4))
            first = self._single(left, 0, slot._replace(number=None))
            other = slot._replace(number=None, preposition=None)
            second = self._noun_phrase(room - left - 1, other, chain=False)
            return join(first, self._link(("and",), ("und",)), second)._replace(number=PLURAL)
        spare = room - 2
        behind = 0
        if spare > 3 or (spare > 1 and self._chance(0.45)):
            behind = spare - self._between(0, min(2, spare - 2))
        return self._single(room - behind, behind, slot)

    def _prepositional(
        self, room: int, preposition: Preposition, kind: str, clause: bool, chain: bool = False
    ) -> Phrase:
        """Compose a prepositional phrase of exactly ``room`` English words."""
        slot = Slot(kind, preposition.case, None, preposition, clause)
        return self._noun_phrase(room - len(preposition.english), slot, chain)

    def _place(self, room: int, clause: bool) -> Phrase:
        """Compose a phrase of place; ``room`` is at least 2."""
        ways = PREPOSITIONS["place"] if room > 2 else PREPOSITIONS["place"][:2]  # in, near a city
        way = self._pick(ways, lambda way: len(way.english) <= max(room - 2, 1))
        return self._prepositional(room, way, PLACE, clause)

    def _single(self, room: int, behind: int, slot: Slot) -> Phrase:
        """Compose a noun, ``room`` - 1 words before it, ``behind`` words of attributes after it."""
        kind, case, number, preposition, clause = slot
        bare = room == 1 and number != PLURAL  # may be a name; names are singular
        if bare and (
            kind == PLACE or number == SINGULAR or (kind == PERSON and self._chance(0.75))
        ):
            name = self._pick(lexicon.NAMES[PLACE if kind == PLACE else PERSON])
            phrase = self._link((name,), (name,))
            return self._with_preposition(preposition, lexicon.NO_ARTICLE, "", phrase)
        if number is None:
            number = PLURAL if room == 1 or self._chance(0.3) else SINGULAR
        noun = self._pick(lexicon.NOUNS[kind])
        column = noun.column(number)
        determiner, numeral, adjectives = self._opening(room - 1, number)
        phrase = join(
            numeral,
            self._adjectives(adjectives, kind, determiner.endings[case][column]),
            self._link((noun.english[number],), (noun.german[number][case],)),
        )
        form = determiner.german[case][column]
        phrase = self._with_preposition(preposition, determiner, form, phrase)
        if behind:
            if clause and self._chance(0.6):
                phrase = join(phrase, self._relative_clause(behind, kind, noun, number))
            else:
                phrase = join(phrase, self._attribute(behind, kind, clause))
        return phrase._replace(number=number)

    def _attribute(self, room: int, head: str, clause: bool) -> Phrase:
        """Compose a prepositional phrase that follows a noun; ``room`` is at least 2."""
        choice = self._random()
        if head in (PERSON, ANIMAL) and choice < 0.5:
            return self._prepositional(room, self._pick(PREPOSITIONS["belonging"]), THING, clause)
        if head != PLACE and choice > 0.8:
            return self._prepositional(room, PREPOSITIONS["origin"][0], PLACE, clause)
        return self._place(room, clause)

    def _opening(self, room: int, number: int) -> tuple[Determiner, Phrase, int]:
        """Pick determiner and numeral; also return the number of words left for adjectives."""
        if number == SINGULAR:
            return self._pick(DETERMINERS["singular"]), NOTHING, room - 1
        if room == 0 or (room < 3 and self._chance(0.15)):
            return lexicon.NO_ARTICLE, NOTHING, room
        choice = self._random()
        if choice < 0.2:
            return lexicon.NO_ARTICLE, self._fixed("numeral"), room - 1
        if choice < 0.4 and room > 1:
            return self._pick(DETERMINERS["countable"]), self._fixed("numeral"), room - 2
        return self._pick(DETERMINERS["plural"]), NOTHING, room - 1

    def _adjectives(self, words: int, kind: str, ending: str) -> Phrase:
        """Compose adjectives in their usual order, perhaps after an intensifier."""
        phrase = NOTHING
        classes = self._pick(list(combinations(lexicon.ADJECTIVES[kind], words)))
        if words > 1 and self._chance(0.3):
            phrase = self._fixed("intensifier")
            classes = classes[:-1]  # never the last class alone: nobody is "very German"
        for adjectives in classes:
            adjective = self._pick(adjectives)
            phrase = join(phrase, self._link((adjective.english,), (adjective.stem + ending,)))
        return phrase

    def _with_preposition(
        self, preposition: Preposition | None, determiner: Determiner, form: str, rest: Phrase
    ) -> Phrase:
        """Put preposition and determiner, contracted as in German ("im"), before ``rest``."""
        article = determiner.english
        if determiner is lexicon.A and rest.english[0][0][0] in "aeiouAEIOU":
            article = "an"
        if preposition and (word := lexicon.CONTRACTIONS.get(f"{preposition.german} {form}")):
            return join(self._link((*preposition.english, article), (word,)), rest)
        if article:
            rest = join(self._link((article,), (form,)), rest)
        if preposition:
            rest = join(self._link(preposition.english, (preposition.german,)), rest)
        return rest
