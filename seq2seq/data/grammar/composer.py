"""Compose random phrases, clauses and lines of text in both languages at once.

Two rules make the German side a function of the English one. (1) A relative clause, a prepositional
phrase, an adverb of time or a second verb ("and sleeps") belongs to the nearest noun or clause
before it; a second subject and verb begin a new main clause. So no part of an outer clause follows
an inner clause where German would place it differently. (2) Relative clauses contain no adverbial
clauses (``simple``), because these could also belong to the outer clause.
"""

import random
from collections.abc import Callable, Sequence
from itertools import combinations, count
from typing import NamedTuple, TypeVar

from seq2seq.data.grammar import lexicon
from seq2seq.data.grammar.lexicon import (
    ACCUSATIVE,
    BE,
    DATIVE,
    NOMINATIVE,
    PLURAL,
    SINGULAR,
    SPEAKER,
    Kind,
    Preposition,
    Verb,
    length,
)

T = TypeVar("T")
Tokens = list[tuple[str, int]]
"""(Word, link) pairs: words of both sides with the same link translate each other; 0: no link."""


class Phrase(NamedTuple):
    """A phrase in both languages; a verb agrees with its ``number``."""

    english: Tokens
    german: Tokens
    number: int = SINGULAR
    light: bool = False
    """Whether it is a pronoun, which precedes all else in German."""


NOTHING = Phrase([], [])
COMMA = Phrase([], [(",", 0)])
"""A comma that only German needs; _merge_commas later drops superfluous ones."""


def join(*phrases: Phrase) -> Phrase:
    return Phrase(
        [token for phrase in phrases for token in phrase.english],
        [token for phrase in phrases for token in phrase.german],
    )


class Tense(NamedTuple):
    """A tense or modal verb, the adverbs of time that fit it, and how many words it adds."""

    times: str
    words: int = 0
    modal: tuple[tuple[str, str], ...] = ()


PRESENT, PAST, INFINITIVE = Tense("time present"), Tense("time past"), Tense("", 1)
ORDER = Tense("time future")
PROGRESSIVE = Tense("time present", 1), Tense("time past", 1)
EVENTFUL = (*PROGRESSIVE, ORDER)
FUTURE, *MODAL = (
    Tense("time future", length(modal[0][0]), modal)
    for modal in (*lexicon.MODALS["future"], *lexicon.MODALS[""])
)


class Setting(NamedTuple):
    """What a predicate agrees with, and what it may have."""

    subject: Kind
    number: int
    tense: Tense
    timed: bool = False  # an adverb of time stands before it
    simple: bool = False  # no clause may be adverbial
    clause: bool = True  # other clauses may follow
    asks: bool = False  # it is that of a question
    joined: bool = False  # it is one of two
    denied: bool = False  # it has "not"


class Slot(NamedTuple):
    """What decides the form of a noun phrase."""

    kind: Kind
    case: int
    number: int | None = None  # any
    clause: bool = True  # the noun may have a relative clause
    article: str = ""  # beginning of the name of its table of determiners
    subject: int = SINGULAR  # number of the subject, which an object does not repeat


class Complement(NamedTuple):
    """A verb, its objects, what follows "nicht", and what follows the last verb in German."""

    verb: Verb
    objects: tuple[Phrase, ...] = ()
    behind: Phrase = NOTHING
    inner: Phrase = NOTHING


class Predicate(NamedTuple):
    """All of a clause but its subject; in questions, the English ``lead`` precedes the subject."""

    lead: Tokens
    english: Tokens
    finite: Tokens
    """German verb that comes second in a main clause; then come the three others."""
    middle: Tokens
    rest: Tokens
    end: Tokens
    """``rest`` and ``finite`` in the order of dependent clauses."""
    after: Tokens

    def main(self, first: Phrase, second: Phrase = NOTHING, asks: bool = False) -> Phrase:
        """Build a main clause; ``second`` follows the German verb, and with ``asks`` the lead."""
        between = self.lead + second.english if asks else second.english + self.lead
        german = first.german + self.finite + second.german + self.middle + self.rest + self.after
        return Phrase(first.english + between + self.english, german)

    def dependent(self, subject: Phrase = NOTHING) -> Phrase:
        german = subject.german + self.middle + self.end + self.after
        return Phrase(subject.english + self.lead + self.english, german)


SUBJECTS: dict[Kind, float] = {"person": 0.68, "animal": 0.87, "thing": 1}
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
        sides = ([(word, link) for word in side.split("_") if word] for side in (english, german))
        return Phrase(*sides)

    def _groups(self, english: str, german: str) -> Phrase:
        """Build a phrase of groups, with spaces between them, that translate each other in turn."""
        return join(*map(self._link, english.split(), german.split()))

    def _kind(self, bounds: dict[Kind, float]) -> Kind:
        """Pick a kind of noun by cumulative probabilities."""
        choice = self._random()
        return next(kind for kind, bound in bounds.items() if choice < bound)

    def _fixed(self, name: str, room: int = 9, least: int = 1) -> Phrase:
        """Pick a phrase of the lexicon, of ``least`` to ``room`` words."""
        phrases = lexicon.PHRASES[name]
        return self._groups(*self._pick(phrases, lambda one: least <= length(one[0]) <= room))

    def _verb(self, name: str, kind: str = "", room: int = 9, tense: Tense = PRESENT) -> Verb:
        """Pick a verb of at most max(room, 1) words, from those for ``kind`` if there are some."""
        verbs = lexicon.VERBS.get(f"{name} {kind}", lexicon.VERBS[name])
        least = tense in EVENTFUL  # a verb with -ing
        return self._pick(
            verbs, lambda one: len(one.ing) >= least and length(one.english) <= max(room, 1)
        )

    # Sentences and clauses

    def line(self, room: int) -> Phrase:
        """Compose a sentence; now and then it has no full stop, or another one follows."""
        if room >= 9 and self._chance(0.08):
            left = self._between(4, room - 4)
            return join(self._sentence(left), self._sentence(room - left))
        return self._sentence(room, closed=room < 4 or self._chance(0.96))

    def _sentence(self, room: int, closed: bool = True) -> Phrase:
        """Compose a statement, question or request; its mark is one of the words."""
        choice = self._random() if 4 <= room < 25 else 0.5
        compose, mark = self._clauses, "."
        if choice < 0.2:
            compose, mark = self._question, "?"
        elif choice > 0.96:
            compose = self._request
        end = self._link(mark, mark) if closed else NOTHING
        return join(compose(room - len(end.english)), end)

    def _clauses(self, room: int, first: bool = True) -> Phrase:
        """Compose main clauses, one or more, without full stop; ``room`` is at least 2."""
        if first and room >= 7 and self._random() * 30 < room - 5:
            coordinator = self._fixed("coordinator")
            rest = room - len(coordinator.english)
            left = self._between(2, rest - 3)
            right = self._clauses(rest - left, coordinator.german[-1][0] != "deshalb")
            return join(self._clauses(left), coordinator, right)
        return self._main_clause(room, first)

    def _main_clause(self, room: int, first: bool) -> Phrase:
        """Compose a main clause of ``room`` English words; the German finite verb comes second."""
        if first and room >= 4 and self._chance(0.04):
            return self._existence(room)
        kind = self._kind(SUBJECTS)
        tense = self._tense(min(room - 4, 2), kind)
        front, timed = NOTHING, False
        choice = self._random() if first else 0.5
        if room >= 9 and choice < (0.5 if room > 16 else 0.2) and first:
            size = self._between(4, min(room - 5, 15))
            comma = self._link(",", ",") if self._chance(0.75) else COMMA
            front = join(self._adverbial_clause(size, tense, purpose=False), comma)
        elif room >= 5 and choice > 0.85:
            front = self._fixed(tense.times, room - 2 - tense.words)
            timed = True
        elif room >= 7 and choice > 0.77:
            front = self._place(self._between(2, min(room - 4, 5)), clause=False)
        elif room >= 4 and choice > 0.74:
            front = self._fixed("front")
        room -= len(front.english)
        setting = Setting(kind, SINGULAR, tense, timed)
        subject, predicate = self._clause(room, min(room - 1 - tense.words, 7), setting)
        if front.german or not first:
            return predicate.main(front, subject)
        return predicate.main(subject)

    def _existence(self, room: int, asks: bool = False) -> Phrase:
        """Compose "there is" and what there is; ``room`` is at least 4."""
        slot = Slot(self._pick(("person", "animal", "thing")), ACCUSATIVE, article="exist ")
        noun = self._noun_phrase(room - 2, slot, chain=False)
        tense = PRESENT if self._chance(0.7) else PAST
        setting = Setting("it", noun.number, tense, asks=asks)
        predicate = self._verb_phrase(lexicon.EXIST, setting, [])
        there = self._link("there", "es")
        clause = predicate.main(*((NOTHING, there, True) if asks else (there,)))
        return join(clause, noun)

    def _question(self, room: int) -> Phrase:
        """Compose a question of one clause without its mark; ``room`` is at least 3."""
        kind = self._kind(SUBJECTS)
        tense = self._tense(room - 4, kind)
        choice = self._random()
        if choice < 0.1:
            who = self._link("who", "wer")
            return self._predicate(room - 1, Setting("person", SINGULAR, tense)).main(who)
        if choice < 0.2 and room >= 4:
            return self._existence(room, asks=True)
        if choice < 0.35 and room < 10:
            opening, subject, predicate = self._identity(room, kind)
        elif choice < 0.5 and 4 <= room < 12:
            kind = self._pick(("person", "thing"))
            verb = self._verb_without_object(room - 2, kind, prepositional=False)
            word = "what was" if kind == "thing" else f"who {('wen', 'wem')[verb.case == DATIVE]}"
            opening = self._link(*word.split())
            if room > 4 and self._chance(0.3):
                opening = self._single(2, 0, Slot(kind, verb.case, article="which "))
            subject, predicate = self._gap(room - len(opening.english), verb, asks=True)
        else:
            opening = self._fixed("question") if room > 3 and self._chance(0.5) else NOTHING
            room -= len(opening.english)
            most = min(room - 2 - tense.words, 7)
            setting = Setting(kind, SINGULAR, tense, asks=True)
            subject, predicate = self._clause(room, most, setting)
        return predicate.main(opening, subject, asks=True)

    def _identity(self, room: int, kind: Kind) -> tuple[Phrase, Phrase, Predicate]:
        """Compose "where", "who" or "what", a subject, and "is"."""
        subject, kind = self._subject(room - 2, kind)
        tense = PRESENT if self._chance(0.7) else PAST
        return (
            self._fixed("be"),
            subject,
            self._verb_phrase(BE, Setting(kind, subject.number, tense), []),
        )

    def _request(self, room: int) -> Phrase:
        """Compose an order, perhaps with "please"."""
        please = self._fixed("please") if room > 2 and self._chance(0.5) else NOTHING
        setting = Setting("person", lexicon.LISTENER, ORDER)
        return self._predicate(room - len(please.english), setting).main(please)

    def _clause(self, room: int, most: int, like: Setting) -> tuple[Phrase, Predicate]:
        """Compose a subject of at most ``most`` words, and the rest of its clause."""
        subject, kind = self._subject(self._between(1, most), like.subject)
        setting = like._replace(subject=kind, number=subject.number)
        return subject, self._predicate(room - len(subject.english), setting)

    def _dependent(
        self, room: int, simple: bool, like: Tense | None = None
    ) -> tuple[Phrase, Predicate]:
        """Compose the clause that follows a conjunction; ``room`` is at least 2."""
        kind = self._kind(SUBJECTS)
        tense = self._tense(room - 2, kind, like)
        setting = Setting(kind, SINGULAR, tense, simple=simple)
        return self._clause(room, min(room - 1 - tense.words, 6), setting)

    def _adverbial_clause(self, room: int, tense: Tense, purpose: bool) -> Phrase:
        """Compose a conjunction and its clause; ``purpose`` allows "in order to", "um ... zu"."""
        if purpose and self._chance(0.2):
            predicate = self._predicate(room - 2, Setting("person", SINGULAR, INFINITIVE))
            return predicate.dependent(self._link("in_order", "um"))
        opening = self._fixed("conjunction", room - 2)
        if opening.english[0][0] == "when" and tense.times == "time past":
            opening = self._link("when", "als")
        subject, predicate = self._dependent(room - len(opening.english), False, tense)
        return predicate.dependent(join(opening, subject))

    def _relative_clause(self, room: int, kind: Kind, column: int) -> Phrase:
        """Compose a relative clause for a noun; ``column`` has the forms of its pronoun."""
        animate = kind in ("person", "animal")

        def pronoun(words: str, case: int) -> Phrase:
            return self._link(self._pick(words.split()), lexicon.RELATIVE[case][column])

        choice = self._random()
        if room == 2 or room > 10 or choice < (0.5 if animate else 0.2):
            subject: Kind = kind if animate else "thing"
            tense = self._tense(room - 2, subject)
            setting = Setting(subject, int(column == 3), tense, simple=True)
            words = "who who that" if kind == "person" else "that that which"
            clause = self._predicate(room - 1, setting).dependent(pronoun(words, NOMINATIVE))
            return join(COMMA, clause, COMMA)
        verb = self._verb_without_object(room, kind, choice > 0.75)
        if verb.preposition:
            opening = self._link(verb.preposition.english, verb.preposition.german)
            opening = join(opening, pronoun("whom" if kind == "person" else "which", verb.case))
        elif self._chance(0.2):  # "the man I see"
            opening = Phrase([], [(lexicon.RELATIVE[verb.case][column], 0)])
        else:
            words = "whom who that that" if kind == "person" else "that that which"
            opening = pronoun(words, verb.case)
        who, predicate = self._gap(room - len(opening.english), verb)
        return join(COMMA, predicate.dependent(join(opening, who)), COMMA)

    def _gap(self, room: int, verb: Verb, asks: bool = False) -> tuple[Phrase, Predicate]:
        """Compose subject and verb of a clause that begins with the object."""
        room -= length(verb.english)
        kind: Kind = "person" if self._chance(0.75) else "animal"
        tense = self._tense(room - 1 - asks, kind)
        if tense in EVENTFUL and not verb.ing:
            tense = PRESENT
        room -= tense.words + (asks and tense.words != 1)
        adverb = NOTHING
        if room > 1 and self._chance(0.2):
            adverb = self._fixed("adverb person")
        subject, _ = self._subject(room - len(adverb.english), kind)
        setting = Setting(kind, subject.number, tense, asks=asks)
        predicate = self._verb_phrase(verb, setting, adverb.english)
        return subject, predicate._replace(middle=adverb.german)

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

    def _predicate(self, room: int, setting: Setting) -> Predicate:
        """Compose a verb with its objects and adverbs, perhaps with "not"."""
        # German order after the finite verb or subject: pronouns, time, adverb, dative, accusative,
        # "nicht", prepositional phrase or state, rest of the verb, clauses.
        kind, number, tense, timed, simple, may_continue, asks, joined, _ = setting
        if room > 4 and tense in (PRESENT, PAST) and not asks and not joined and self._chance(0.08):
            return self._two_predicates(room, setting)
        room -= tense.words
        be = tense not in EVENTFUL and room > 1 + asks * (tense.words > 1) and self._chance(0.2)
        helped = tense.words == 1 or (be and not tense.modal)
        denied = room > 3 and tense is not INFINITIVE and self._chance(0.16)
        word = tense.modal[0][0] if tense.modal else ""
        am = number == SPEAKER and helped and not tense.modal
        short = denied and (word == "can" or (self._chance(0.4) and word != "may" and not am))
        room -= (denied or asks) - helped * (denied or asks) + denied - short
        adverb = time = clause = NOTHING
        if not simple and room >= 5 + be and self._chance(0.6 if room > 11 else 0.12):
            size = self._between(4, min(room - 1 - be, 16))
            comma = self._link(",", ",") if size > 4 and self._chance(0.15) else COMMA
            size -= len(comma.english)
            clause = self._adverbial_clause(size, tense, purpose=kind == "person")
            clause = join(comma, clause, COMMA)
            room -= len(clause.english)
        if room > 1 + be and not denied and self._chance(0.2):
            adverb = self._fixed("adverb person" if kind in ("person", "animal") else "adverb")
            room -= 1
        if tense.times and not timed and 1 + be < room < 10 and self._chance(0.2):
            time = self._fixed(tense.times, room - 1 - be)
            room -= len(time.english)
        may_continue = may_continue and not time.english
        excluded = {"ditransitive"} if denied else set()
        excluded |= set() if may_continue else {*CLAUSAL_FRAMES}
        excluded |= {"dative"} if tense in PROGRESSIVE else set()
        frames = lexicon.FRAMES["be" if be else kind][min(room - 1, 4) if room < 10 else 5]
        frame = self._pick(frames, lambda frame: frame not in excluded)
        compose: Callable[[int, Setting], Complement] = getattr(self, f"_frame_{frame}")
        setting = setting._replace(clause=may_continue, denied=denied)
        verb, objects, behind, inner = compose(room - 1, setting)
        opening = join(*objects, behind).german[:1] if denied else []
        none = bool(opening) and opening[0][0].startswith("kein")
        link = opening[0][1] if none else next(self._links)
        parts = self._verb_phrase(verb, setting, adverb.english, link, short)
        nicht = [("nicht", parts.lead[0][1] if short else link)] if denied and not none else []
        light = join(*(one for one in objects if one.light))
        heavy = join(*(one for one in objects if not one.light))
        return parts._replace(
            english=parts.english + join(*objects, behind, inner, time, clause).english,
            middle=join(light, time, adverb, heavy).german + nicht + behind.german,
            after=inner.german + clause.german,
        )

    def _two_predicates(self, room: int, setting: Setting) -> Predicate:
        """Join two predicates by "and"; the first has no clauses."""
        left = self._between(1, min(room - 3, 7))
        one = self._predicate(left, setting._replace(joined=True, simple=True, clause=False))
        two = self._predicate(room - left - 1, setting._replace(joined=True))
        link = self._link("and", "und")
        return Predicate(
            one.lead,
            one.english + link.english + two.lead + two.english,
            one.finite,
            one.middle,
            one.rest + link.german + two.finite + two.middle + two.rest,
            one.end + link.german + two.middle + two.end,
            two.after,
        )

    def _tense(self, room: int, kind: Kind, like: Tense | None = None) -> Tense:
        """Pick a tense of at most ``room`` more words; ``like`` is that of the clause above."""
        choice = self._random()
        past = like is not None and like.times == "time past"
        if room > 0 and choice < 0.08:
            return PROGRESSIVE[past or (like is None and choice < 0.03)]
        if past:
            return PAST
        if room > 0 and choice > 0.72:
            tenses = MODAL if like else [FUTURE] * 3 + MODAL
            most = 1 if kind == "thing" else room  # no "want to" for things
            return self._pick(tenses, lambda tense: tense.words <= most)
        return PRESENT if like or choice < 0.4 or choice > 0.86 else PAST

    def _verb_phrase(
        self, verb: Verb, setting: Setting, adverb: Tokens, no: int = 0, short: bool = False
    ) -> Predicate:
        """Inflect the verb for its tense; ``no`` links "not", which is "n't" in ``short``."""
        number, tense = setting.number, setting.tense
        if tense is INFINITIVE:
            to = self._groups(*verb.to)
            return Predicate(
                [], to.english[:1] + adverb + to.english[1:], [], [], [], to.german, []
            )
        main = self._link(verb.english, verb.german)
        if tense.modal:
            modal = self._link(*tense.modal[number])
            base = [(word, modal.english[0][1]) for word in tense.modal[PLURAL][0].split("_")]
            base, words = base + main.english, modal.english + main.english
            finite, rest, end = modal.german, main.german, main.german + modal.german
        else:
            link, base = main.english[0][1], main.english
            one, second, last = (verb.past if tense.times == "time past" else verb.present)[number]
            if tense is ORDER:
                one, second = verb.english, verb.order
            elif tense in PROGRESSIVE:
                forms = BE.past if tense.times == "time past" else BE.present
                one = f"{forms[number][0]}_{verb.ing}"
            words, german, end = (
                [(word, link) for word in side.split("_")] for side in (one, second, last)
            )
            finite, rest = german[:1], german[1:]
        lead: Tokens = []
        if tense.words == 1 or (verb.english == "be" and not tense.modal):
            lead, words = words[:1], words[1:]
        elif setting.asks or setting.denied:
            do = "did" if tense.times == "time past" else "does" if number == SINGULAR else "do"
            lead, words = [(do, no if short else base[0][1])], base
        if short:
            word, link = lead[0]
            whole = word == "can" and self._chance(0.5)
            lead = [("cannot" if whole else lexicon.BEFORE_NOT.get(word, word) + "n't", link)]
        elif setting.denied:
            adverb = [("not", no), *adverb]
        return Predicate(lead, adverb + words, finite, [], rest, end, [])

    # Frames: each draws a verb and composes ``room`` words, those after the verb's first word

    def _frame_alone(self, room: int, setting: Setting) -> Complement:
        table = lexicon.VERBS
        verbs = table.get(f"intransitive {setting.subject}", table["intransitive"])
        least = setting.tense in EVENTFUL
        return Complement(
            self._pick(verbs, lambda one: len(one.ing) >= least and length(one.english) == room + 1)
        )

    def _frame_state(self, room: int, setting: Setting) -> Complement:
        *classes, _ = lexicon.ADJECTIVES[setting.subject]  # the last class cannot follow "is"
        adjective = self._pick(sum(classes, ()))
        state = self._link(adjective.english, adjective.german)
        if room == 2:
            state = join(self._fixed("degree"), state)
        elif room > 2:
            more = self._frame_state(room - 2, setting).behind
            state = join(more, self._link("and", "und"), state)
        return Complement(BE, behind=state)

    def _frame_identity(self, room: int, setting: Setting) -> Complement:
        kind = setting.subject if setting.subject in ("person", "animal") else "thing"
        number = PLURAL if setting.number == PLURAL else SINGULAR
        slot = Slot(kind, NOMINATIVE, number, setting.clause, "denied " * setting.denied)
        return Complement(BE, behind=self._noun_phrase(room, slot, chain=False))

    def _frame_object(self, room: int, setting: Setting) -> Complement:
        things = 1 if setting.subject == "animal" else 0.9
        kind = self._kind({"person": 0.35, "animal": 0.5, "thing": things, "place": 1})
        verb = self._verb("transitive", kind if self._chance(0.4) else "", room, setting.tense)
        return Complement(verb, (self._object(room, verb, kind, setting),))

    def _frame_dative(self, room: int, setting: Setting) -> Complement:
        verb = self._verb("dative", setting.subject, room, setting.tense)
        person = setting.subject in ("thing", "it") or self._chance(0.8)
        kind: Kind = "person" if person else "animal"
        return Complement(verb, (self._object(room, verb, kind, setting),))

    def _object(self, room: int, verb: Verb, kind: Kind, setting: Setting) -> Phrase:
        article = "denied " * setting.denied
        slot = Slot(kind, verb.case, None, setting.clause, article, setting.number)
        return self._noun_phrase(room + 1 - length(verb.english), slot, not article)

    def _frame_partner(self, room: int, setting: Setting) -> Complement:
        kind = self._kind({"person": 0.5, "animal": 0.75, "thing": 1})
        verb = self._verb("prepositional", kind, tense=setting.tense)
        assert verb.preposition is not None  # all verbs in these two tables have one
        slot = Slot(kind, verb.preposition.case, clause=setting.clause, subject=setting.number)
        return Complement(verb, behind=self._prepositional(room, verb.preposition, slot, True))

    def _frame_ditransitive(self, room: int, setting: Setting) -> Complement:
        verb = self._verb("ditransitive", "", room - 2, setting.tense)
        double = "_" not in verb.english and self._chance(0.4)  # "gives him the book"
        room += double - length(verb.english)  # its other words, and "to"; German has the dative
        size = self._between(1, min(room - 1, 5))
        thing = self._noun_phrase(size, Slot("thing", ACCUSATIVE, clause=False), chain=False)
        clause = setting.clause and not double
        slot = Slot("person", DATIVE, clause=clause, subject=setting.number)
        person = self._noun_phrase(room - size, slot)
        english = [*thing.english, ("to", 0), *person.english]
        english = person.english + thing.english if double else english
        return Complement(verb, (person._replace(english=[]), Phrase(english, thing.german)))

    def _frame_place(self, room: int, setting: Setting) -> Complement:
        name = f"intransitive {setting.subject if setting.subject in ('thing', 'it') else 'simple'}"
        return Complement(
            self._verb(name, tense=setting.tense), behind=self._place(room, setting.clause)
        )

    def _frame_where(self, room: int, setting: Setting) -> Complement:
        return Complement(BE, behind=self._place(room, setting.clause))

    def _frame_motion(self, room: int, setting: Setting) -> Complement:
        verb = self._verb("motion", tense=setting.tense)
        if room == 1 or (room == 2 and self._chance(0.4)):
            return Complement(verb, behind=self._fixed("home", room, room))
        ways = lexicon.PREPOSITIONS
        way = self._pick(ways["destination"]) if room > 2 else ways["city"][0]
        slot = Slot("place", way.case, clause=setting.clause)
        return Complement(verb, behind=self._prepositional(room, way, slot))

    def _frame_attempt(self, room: int, setting: Setting) -> Complement:
        verb = self._verb("trying", tense=setting.tense)
        infinitive = Setting("person", SINGULAR, INFINITIVE, simple=setting.simple)
        clause = self._predicate(room, infinitive).dependent()
        return Complement(verb, inner=join(COMMA, clause, COMMA))

    def _frame_report(self, room: int, setting: Setting) -> Complement:
        verb = self._verb("saying", "", room - 2, setting.tense)
        room -= length(verb.english)
        if self._chance(0.25):  # "I think he sleeps"
            subject, predicate = self._dependent(room + 1, setting.simple)
            clause = predicate.main(subject)
        else:
            subject, predicate = self._dependent(room, setting.simple)
            clause = predicate.dependent(join(self._link("that", "dass"), subject))
        return Complement(verb, inner=join(COMMA, clause, COMMA))

    def _frame_question(self, room: int, setting: Setting) -> Complement:
        verb = self._verb("asking", "", room - 2, setting.tense)
        room -= length(verb.english)
        choice = self._random()
        if choice < 0.15:
            tense = self._tense(room - 1, "person")
            inner = Setting("person", SINGULAR, tense, simple=setting.simple)
            opening, predicate = self._link("who", "wer"), self._predicate(room, inner)
        elif choice < 0.4 and room < 8:
            opening, subject, predicate = self._identity(room + 1, self._kind(SUBJECTS))
            opening = join(opening, subject)
        else:
            opening = self._fixed("asking")
            subject, predicate = self._dependent(room, setting.simple)
            opening = join(opening, subject)
        return Complement(verb, inner=join(COMMA, predicate.dependent(opening), COMMA))

    # Noun phrases

    def _subject(self, room: int, kind: Kind) -> tuple[Phrase, Kind]:
        if room == 1 and kind in lexicon.SUBJECTS and self._chance(0.6):
            (english, german), number = self._pick(lexicon.SUBJECTS[kind])
            phrase = self._link(english[0], german[0])._replace(number=number)
            return phrase, "it" if english[0] == "it" else kind
        place = kind == "thing" and self._chance(0.25)
        return self._noun_phrase(room, Slot("place" if place else kind, NOMINATIVE)), kind

    def _noun_phrase(self, room: int, slot: Slot, chain: bool = True) -> Phrase:
        """Compose a noun phrase of ``room`` words, perhaps a pronoun or, with ``chain``, "and"."""
        if chain and room == 1 and slot.case != NOMINATIVE and self._chance(0.4):
            if slot.kind == "person":
                (english, german), number = self._pick(
                    lexicon.PRONOUNS, lambda one: one[1] <= PLURAL or one[1] != slot.subject
                )
                return self._link(english[1], german[slot.case])._replace(number=number, light=True)
            if slot.kind == "thing" and slot.case == ACCUSATIVE:
                return self._link("it", "es")._replace(light=True)
        # The first of two has no attributes after it: they always belong to the last noun.
        if chain and room >= 3 and self._chance(0.12):
            left = self._between(1, min(room - 2, 4))
            first = join(self._single(left, 0, slot), self._link("and", "und"))
            second = self._noun_phrase(room - left - 1, slot, chain=self._chance(0.2))
            return join(first, second)._replace(number=PLURAL)
        spare = room - 2
        behind = 0
        if spare > 3 or (spare > 1 and self._chance(0.45)):
            behind = spare - self._between(0, min(2, spare - 2))
        return self._single(room - behind, behind, slot)

    def _prepositional(
        self, room: int, preposition: Preposition, slot: Slot, chain: bool = False
    ) -> Phrase:
        """Compose a prepositional phrase of exactly ``room`` English words."""
        phrase = self._noun_phrase(room - length(preposition.english), slot, chain)
        contracted = lexicon.CONTRACTIONS.get(f"{preposition.german} {phrase.german[0][0]}")
        if contracted:  # "im" for "in dem"
            opening = self._link(f"{preposition.english}_{phrase.english[0][0]}", contracted)
            return join(opening, Phrase(phrase.english[1:], phrase.german[1:]))
        return join(self._link(preposition.english, preposition.german), phrase)

    def _place(self, room: int, clause: bool) -> Phrase:
        """Compose a phrase of place."""
        if room == 1 or (room == 2 and self._chance(0.3)):
            return self._fixed("here", room, room)
        surface = room > 2 and self._chance(0.3)
        ways = lexicon.PREPOSITIONS["surface" if surface else "place"]
        ways = ways if room > 2 else ways[:2]  # in, near a city
        way = self._pick(ways, lambda way: length(way.english) <= max(room - 2, 1))
        slot = Slot("thing" if surface else "place", way.case, clause=clause)
        return self._prepositional(room, way, slot)

    def _single(self, room: int, behind: int, slot: Slot) -> Phrase:
        """Compose a noun, ``room`` - 1 words before it, ``behind`` words of attributes after it."""
        kind, case, number, clause, article, _ = slot
        named = room == 1 and number != PLURAL  # names are singular
        if named and kind != "place" and number is None:
            named = kind == "person" and self._chance(0.75)
        if named:
            name = self._pick(lexicon.NAMES["place" if kind == "place" else "person"])
            return self._link(name, name)
        mass = kind == "thing" and number is None and article != "which " and self._chance(0.2)
        if number is None:
            number = PLURAL if (room == 1 or self._chance(0.3)) and not mass else SINGULAR
        noun = self._pick(lexicon.NOUNS["mass" if mass else kind])
        column = noun.gender if number == SINGULAR else 3
        determiner, numeral, adjectives = self._opening(room - 1, number, article, mass)
        phrase = join(
            numeral,
            self._adjectives(adjectives, kind, determiner.endings[case][column]),
            self._link(noun.english[number], noun.german[number][case]),
        )
        if determiner is not lexicon.NO_ARTICLE:
            english = determiner.english
            if english == "a" and phrase.english[0][0][0] in "aeiouAEIOU":
                english = "an"
            phrase = join(self._link(english, determiner.german[case][column]), phrase)
        if behind and clause and self._chance(0.6):
            phrase = join(phrase, self._relative_clause(behind, kind, column))
        elif behind:
            phrase = join(phrase, self._attribute(behind, kind, clause))
        return phrase._replace(number=number)

    def _attribute(self, room: int, head: Kind, clause: bool) -> Phrase:
        """Compose a prepositional phrase that follows a noun; ``room`` is at least 2."""
        ways = lexicon.PREPOSITIONS
        choice = self._random()
        if head in ("person", "animal") and choice < 0.5:
            way = self._pick(ways["belonging"])
            return self._prepositional(room, way, Slot("thing", way.case, clause=clause))
        if head != "place" and choice > 0.8:
            way = ways["origin"][0]
            return self._prepositional(room, way, Slot("place", way.case, clause=clause))
        return self._place(room, clause)

    def _opening(
        self, room: int, number: int, article: str, mass: bool
    ) -> tuple[lexicon.Determiner, Phrase, int]:
        """Pick determiner and numeral; also return the number of words left for adjectives."""
        tables = lexicon.DETERMINERS
        bare = tables[f"{article}bare"][0]
        if mass and (room == 0 or article or self._chance(0.5)):
            return bare, NOTHING, room
        if number == SINGULAR:
            return self._pick(tables["mass" if mass else f"{article}singular"]), NOTHING, room - 1
        if room == 0 or (room < 3 and self._chance(0.15)):
            return bare, NOTHING, room
        choice = self._random()
        if choice < 0.2 and article in ("", "exist "):
            return lexicon.NO_ARTICLE, self._fixed("numeral"), room - 1
        if choice < 0.4 and room > 1 and not article:
            return self._pick(tables["countable"]), self._fixed("numeral"), room - 2
        return self._pick(tables[f"{article}plural"]), NOTHING, room - 1

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
