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
from seq2seq.data.grammar.lexicon import DATIVE, PLURAL, SINGULAR, Kind, Preposition, Verb, length

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
    """A tense or modal verb, the adverbs of time that fit it, and how many words it adds."""

    times: str
    words: int = 0
    modal: tuple[tuple[str, str], ...] = ()


PRESENT, PAST, INFINITIVE = Tense("time present"), Tense("time past"), Tense("", 1)
FUTURE, *MODAL = (
    Tense("time future", length(modal[0][0]), modal)
    for modal in (*lexicon.MODALS["future"], *lexicon.MODALS[""])
)


class VerbPhrase(NamedTuple):
    """A verb, or all of a clause but its subject: ``whole`` in the order of dependent clauses."""

    whole: Phrase
    finite: Tokens
    """German word that comes second in a main clause; ``rest`` is at the end."""
    rest: Tokens


Complement = tuple[Verb, Phrase, Phrase]
"""A verb, its objects, and a clause, which German puts after the last part of the verb."""


class Setting(NamedTuple):
    """What a predicate agrees with."""

    subject: Kind
    number: int
    tense: Tense
    timed: bool = False  # an adverb of time stands before it
    simple: bool = False  # no clause may be adverbial
    clause: bool = True  # nouns may have relative clauses
    object_number: int | None = None  # which an animate accusative object must have


class Slot(NamedTuple):
    """What decides the form of a noun phrase."""

    kind: Kind
    case: int
    number: int | None = None  # any
    clause: bool = True  # the noun may have a relative clause


SUBJECTS: dict[Kind, float] = {"person": 0.65, "animal": 0.87, "thing": 1}
# Kind of the subject -> frames (methods of Composer) by the number of words after the first word of
# the verb: 0, 1, 2, 3, 4-8, more. Repeated frames are drawn more often.
FRAMES = {
    "person": (
        "alone",
        "alone object object object dative state",
        "object object object dative place motion state attempt partner",
        "object object object object object dative place motion attempt partner ditransitive "
        "report",
        "object object object object object dative place motion attempt partner partner "
        "ditransitive ditransitive report report question",
        "report report report question attempt ditransitive object",
    ),
    "animal": (
        "alone",
        "alone object object dative state",
        "object object dative place motion state",
        "object object object dative place motion",
        "object object object dative place motion",
        "object object dative",
    ),
    "thing": ("alone", "state", "state place dative", *["place dative dative"] * 2, "dative"),
}
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

    def _link(self, english: str, german: str) -> Phrase:
        """Build a phrase whose words, with "_" between them, translate each other as a group."""
        link = next(self._links)
        return Phrase(
            [(word, link) for word in english.split("_")],
            [(word, link) for word in german.split("_")],
        )

    def _groups(self, english: str, german: str) -> Phrase:
        """Build a phrase of groups, with spaces between them, that translate each other in turn."""
        return join(*map(self._link, english.split(), german.split()))

    def _kind(self, bounds: dict[Kind, float]) -> Kind:
        """Pick a kind of noun by cumulative probabilities."""
        choice = self._random()
        return next(kind for kind, bound in bounds.items() if choice < bound)

    def _fixed(self, name: str, room: int = 9) -> Phrase:
        """Pick a phrase of the lexicon, of at most ``room`` words."""
        phrases = lexicon.PHRASES[name]
        return self._groups(*self._pick(phrases, lambda one: length(one[0]) <= room))

    def _verb(self, name: str, kind: str = "", room: int = 9) -> Verb:
        """Pick a verb of at most max(room, 1) words, from those for ``kind`` if there are some."""
        verbs = lexicon.VERBS.get(f"{name} {kind}", lexicon.VERBS[name])
        return self._pick(verbs, lambda verb: length(verb.english) <= max(room, 1))

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
        kind = self._kind(SUBJECTS)
        tense = self._tense(min(room - 4, 2), kind)
        front, timed = NOTHING, False
        choice = self._random()
        if room >= 9 and choice < (0.5 if room > 16 else 0.2):
            size = self._between(4, min(room - 5, 15))
            clause = self._adverbial_clause(size, tense, purpose=False)
            front = join(clause, self._link(",", ","))
        elif room >= 5 and choice > 0.85:
            front = self._fixed(tense.times, room - 2 - tense.words)
            timed = True
        elif room >= 7 and choice > 0.75:
            front = self._place(self._between(2, min(room - 4, 5)), clause=False)
        room -= len(front.english)
        subject = self._subject(self._between(1, min(room - 1 - tense.words, 7)), kind)
        setting = Setting(kind, subject.number, tense, timed)
        whole, finite, rest = self._predicate(room - len(subject.english), setting)
        first, second = (front, subject) if front.german else (subject, NOTHING)
        english = front.english + subject.english + whole.english
        return Phrase(english, first.german + finite + second.german + rest)

    def _dependent_clause(self, room: int, simple: bool, like: Tense | None = None) -> Phrase:
        """Compose the clause that follows a conjunction; in German, the verb is at the end."""
        kind = self._kind(SUBJECTS)
        subject = self._subject(self._between(1, min(room - 1, 6)), kind)
        room -= len(subject.english)
        setting = Setting(kind, subject.number, self._tense(room - 1, kind, like), simple=simple)
        return join(subject, self._predicate(room, setting).whole)

    def _adverbial_clause(self, room: int, tense: Tense, purpose: bool) -> Phrase:
        """Compose a conjunction and its clause; ``purpose`` allows "in order to", "um ... zu"."""
        if purpose and self._chance(0.2):
            predicate = self._predicate(room - 2, Setting("person", SINGULAR, INFINITIVE))
            return join(self._link("in_order", "um"), predicate.whole)
        opening = self._fixed("conjunction", room - 2)
        clause = self._dependent_clause(room - len(opening.english), simple=False, like=tense)
        return join(opening, clause)

    def _relative_clause(self, room: int, kind: Kind, number: int, column: int) -> Phrase:
        """Compose a relative clause for a noun; ``column`` has the forms of its pronoun."""
        animate = kind in ("person", "animal")
        # "die" and "das" may be subject or object
        contrast = 1 - number if animate and column != 0 else None

        def pronoun(person: str, other: str, case: int) -> Phrase:
            return self._link(person if kind == "person" else other, lexicon.RELATIVE[case][column])

        choice = self._random()
        if room == 2 or room > 10 or choice < (0.5 if animate else 0.2):
            subject: Kind = kind if animate else "thing"
            tense = self._tense(room - 2, subject)
            setting = Setting(subject, number, tense, simple=True, object_number=contrast)
            clause = self._predicate(room - 1, setting).whole
            return set_off(join(pronoun("who", "that", lexicon.NOMINATIVE), clause))
        verb = self._verb_without_object(room, kind, choice > 0.75)
        opening = pronoun("whom", "which" if verb.preposition else "that", verb.case)
        if verb.preposition:
            opening = join(self._link(verb.preposition.english, verb.preposition.german), opening)
        if verb.preposition or verb.case == DATIVE:
            contrast = None
        return set_off(join(opening, self._gap(room - len(opening.english), verb, contrast)))

    def _gap(self, room: int, verb: Verb, number: int | None) -> Phrase:
        """Compose subject and verb of a relative clause whose pronoun is the object."""
        room -= length(verb.english)
        kind: Kind = "person" if self._chance(0.75) else "animal"
        tense = self._tense(room - 1, kind)
        room -= tense.words
        adverb = NOTHING
        if room > 1 and self._chance(0.2):
            adverb = self._fixed("adverb person")
        subject = self._subject(room - len(adverb.english), kind, number)
        verb_phrase = self._verb_phrase(verb, subject.number, tense, adverb.english)
        return join(subject, adverb._replace(english=[]), verb_phrase.whole)

    def _verb_without_object(self, room: int, kind: Kind, prepositional: bool) -> Verb:
        """Pick a verb, perhaps with a preposition, that takes a noun of this kind as object."""
        if prepositional and room >= 4:
            if kind == "place":
                verb = self._verb("intransitive simple")
                way = self._pick(lexicon.PREPOSITIONS["place"][:4])  # those of one word
                return verb._replace(case=way.case, preposition=way)
            return self._verb("prepositional", kind)
        if kind in ("person", "thing") and self._chance(0.4):
            return self._verb("transitive", kind, room - 2)
        dative = kind in ("person", "animal") and self._chance(0.3)
        return self._verb("dative" if dative else "transitive", room=room - 2)

    # Predicates

    def _predicate(self, room: int, setting: Setting) -> VerbPhrase:
        """Compose a verb with its objects and adverbs."""
        # German order after the finite verb or subject: time, adverb, dative, accusative,
        # prepositional phrase, rest of the verb, clauses.
        kind, number, tense, timed, simple, *_ = setting
        room -= tense.words
        adverb = time = clause = NOTHING
        if not simple and room >= 5 and self._chance(0.6 if room > 11 else 0.12):
            size = self._between(4, min(room - 1, 16))
            clause = set_off(self._adverbial_clause(size, tense, purpose=kind == "person"))
            room -= len(clause.english)
        if room > 1 and self._chance(0.2):
            adverb = self._fixed("adverb" if kind == "thing" else "adverb person")
            room -= 1
        if tense.times and not timed and 1 < room < 10 and self._chance(0.2):
            time = self._fixed(tense.times, room - 1)
            room -= len(time.english)
        frame = self._pick(
            FRAMES[kind][min(room - 1, 4) if room < 10 else 5].split(),
            lambda frame: not time.english or frame not in CLAUSAL_FRAMES,
        )
        compose: Callable[[int, Setting], Complement] = getattr(self, f"_frame_{frame}")
        verb, objects, inner = compose(room - 1, setting._replace(clause=not time.english))
        whole, finite, rest = self._verb_phrase(verb, number, tense, adverb.english)
        english = whole.english + join(objects, inner, time, clause).english
        before, after = join(time, adverb, objects).german, inner.german + clause.german
        whole = Phrase(english, before + whole.german + after)
        return VerbPhrase(whole, finite, before + rest + after)

    def _tense(self, room: int, kind: Kind, like: Tense | None = None) -> Tense:
        """Pick a tense of at most ``room`` more words; ``like`` is that of the clause above."""
        choice = self._random()
        if like is PAST:
            return PAST
        if room > 0 and choice > 0.7:
            tenses = MODAL if like else [FUTURE] * 3 + MODAL
            most = 1 if kind == "thing" else room  # no "want to" for things
            return self._pick(tenses, lambda tense: tense.words <= most)
        return PRESENT if like or choice < 0.35 or choice > 0.85 else PAST

    def _verb_phrase(self, verb: Verb, number: int, tense: Tense, adverb: Tokens) -> VerbPhrase:
        """Inflect the verb for its tense. The English adverb precedes it, after an auxiliary."""
        if tense is INFINITIVE:
            whole = self._groups(*verb.to)
            english = whole.english[:1] + adverb + whole.english[1:]
            return VerbPhrase(Phrase(english, whole.german), [], [])
        if tense.modal:
            modal = self._link(*tense.modal[number])
            main = self._link(verb.english, verb.german)
            english = modal.english + adverb + main.english
            if len(modal.english) > 1:  # "often wants to see", but "can often see"
                english = adverb + modal.english + main.english
            whole = Phrase(english, main.german + modal.german)
            return VerbPhrase(whole, modal.german, main.german)
        words, main_clause, end = (verb.past if tense is PAST else verb.present)[number]
        group = self._link(words, main_clause)
        link = group.german[0][1]
        whole = Phrase(adverb + group.english, [(word, link) for word in end.split("_")])
        return VerbPhrase(whole, group.german[:1], group.german[1:])

    # Frames: each draws a verb and composes ``room`` words, those after the verb's first word

    def _frame_alone(self, room: int, setting: Setting) -> Complement:
        name = "intransitive thing" if setting.subject == "thing" else "intransitive"
        verb = self._pick(lexicon.VERBS[name], lambda verb: length(verb.english) == room + 1)
        return verb, NOTHING, NOTHING

    def _frame_state(self, room: int, setting: Setting) -> Complement:
        *classes, _ = lexicon.ADJECTIVES[setting.subject]  # the last class cannot follow "is"
        adjective = self._pick(sum(classes, ()))
        state = self._link(adjective.english, adjective.german)
        if room == 2:
            state = join(self._fixed("intensifier"), state)
        return lexicon.BE, state, NOTHING

    def _frame_object(self, room: int, setting: Setting) -> Complement:
        things = 1 if setting.subject == "animal" else 0.9
        kind = self._kind({"person": 0.4, "animal": 0.6, "thing": things, "place": 1})
        verb = self._verb("transitive", kind if self._chance(0.4) else "", room)
        number = setting.object_number if kind in ("person", "animal") else None
        slot = Slot(kind, lexicon.ACCUSATIVE, number, clause=setting.clause)
        return verb, self._noun_phrase(room + 1 - length(verb.english), slot), NOTHING

    def _frame_dative(self, room: int, setting: Setting) -> Complement:
        verb = self._verb("dative", setting.subject, room)
        person = setting.subject == "thing" or self._chance(0.8)
        slot = Slot("person" if person else "animal", DATIVE, clause=setting.clause)
        return verb, self._noun_phrase(room + 1 - length(verb.english), slot), NOTHING

    def _frame_partner(self, room: int, setting: Setting) -> Complement:
        kind = self._kind({"person": 0.5, "animal": 0.75, "thing": 1})
        verb = self._verb("prepositional", kind)
        assert verb.preposition is not None  # all verbs in these two tables have one
        phrase = self._prepositional(room, verb.preposition, kind, setting.clause, chain=True)
        return verb, phrase, NOTHING

    def _frame_ditransitive(self, room: int, setting: Setting) -> Complement:
        verb = self._verb("ditransitive", room=room - 2)
        room -= length(verb.english)  # its other words, and "to" (German has the dative)
        size = self._between(1, min(room - 1, 5))
        thing = self._noun_phrase(size, Slot("thing", lexicon.ACCUSATIVE, clause=False))
        person = self._noun_phrase(room - size, Slot("person", DATIVE, clause=setting.clause))
        english = [*thing.english, ("to", 0), *person.english]
        return verb, Phrase(english, person.german + thing.german), NOTHING

    def _frame_place(self, room: int, setting: Setting) -> Complement:
        phrase = self._place(room, setting.clause)
        name = "intransitive thing" if setting.subject == "thing" else "intransitive simple"
        return self._verb(name), phrase, NOTHING

    def _frame_motion(self, room: int, setting: Setting) -> Complement:
        ways = lexicon.PREPOSITIONS
        way = self._pick(ways["destination"]) if room > 2 else ways["city"][0]
        phrase = self._prepositional(room, way, "place", setting.clause)
        return self._verb("motion"), phrase, NOTHING

    def _frame_attempt(self, room: int, setting: Setting) -> Complement:
        verb = self._verb("trying")
        infinitive = Setting("person", SINGULAR, INFINITIVE, simple=setting.simple)
        return verb, NOTHING, set_off(self._predicate(room, infinitive).whole)

    def _frame_report(self, room: int, setting: Setting) -> Complement:
        return self._clausal("saying", self._link("that", "dass"), room, setting)

    def _frame_question(self, room: int, setting: Setting) -> Complement:
        return self._clausal("asking", self._link("whether", "ob"), room, setting)

    def _clausal(self, verbs: str, opening: Phrase, room: int, setting: Setting) -> Complement:
        verb = self._verb(verbs, room=room - 2)
        clause = self._dependent_clause(room - length(verb.english), setting.simple)
        return verb, NOTHING, set_off(join(opening, clause))

    # Noun phrases

    def _subject(self, room: int, kind: Kind, number: int | None = None) -> Phrase:
        if room == 1 and kind == "person" and self._chance(0.3):
            pronoun, own_number = self._pick(lexicon.PRONOUNS)
            if number in (None, own_number):
                return self._link(*pronoun)._replace(number=own_number)
        return self._noun_phrase(room, Slot(kind, lexicon.NOMINATIVE, number))

    def _noun_phrase(self, room: int, slot: Slot, chain: bool = True) -> Phrase:
        """Compose a noun phrase of ``room`` words, perhaps with "and"."""
        # The first of two has no attributes after it: they always belong to the last noun.
        if chain and room >= 3 and slot.number != SINGULAR and self._chance(0.12):
            left = self._between(1, min(room - 2, 4))
            slot = slot._replace(number=None)
            first = join(self._single(left, 0, slot), self._link("and", "und"))
            second = self._noun_phrase(room - left - 1, slot, chain=False)
            return join(first, second)._replace(number=PLURAL)
        spare = room - 2
        behind = 0
        if spare > 3 or (spare > 1 and self._chance(0.45)):
            behind = spare - self._between(0, min(2, spare - 2))
        return self._single(room - behind, behind, slot)

    def _prepositional(
        self, room: int, preposition: Preposition, kind: Kind, clause: bool, chain: bool = False
    ) -> Phrase:
        """Compose a prepositional phrase of exactly ``room`` English words."""
        slot = Slot(kind, preposition.case, clause=clause)
        phrase = self._noun_phrase(room - length(preposition.english), slot, chain)
        contracted = lexicon.CONTRACTIONS.get(f"{preposition.german} {phrase.german[0][0]}")
        if contracted:  # "im" for "in dem"
            opening = self._link(f"{preposition.english}_{phrase.english[0][0]}", contracted)
            return join(opening, Phrase(phrase.english[1:], phrase.german[1:]))
        return join(self._link(preposition.english, preposition.german), phrase)

    def _place(self, room: int, clause: bool) -> Phrase:
        """Compose a phrase of place; ``room`` is at least 2."""
        ways = lexicon.PREPOSITIONS["place"]
        ways = ways if room > 2 else ways[:2]  # in, near a city
        way = self._pick(ways, lambda way: length(way.english) <= max(room - 2, 1))
        return self._prepositional(room, way, "place", clause)

    def _single(self, room: int, behind: int, slot: Slot) -> Phrase:
        """Compose a noun, ``room`` - 1 words before it, ``behind`` words of attributes after it."""
        kind, case, number, clause = slot
        named = room == 1 and number != PLURAL  # names are singular
        if named and kind != "place" and number is None:
            named = kind == "person" and self._chance(0.75)
        if named:
            name = self._pick(lexicon.NAMES["place" if kind == "place" else "person"])
            return self._link(name, name)
        if number is None:
            number = PLURAL if room == 1 or self._chance(0.3) else SINGULAR
        noun = self._pick(lexicon.NOUNS[kind])
        column = noun.gender if number == SINGULAR else 3
        determiner, numeral, adjectives = self._opening(room - 1, number)
        phrase = join(
            numeral,
            self._adjectives(adjectives, kind, determiner.endings[case][column]),
            self._link(noun.english[number], noun.german[number][case]),
        )
        if article := determiner.english:
            if article == "a" and phrase.english[0][0][0] in "aeiouAEIOU":
                article = "an"
            phrase = join(self._link(article, determiner.german[case][column]), phrase)
        if behind and clause and self._chance(0.6):
            phrase = join(phrase, self._relative_clause(behind, kind, number, column))
        elif behind:
            phrase = join(phrase, self._attribute(behind, kind, clause))
        return phrase._replace(number=number)

    def _attribute(self, room: int, head: Kind, clause: bool) -> Phrase:
        """Compose a prepositional phrase that follows a noun; ``room`` is at least 2."""
        ways = lexicon.PREPOSITIONS
        choice = self._random()
        if head in ("person", "animal") and choice < 0.5:
            return self._prepositional(room, self._pick(ways["belonging"]), "thing", clause)
        if head != "place" and choice > 0.8:
            return self._prepositional(room, ways["origin"][0], "place", clause)
        return self._place(room, clause)

    def _opening(self, room: int, number: int) -> tuple[lexicon.Determiner, Phrase, int]:
        """Pick determiner and numeral; also return the number of words left for adjectives."""
        if number == SINGULAR:
            return self._pick(lexicon.DETERMINERS["singular"]), NOTHING, room - 1
        if room == 0 or (room < 3 and self._chance(0.15)):
            return lexicon.NO_ARTICLE, NOTHING, room
        choice = self._random()
        if choice < 0.2:
            return lexicon.NO_ARTICLE, self._fixed("numeral"), room - 1
        if choice < 0.4 and room > 1:
            return self._pick(lexicon.DETERMINERS["countable"]), self._fixed("numeral"), room - 2
        return self._pick(lexicon.DETERMINERS["plural"]), NOTHING, room - 1

    def _adjectives(self, words: int, kind: Kind, ending: str) -> Phrase:
        """Compose adjectives in their usual order, perhaps after an intensifier."""
        phrase = NOTHING
        classes = self._pick(list(combinations(lexicon.ADJECTIVES[kind], words)))
        if words > 1 and self._chance(0.3):
            phrase = self._fixed("intensifier")
            classes = classes[:-1]  # never the last class alone: nobody is "very German"
        for adjectives in classes:
            adjective = self._pick(adjectives)
            phrase = join(phrase, self._link(adjective.english, adjective.stem + ending))
        return phrase
