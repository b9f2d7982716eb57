"""Clauses and sentences of the embedded grammar.

Three rules keep each language a function of the other. A relative clause, a prepositional phrase
or an adverb of time belongs to the nearest noun or clause before it, so nothing of an outer clause
follows an inner one where German would place it differently. Inside relative clauses there are no
adverbial clauses (``simple``), which could be read as belonging outside. And where a German
relative pronoun does not tell subject from object ("die Frau , die das Kind sieht"), the two differ
in number, and the verb decides.
"""

from seq2seq.data.grammar import lexicon
from seq2seq.data.grammar.forms import Case, Kind, Noun, Number, Preposition, Verb
from seq2seq.data.grammar.nominals import ANIMAL, PERSON, PLACE, PLURAL, SINGULAR, THING
from seq2seq.data.grammar.phrases import NOTHING, Phrase, join, set_off
from seq2seq.data.grammar.predicates import INFINITIVE, Predicates, Tense


class Composer(Predicates):
    """Composes sentences and clauses of exactly ``room`` English words."""

    def sentence(self, room: int) -> Phrase:
        """One main clause, or several in co-ordination; no full stop; ``room`` is at least 2."""
        if room >= 9 and self.share() * 30 < room - 8:
            coordinator = self.linked(self.pick(lexicon.COORDINATORS))
            rest = room - len(coordinator.english)
            left = self.between(4, rest - 3)
            return join(self.sentence(left), coordinator, self.sentence(rest - left))
        return self.main_clause(room)

    def main_clause(self, room: int) -> Phrase:
        """A verb-second clause: whatever comes first, one German verb form stands next."""
        kind = self.subject_kind()
        tense = self.tense(min(room - 4, 2), kind)
        front, timed = NOTHING, False
        choice = self.share()
        if room >= 9 and choice < (0.5 if room > 16 else 0.2):
            size = self.between(4, min(room - 5, 15))
            clause = self.adverbial_clause(size, tense, purpose=False)
            comma = self.link((",",), (",",))
            front = Phrase(clause.english + comma.english, clause.german[1:-1] + comma.german)
        elif room >= 5 and choice > 0.85:
            front, timed = self.linked(self.fitting(tense.times, room - 2 - tense.words)), True
        elif room >= 7 and choice > 0.75:
            front = self.place(self.between(2, min(room - 4, 5)), clause=False)
        room -= len(front.english)
        subject = self.subject(self.between(1, min(room - 1 - tense.words, 7)), kind)
        room -= len(subject.english)
        predicate = self.predicate(room, subject.number, kind, tense, timed=timed)
        finite = predicate.verb.finite
        if front is NOTHING:
            opening = subject.german + finite
        else:
            opening = front.german + finite + subject.german
        return Phrase(
            front.english + subject.english + predicate.english,
            opening + predicate.middle + predicate.verb.closing + predicate.after,
        )

    def dependent_clause(self, room: int, simple: bool, like: Tense | None = None) -> Phrase:
        """A clause as it follows a conjunction: German ends it with the verb."""
        kind = self.subject_kind()
        subject = self.subject(self.between(1, min(room - 1, 6)), kind)
        room -= len(subject.english)
        predicate = self.predicate(room, subject.number, kind, simple=simple, like=like)
        return join(subject, predicate.subordinate)

    def adverbial_clause(self, room: int, tense: Tense, purpose: bool) -> Phrase:
        """A conjunction and its clause, or (``purpose``) perhaps "in order to", "um ... zu"."""
        if purpose and self.chance(0.2):
            opening = self.link(("in", "order"), ("um",))
            predicate = self.predicate(room - 2, SINGULAR, PERSON, INFINITIVE)
            return set_off(join(opening, predicate.subordinate))
        opening = self.linked(self.fitting(lexicon.CONJUNCTIONS, room - 2))
        clause = self.dependent_clause(room - len(opening.english), simple=False, like=tense)
        return set_off(join(opening, clause))

    def relative_clause(self, room: int, head: Noun, number: Number) -> Phrase:
        """The pronoun has the head's gender and number, and a case of its own."""
        animate = head.kind in (PERSON, ANIMAL)
        column = head.column(number)
        contrast = None
        if animate and column != 0:  # "die" and "das" may be subject or object
            contrast = SINGULAR if number is PLURAL else PLURAL
        choice = self.share()
        if room == 2 or room > 10 or choice < (0.5 if animate else 0.2):
            pronoun = self._pronoun("who" if head.kind is PERSON else "that", 0, column)
            kind = head.kind if animate else THING
            predicate = self.predicate(room - 1, number, kind, simple=True, object_number=contrast)
            return set_off(join(pronoun, predicate.subordinate))
        verb, preposition = self._verb_without_object(room, head.kind, choice > 0.75)
        if preposition:
            pronoun = join(
                self.link(preposition.english, (preposition.german,)),
                self._pronoun("whom" if head.kind is PERSON else "which", preposition.case, column),
            )
        else:
            pronoun = self._pronoun("whom" if head.kind is PERSON else "that", verb.case, column)
        if preposition or verb.case is Case.DATIVE:
            contrast = None
        return set_off(join(pronoun, self._gap(room - len(pronoun.english), verb, contrast)))

    def _gap(self, room: int, verb: Verb, number: Number | None) -> Phrase:
        """The rest of a relative clause whose pronoun is the object: subject and verb."""
        room -= len(verb.english)
        kind = PERSON if self.chance(0.75) else ANIMAL
        tense = self.tense(room - 1, kind)
        room -= tense.words
        adverb = NOTHING
        if room > 1 and self.chance(0.2):
            adverb = self.linked(self.pick(lexicon.ADVERBS))
            room -= 1
        subject = self.subject(room, kind, number)
        group = self.verb_group(verb, subject.number, tense, adverb.english)
        return Phrase(subject.english + group.english, subject.german + adverb.german + group.final)

    def _verb_without_object(
        self, room: int, head: Kind, prepositional: bool
    ) -> tuple[Verb, Preposition | None]:
        """A verb whose object, or prepositional object, the head of a relative clause can be."""
        if prepositional and room >= 4:
            if head is PLACE:
                return self.pick(lexicon.INTRANSITIVE_SIMPLE), self.pick(lexicon.IN_WHICH)
            things = head is THING
            verb = self.pick(lexicon.PREPOSITIONAL_OF_THINGS if things else lexicon.PREPOSITIONAL)
            return verb, verb.preposition
        verbs = lexicon.TRANSITIVE
        if head is THING and self.chance(0.4):
            verbs = lexicon.TRANSITIVE_OF_THINGS
        elif head is PERSON and self.chance(0.4):
            verbs = lexicon.TRANSITIVE_OF_PERSONS
        elif head in (PERSON, ANIMAL) and self.chance(0.3):
            verbs = lexicon.DATIVE_VERBS
        return self.verb_of(verbs, room - 2), None

    def _pronoun(self, english: str, case: int, column: int) -> Phrase:
        return self.link((english,), (lexicon.RELATIVE_PRONOUNS[case][column],))
