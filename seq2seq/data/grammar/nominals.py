"""Noun phrases: determiners, numerals, adjectives, nouns, and what may stand around them."""

from abc import ABC, abstractmethod

from seq2seq.data.grammar import lexicon
from seq2seq.data.grammar.forms import Case, Determiner, Kind, Noun, Number, Preposition
from seq2seq.data.grammar.phrases import NOTHING, Draw, Phrase, join

PERSON, ANIMAL, THING, PLACE = Kind
SINGULAR, PLURAL = Number


class Nominals(Draw, ABC):
    """Composes noun phrases and prepositional phrases of exactly ``room`` English words.

    ``clause`` allows relative clauses inside, ``chain`` co-ordination with "and". The first part
    of a co-ordination has no attributes behind it, so that they always belong to the last noun.
    """

    @abstractmethod
    def relative_clause(self, room: int, head: Noun, number: Number) -> Phrase:
        """A relative clause to the noun ``head``; ``room`` is at least 2."""

    def subject(self, room: int, kind: Kind, number: Number | None = None) -> Phrase:
        """A noun phrase in the nominative, or a pronoun."""
        if room == 1 and kind is PERSON and self.chance(0.3):
            english, german, own_number = self.pick(lexicon.PRONOUNS)
            if number in (None, own_number):
                return self.link((english,), (german,))._replace(number=own_number)
        return self.noun_phrase(room, kind, Case.NOMINATIVE, number)

    def subject_kind(self) -> Kind:
        """The kind of a subject."""
        choice = self.share()
        return PERSON if choice < 0.65 else ANIMAL if choice < 0.87 else THING

    def noun_phrase(
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
        """A noun phrase of ``room`` words, and before them the preposition, if any."""
        if chain and room >= 3 and number is not SINGULAR and self.chance(0.12):
            left = self.between(1, min(room - 2, 4))
            first = self._single(left, 0, kind, case, None, preposition, clause)
            second = self.noun_phrase(room - left - 1, kind, case, clause=clause, chain=False)
            return join(first, self.link(("and",), ("und",)), second)._replace(number=PLURAL)
        spare = room - 2
        behind = 0
        if spare > 3 or (spare > 1 and self.chance(0.45)):
            behind = spare - self.between(0, min(2, spare - 2))
        return self._single(room - behind, behind, kind, case, number, preposition, clause)

    def place(self, room: int, clause: bool) -> Phrase:
        """Where something is or happens; ``room`` is at least 2."""
        if room == 2:
            return self.prepositional(room, self.pick(lexicon.AT_CITIES), PLACE, clause)
        preposition = self.pick(lexicon.AT_PLACES)
        while len(preposition.english) > room - 2:
            preposition = self.pick(lexicon.AT_PLACES)
        return self.prepositional(room, preposition, PLACE, clause)

    def prepositional(
        self, room: int, preposition: Preposition, kind: Kind, clause: bool, chain: bool = False
    ) -> Phrase:
        """Preposition and noun phrase, together ``room`` words."""
        return self.noun_phrase(
            room - len(preposition.english),
            kind,
            preposition.case,
            preposition=preposition,
            clause=clause,
            chain=chain,
        )

    def _attribute(self, room: int, head: Kind, clause: bool) -> Phrase:
        """A prepositional phrase behind a noun; ``room`` is at least 2."""
        choice = self.share()
        if head in (PERSON, ANIMAL) and choice < 0.5:
            return self.prepositional(room, self.pick(lexicon.OF_BELONGINGS), THING, clause)
        if head is not PLACE and choice > 0.8:
            return self.prepositional(room, lexicon.OF_ORIGIN, PLACE, clause)
        return self.place(room, clause)

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
        if room == 1 and number is not PLURAL:
            # A bare singular can only be a name.
            if kind is PLACE:
                return self._named(lexicon.CITIES, preposition)
            if number is SINGULAR or (kind is PERSON and self.chance(0.75)):
                return self._named(lexicon.NAMES, preposition)
        if number is None:
            number = PLURAL if room == 1 or self.chance(0.3) else SINGULAR
        noun = self.pick(lexicon.NOUNS[kind])
        column = noun.column(number)
        determiner, count, adjectives = self._opening(room - 1, number)
        phrase = join(
            count,
            self._adjectives(adjectives, kind, determiner.endings[case][column]),
            self.link((noun.english[number],), (noun.german[number][case],)),
        )
        form = determiner.german[case][column]
        phrase = self._with_preposition(preposition, determiner, form, phrase)
        if behind:
            if clause and self.chance(0.6):
                phrase = join(phrase, self.relative_clause(behind, noun, number))
            else:
                phrase = join(phrase, self._attribute(behind, kind, clause))
        return phrase._replace(number=number)

    def _named(self, names: tuple[str, ...], preposition: Preposition | None) -> Phrase:
        name = self.pick(names)
        phrase = self.link((name,), (name,))
        return self._with_preposition(preposition, lexicon.NO_ARTICLE, "", phrase)

    def _opening(self, room: int, number: Number) -> tuple[Determiner, Phrase, int]:
        """Determiner, numeral, and how many of the ``room`` words are left for adjectives."""
        if number is SINGULAR:
            return self.pick(lexicon.SINGULAR_DETERMINERS), NOTHING, room - 1
        if room == 0 or (room < 3 and self.chance(0.15)):
            return lexicon.NO_ARTICLE, NOTHING, room
        choice = self.share()
        if choice < 0.2:
            return lexicon.NO_ARTICLE, self.linked(self.pick(lexicon.NUMERALS)), room - 1
        if choice < 0.4 and room > 1:
            determiner = self.pick(lexicon.COUNTABLE_DETERMINERS)
            return determiner, self.linked(self.pick(lexicon.NUMERALS)), room - 2
        return self.pick(lexicon.PLURAL_DETERMINERS), NOTHING, room - 1

    def _adjectives(self, words: int, kind: Kind, ending: str) -> Phrase:
        """Up to three adjectives in their order, the first perhaps intensified."""
        phrase = NOTHING
        groups = self.pick(lexicon.ADJECTIVE_CLASSES[kind][words])
        if words > 1 and self.chance(0.3):
            phrase = self.linked(self.pick(lexicon.INTENSIFIERS))
            groups = groups[:-1]  # never the last class alone: nobody is "very German"
        for group in groups:
            adjective = self.pick(lexicon.ADJECTIVES[kind][group])
            phrase = join(phrase, self.link((adjective.english,), (adjective.stem + ending,)))
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
                return join(self.link((*preposition.english, article), (contracted,)), rest)
        if article:
            rest = join(self.link((article,), (form,)), rest)
        if preposition:
            rest = join(self.link(preposition.english, (preposition.german,)), rest)
        return rest
