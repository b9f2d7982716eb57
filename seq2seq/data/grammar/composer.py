"""Compose random phrases, clauses and lines of text in both languages at once.

``lexicon.tsv`` says which clauses there are, and what may follow a verb. Two rules make the German
side a function of the English one. (1) A relative clause, a prepositional phrase, an adverb of time
or a second verb ("and sleeps") belongs to the nearest noun or clause before it; a second subject
and verb begin a new main clause. So no part of an outer clause follows an inner clause where German
would place it differently. (2) Relative clauses contain no adverbial clauses (``simple``), because
these could also belong to the outer clause.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, combinations, count
from operator import itemgetter
from typing import NamedTuple, TypeVar

from seq2seq.data.grammar import lexicon
from seq2seq.data.grammar.lexicon import (
    ACCUSATIVE,
    DATIVE,
    LISTENER,
    NOMINATIVE,
    PLURAL,
    SINGULAR,
    SPEAKER,
    Determiner,
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
    """A form of verbs or a modal, the adverbs of time that fit, and how many words it adds."""

    name: str
    times: str
    words: int = 0
    modal: tuple[list[str], list[str]] | None = None


PRESENT, PAST = Tense("present", "time present"), Tense("past", "time past")
PROGRESSIVE = Tense("now", "time present", 1), Tense("then", "time past", 1)
ORDER, INFINITIVE, BARE = Tense("order", "time future"), Tense("", "", 1), Tense("", "")
FUTURE, *MODAL = (
    Tense("", f"time {'past' if len(modal[0]) > 2 else 'future'}", length(modal[0][0]), modal)
    for modal in (*lexicon.MODALS["future"], *lexicon.MODALS[""])
)
TENSES = {"request": ORDER, "infinitive": INFINITIVE, "purpose": INFINITIVE}


class Setting(NamedTuple):
    """What a predicate agrees with, and what it may have."""

    kind: Kind
    number: int
    tense: Tense
    timed: bool = False  # an adverb of time stands before it
    simple: bool = False  # no clause may be adverbial
    clause: bool = True  # other clauses may follow
    asks: bool = False  # it is that of a question
    denied: bool = False  # it has "not"


class Slot(NamedTuple):
    """What decides the form of a noun phrase."""

    kind: Kind
    case: int
    number: int | None = None  # any
    clause: bool = True  # the noun may have a relative clause
    article: str = ""  # beginning of the name of its table of determiners
    subject: int = SINGULAR  # number of the subject, which an object does not repeat


Predicate = tuple[Tokens, Tokens, Tokens, Tokens, Tokens, Tokens, Tokens]
"""All of a clause but its subject. English: what precedes the subject of a question; the rest.
German: finite verb, middle, rest of the verb, both at the end of dependent clauses, clauses."""

BE = lexicon.VERBS["be"][0]
SUBJECTS: list[Kind] = ["person"] * 62 + ["animal"] * 16 + ["thing"] * 22
OBJECTS: list[Kind] = ["person"] * 35 + ["animal"] * 15 + ["thing"] * 40 + ["place"] * 10
CASES = {
    "dat": (1, DATIVE),
    "acc": (2, ACCUSATIVE),
    "exist": (3, ACCUSATIVE),
    "nom": (3, NOMINATIVE),
}
"""The place of a noun in German, and its case. Places: 0 pronouns, 1 and 2 other objects, 3 what
follows "nicht", 4 clauses, 5 nowhere."""
ATTRIBUTES = {
    "person": ("belonging", "belonging", "place", "origin"),
    "animal": ("belonging", "belonging", "place", "origin"),
    "thing": ("place", "place", "place", "origin"),
    "place": ("place",),
}


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

    def _link(self, english: str, german: str, *, link: int = 0) -> Phrase:
        """Build a phrase whose words, with "_" between them, translate each other as a group."""
        link = link or next(self._links)
        one, other = (
            [(word, link) for word in text.split("_") if word] for text in (english, german)
        )
        return Phrase(one, other)

    def _groups(self, english: str, german: str) -> Phrase:
        """Build a phrase of groups, with spaces between them, that translate each other in turn."""
        return join(*map(self._link, english.split(), german.split()))

    def _fixed(self, name: str, most: int = 9, least: int = 1) -> Phrase:
        """Pick a phrase of the lexicon, of ``least`` to ``most`` words."""
        phrases = lexicon.PHRASES[name]
        return self._groups(*self._pick(phrases, lambda one: least <= length(one[0]) <= most))

    def _verb(self, name: str, kind: str, most: int, tense: Tense, least: int = 1) -> Verb:
        """Pick a verb of ``least`` to ``most`` words, from those for ``kind`` if there are some."""
        verbs = lexicon.VERBS.get(f"{name} {kind}", lexicon.VERBS[name])
        return self._pick(
            verbs,
            lambda one: (
                least <= length(one.english) <= max(most, 1) and tense.name in ("", *one.forms)
            ),
        )

    # Sentences and clauses

    def line(self, room: int) -> Phrase:
        """Compose a sentence; now and then a greeting precedes, or another sentence follows."""
        if room >= 6 and self._chance(0.02):
            return join(self._fixed("greeting"), self.line(room - 2))
        if room >= 9 and self._chance(0.08):
            left = self._between(4, room - 4)
            return join(self._sentence(left), self._sentence(room - left))
        return self._sentence(room, closed=room < 4 or self._chance(0.96))

    def _sentence(self, room: int, closed: bool = True) -> Phrase:
        """Compose a statement, question or request; its mark is one of the words."""
        choice = self._random() if 4 <= room < 25 else 0.5
        mark = "?" if choice < 0.2 else "!" if self._chance(0.04) else "."
        end = self._link(mark, mark) if closed else NOTHING
        room -= len(end.english)
        if 0.2 <= choice <= 0.96:
            return join(self._clauses(room), end)
        return join(self._clause("question" if choice < 0.2 else "request", room), end)

    def _clauses(self, room: int) -> Phrase:
        """Compose main clauses, one or more, without full stop; ``room`` is at least 2."""
        if room < 6 or self._random() * 16 >= max(room - 8, 1):
            return self._clause("main", room)
        coordinator = self._fixed("coordinator" if room < 30 else "coordinator long")
        rest = room - len(coordinator.english)
        left = self._between(2, rest - 2)
        inverted = coordinator.german[-1][0] == "deshalb"
        compose = partial(self._clause, "inverted") if inverted else self._clauses
        return join(self._clauses(left), coordinator, compose(rest - left))

    def _clause(
        self,
        name: str,
        room: int,
        like: Tense | None = None,
        simple: bool = False,
        opening: Phrase = NOTHING,
        subject: tuple[Kind, int] | None = None,
        verb: Verb | None = None,
    ) -> Phrase:
        """Compose a clause; ``like`` is the tense above, ``opening`` may be its subject, object."""
        low, _, (opener, who, predicate, order) = self._pick(
            lexicon.CLAUSES[name], lambda row: row[0] <= room <= row[1]
        )
        kind, number = subject or (self._pick(SUBJECTS), SINGULAR)
        kind = predicate if predicate in lexicon.FRAMES else kind
        asks = order == "asked"
        if opener == "object":
            opening, verb = self._asked_object(room)
            low += len(opening.english) - 1
        low += length(verb.english) - 1 if verb else predicate == "identity"
        tense = TENSES.get(name) or self._tense(room - low, kind, like)
        if opener not in ("-", "object"):
            opening = self._opening(opener, max(room - low - tense.words, 0), tense)
        room -= len(opening.english) if opener != "-" else 0
        if predicate in ("identity", "weather"):
            verb = BE if predicate == "identity" else self._verb("weather", "", 1, tense)
        if verb:
            tense = tense if tense.modal or tense.name in verb.forms else PRESENT
            does = asks and tense.words != 1 and not (verb.english == "be" and not tense.modal)
            room -= tense.words + length(verb.english) + does
            size = room - min(room - 1, self._pick((0, 0, 0, 0, 1, 2)))
        else:
            most = min(room - tense.words - 1 - asks, 8)
            size = 1 if self._chance(0.25) else self._between(1, most)
        actor = NOTHING._replace(number=LISTENER if name == "request" else number)
        if "=" in who:
            number = int(kind == "exist" and self._chance(0.4))
            actor = self._link(*who.split("="))._replace(number=number)
        elif who == "any":
            actor = self._subject(size, kind)
        room -= len(actor.english)
        setting = Setting(kind, actor.number, tense, opener == "time", simple, True, asks)
        if verb:
            time = self._fixed(tense.times, room, room) if room else NOTHING
            lead, english, finite, rest, end = self._verb_phrase(verb, setting, [])
            english, middle, after = english + time.english, time.german, Tokens()
        else:
            lead, english, finite, middle, rest, end, after = self._predicate(room, setting)
        english = (lead + actor.english if asks else actor.english + lead) + english
        first, second = (
            (actor, NOTHING) if order == "main" and not opening.german else (opening, actor)
        )
        german = first.german + finite + second.german + middle + rest
        if order == "dependent":
            german = opening.german + actor.german + middle + end
        return Phrase(opening.english + english, german + after)

    def _opening(self, name: str, spare: int, tense: Tense) -> Phrase:
        """Compose what precedes the subject, of at most ``spare`` words more than it needs."""
        if "=" in name:
            return self._link(*name.split("="))
        if name == "place":
            return self._place(name, self._between(2, 2 + min(spare, 3)), clause=False)
        if name == "adverbial":
            clause = self._clause(name, self._between(4, 4 + min(spare, 11)), tense, True)
            return join(clause, self._link(",", ",") if self._chance(0.75) else COMMA)
        past = " past" * (name == "conjunction" and tense.times == "time past")  # "als", not "wenn"
        return self._fixed(tense.times if name == "time" else name + past, 1 + spare)

    def _asked_object(self, room: int) -> tuple[Phrase, Verb]:
        """Compose "what", "who" or "which" with a noun, and pick the verb that governs it."""
        kind: Kind = self._pick(("person", "thing"))
        verb = self._verb_without_object(room - 3, kind, prepositional=False)
        if room > 4 and self._chance(0.3):
            return self._single(2, 0, Slot(kind, verb.case, article="which ")), verb
        german = "was" if kind == "thing" else "wem" if verb.case == DATIVE else "wen"
        return self._link("what" if kind == "thing" else "who", german), verb

    def _relative_clause(self, room: int, kind: Kind, column: int) -> Phrase:
        """Compose a relative clause for a noun; ``column`` has the forms of its pronoun."""
        names = lexicon.PHRASES[f"relative {'person' if kind == 'person' else 'other'}"]
        choice, verb, before, subject = self._random(), None, NOTHING, None
        if room == 2 or room > 10 or choice < (0.2 if kind in ("thing", "place") else 0.5):
            subject = "thing" if kind == "place" else kind, int(column == 3)
            english = self._pick(names)[0]
        elif (verb := self._verb_without_object(room, kind, choice > 0.75)).preposition:
            before = self._link(*verb.preposition[:2])
            english = "whom" if kind == "person" else "which"
        else:  # without a pronoun: "the man I see"
            english = "" if self._chance(0.1) else self._pick(names)[1]
        forms = lexicon.DETERMINERS["relative"][0][1][verb.case if verb else NOMINATIVE]
        opening = join(before, self._link(english, forms[column]))
        room -= len(opening.english)
        clause = self._clause("whom" if verb else "who", room, None, True, opening, subject, verb)
        return join(COMMA, clause, COMMA)

    def _verb_without_object(self, room: int, kind: Kind, prepositional: bool) -> Verb:
        """Pick a verb, perhaps with a preposition, that takes a noun of this kind as object."""
        if prepositional and room >= 4 and kind != "place":
            return self._verb("prepositional", kind, 1, PRESENT)
        if prepositional and room >= 4:
            verb = self._verb("simple", "", 1, PRESENT)
            way = self._pick(lexicon.PREPOSITIONS["place"][:4])  # those of one word
            return verb._replace(case=way.case, preposition=way)
        dative = kind in ("person", "animal") and self._chance(0.2)
        kind = kind if self._chance(0.4) else ""
        return self._verb("dative" if dative else "transitive", kind, room - 2, PRESENT)

    # Predicates

    def _predicate(self, room: int, setting: Setting) -> Predicate:
        """Compose a verb with its objects and adverbs, perhaps with "not"."""
        # German order after the finite verb or subject: pronouns, time, adverb, dative, accusative,
        # "nicht", prepositional phrase or state, rest of the verb, clauses.
        kind, number, tense, timed, simple, extended, asks, _ = setting
        double = (tense in (PRESENT, PAST, ORDER) or tense.modal) and not (asks or simple)
        if double and room > 4 + tense.words and kind != "exist" and self._chance(0.1):
            return self._two_predicates(room, setting)
        room -= tense.words
        be = tense.name in ("", *BE.forms) and room > 1 + (asks and tense.words > 1)
        be = be and self._chance(0.2) and kind in SUBJECTS
        least = 2 if kind == "exist" else int(be)
        helped = tense.words == 1 or (least > 0 and not tense.modal)
        modal = tense.modal[0][0] if tense.modal else ""
        affirmed = tense in (INFINITIVE, BARE) or kind == "exist" or modal == "must" or room < 4
        denied = not affirmed and self._chance(0.16)
        am = number == SPEAKER and helped and not modal
        short = denied and (modal == "can" or (self._chance(0.4) and modal != "may" and not am))
        room -= (not helped and (denied or asks)) + (denied and not short)
        adverb = time = clause = NOTHING
        if not simple and room >= 5 + least and self._chance(0.6 if room > 11 else 0.12):
            size = self._between(4, min(room - 1 - least, 16))
            comma = self._link(",", ",") if size > 4 and self._chance(0.15) else COMMA
            name = "purpose" if kind == "person" and self._chance(0.2) else "adverbial"
            clause = join(comma, self._clause(name, size - len(comma.english), tense, True), COMMA)
            room -= size
        if room > 1 + least and not denied and self._chance(0.2):
            adverb = self._fixed("adverb person" if kind in ("person", "animal") else "adverb")
            room -= 1
        if tense.times and not timed and 1 + least < room < 10 and self._chance(0.2):
            time = self._fixed(tense.times, room - 1 - least)
            room -= len(time.english)
        setting = setting._replace(clause=extended and not time.english, denied=denied)
        verb, parts = self._complement(room - 1, "be" if be else kind, setting)
        ranked = sorted(parts, key=itemgetter(0))

        def german(*ranks: int) -> Tokens:
            return join(*(phrase for rank, phrase in ranked if rank in ranks)).german

        word, link = (german(0, 1, 2) or german(3) or [("", 0)])[0]
        none = denied and word.startswith("kein")
        link = link if none else next(self._links)
        lead, english, finite, rest, end = self._verb_phrase(
            verb, setting, adverb.english, link, short
        )
        english = english + join(*(part for _, part in parts), time, clause).english
        nicht = [("nicht", link)] if denied and not none else []
        middle = german(0) + join(time, adverb).german + german(1, 2) + nicht + german(3)
        return lead, english, finite, middle, rest, end, german(4) + clause.german

    def _two_predicates(self, room: int, setting: Setting) -> Predicate:
        """Join two predicates by "and"; the first has no clauses."""
        modal, words = setting.tense.modal, setting.tense.words
        left = words + self._between(1, min(room - 3 - words, 7))
        first = setting._replace(simple=True, clause=False)
        setting = setting._replace(tense=BARE if modal else setting.tense)
        lead, one, finite, middle, rest, end, _ = self._predicate(left, first)
        also, two, verb, inside, last, close, after = self._predicate(room - left - 1, setting)
        link, und = self._link("and", "und")[:2]
        rest = rest + und + verb + inside + last
        end = rest + finite if modal else end + und + inside + close
        return lead, one + link + also + two, finite, middle, rest, end, after

    def _complement(
        self, room: int, name: str, setting: Setting
    ) -> tuple[Verb, list[tuple[int, Phrase]]]:
        """Compose a verb and ``room`` words, those after its first: (place in German, part)."""

        *_, (table, *names) = self._pick(
            lexicon.FRAMES[name],
            lambda row: (
                row[0] <= room <= row[1]
                and (setting.clause or row[2][-1] not in lexicon.CLAUSES)
                and not (setting.denied and len(row[2]) > 2)
            ),
        )
        kind = self._pick(OBJECTS)
        verb = self._verb(
            table,
            kind if self._chance(0.5) else "",
            room - len(names) + 1,
            setting.tense,
            least=1 if names else room + 1,
        )
        room -= length(verb.english) - 1
        parts = []
        for later, part in zip(range(len(names) - 1, -1, -1), names, strict=True):
            size = 1 if part == "to" else self._between(1, min(room - later, 5)) if later else room
            parts.append(
                self._part(
                    part, size, verb, kind, setting._replace(clause=setting.clause and not later)
                )
            )
            room -= size
        return verb, parts

    def _part(
        self, name: str, room: int, verb: Verb, kind: Kind, setting: Setting
    ) -> tuple[int, Phrase]:
        """Compose a part of a predicate, and say where it stands in German."""
        name, _, own = name.partition(":")
        if name == "to":  # German has the dative
            return 5, Phrase([("to", 0)], [])
        if name in lexicon.CLAUSES:
            return 4, join(COMMA, self._clause(name, room, None, setting.simple), COMMA)
        if name == "state":
            return 3, self._state(room, setting.kind)
        if name == "governed":
            assert verb.preposition is not None  # all verbs in these tables have one
            way = verb.preposition._replace(kind=kind)
            return 3, self._prepositional(room, way, setting.clause, setting.number)
        if name not in CASES:
            return 3, self._place(name, room, setting.clause)
        article = "exist " if name == "exist" else "denied " * setting.denied
        number = int(setting.number == PLURAL) if name in ("exist", "nom") else None
        kind = setting.kind if name == "nom" else own or kind
        rank, case = CASES[name]
        slot = Slot(kind, case, number, setting.clause, article, setting.number)
        noun = self._noun_phrase(room, slot, 0.12 * (not article and number is None))
        return 0 if noun.light else rank, noun

    def _state(self, room: int, kind: Kind) -> Phrase:
        """Compose one to four words: adjectives after "is"."""
        *classes, _ = lexicon.ADJECTIVES[kind]  # the last class cannot follow "is"
        state = self._link(*self._pick([*chain.from_iterable(classes)])[:2])
        if room == 1:
            return state
        if room == 2:
            return join(self._fixed("degree"), state)
        return join(self._state(room - 2, kind), self._link("and", "und"), state)

    def _tense(self, room: int, kind: Kind, like: Tense | None = None) -> Tense:
        """Pick a tense of at most ``room`` more words; ``like`` is that of the clause above."""
        choice = self._random()
        past = like is not None and like.times == "time past"
        acts = kind in ("person", "animal")
        if room > 0 and choice < 0.08 and acts:
            return PROGRESSIVE[past or (like is None and choice < 0.03)]
        if past:
            return PAST
        if room > 0 and choice > 0.72:
            most = room if acts else 1  # no "want to" for things
            return self._pick([FUTURE] * (0 if like else 3) + MODAL, lambda one: one.words <= most)
        return PRESENT if like or choice < 0.4 or choice > 0.86 else PAST

    def _verb_phrase(
        self, verb: Verb, setting: Setting, adverb: Tokens, no: int = 0, short: bool = False
    ) -> tuple[Tokens, Tokens, Tokens, Tokens, Tokens]:
        """Inflect the verb for its tense; ``no`` links "not", which is "n't" in ``short``."""
        number, tense = setting.number, setting.tense
        if tense in (INFINITIVE, BARE):
            to = self._groups(*(verb.to if tense.words else verb[:2]))
            english = to.english[: tense.words] + adverb + to.english[tense.words :]
            return [], english, [], to.german, to.german
        helped = tense.words == 1 or (verb.english == "be" and not tense.modal)
        shared = no if short and helped else 0  # "can't" is "kann" and "nicht"
        base, rest = self._link(verb.english, verb.german, link=0 if tense.modal else shared)[:2]
        link, lead = base[0][1], Tokens()
        if tense.modal:
            (one, *others), german = tense.modal
            second = german[0 if setting.kind == "exist" else number]  # "es wird Hunde geben"
            words, finite = self._link(others[0] if number else one, second, link=shared)[:2]
            words, base, end = (
                words + base,
                [(word, words[0][1]) for word in others[-1].split("_")] + base,
                rest + finite,
            )
        else:
            words, finite, end = (
                [(word, link) for word in side.split("_")]
                for side in verb.forms[tense.name][number]
            )
            finite, rest = finite[:1], finite[1:]
        if helped:
            lead, words = words[:1], words[1:]
        elif setting.asks or setting.denied:
            do = "did" if "past" in tense.times else "do" if number or tense is ORDER else "does"
            lead, words = [(do, no if short else base[0][1])], base
        if short:
            ((word, link),) = lead
            whole = word == "can" and self._chance(0.5)
            lead = [("cannot" if whole else lexicon.BEFORE_NOT.get(word, word) + "n't", link)]
        elif setting.denied:
            adverb = [("not", no), *adverb]
        return lead, adverb + words, finite, rest, end

    # Noun phrases

    def _subject(self, room: int, kind: Kind) -> Phrase:
        if room == 1 and kind in lexicon.PRONOUNS and self._chance(0.6):
            english, german = self._pick(lexicon.PRONOUNS[kind])
            return self._link(english[0], german[0])._replace(number=int(german[-1]))
        place = kind == "thing" and self._chance(0.25)
        return self._noun_phrase(room, Slot("place" if place else kind, NOMINATIVE))

    def _noun_phrase(self, room: int, slot: Slot, listed: float = 0.12) -> Phrase:
        """Compose a noun phrase of ``room`` words, with probability ``listed`` several nouns."""
        pronouns = lexicon.PRONOUNS.get(f"{slot.kind} object")
        if listed and room == 1 and pronouns and slot.case != NOMINATIVE and self._chance(0.4):
            english, german = self._pick(
                pronouns, lambda one: one[1][3] < "2" or int(one[1][3]) != slot.subject
            )
            phrase = self._link(english[1], german[slot.case])
            return phrase._replace(number=int(german[3]), light=True)
        # The first of two has no attributes after it: they always belong to the last noun.
        if room >= 3 and self._chance(listed):
            left = self._between(1, min(room - 2, 4))
            more = room - left > 3 and self._chance(0.25)
            return join(
                self._single(left, 0, slot),
                self._link(",", ",") if more else self._link("and", "und"),
                self._noun_phrase(room - left - 1, slot, float(more)),
            )._replace(number=PLURAL)
        longer = room > 5 or (room > 3 and self._chance(0.45))
        behind = room - 2 - self._between(0, min(2, room - 4)) if longer else 0
        return self._single(room - behind, behind, slot)

    def _prepositional(
        self, room: int, preposition: Preposition, clause: bool, subject: int | None = None
    ) -> Phrase:
        """Compose a prepositional phrase; with ``subject`` its noun may be a pronoun or two."""
        english, german, case, kind = preposition
        slot = Slot(kind, case, None, clause, "", subject or SINGULAR)
        # German has "darauf" for "on it".
        noun = self._noun_phrase(
            room - length(english), slot, 0.12 * (subject is not None and kind != "thing")
        )
        contracted = lexicon.CONTRACTIONS.get(f"{german} {noun.german[0][0]}")
        if contracted:  # "im" for "in dem"
            opening = self._link(f"{english}_{noun.english[0][0]}", contracted)
            return join(opening, Phrase(noun.english[1:], noun.german[1:]))
        return join(self._link(english, german), noun)

    def _place(self, name: str, room: int, clause: bool) -> Phrase:
        """Compose a phrase of a place or of what belongs to a noun."""
        here = f"here {name}"
        if here in lexicon.PHRASES and (room == 1 or (room == 2 and self._chance(0.3))):
            return self._fixed(here, room, room)
        table = f"{name} city" if room == 2 and f"{name} city" in lexicon.PREPOSITIONS else name
        ways = lexicon.PREPOSITIONS[table]
        way = self._pick(ways, lambda way: length(way.english) <= max(room - 2, 1))
        return self._prepositional(room, way, clause)

    def _single(self, room: int, behind: int, slot: Slot) -> Phrase:
        """Compose a noun, ``room`` - 1 words before it, ``behind`` words of attributes after it."""
        kind, case, number, clause, article, _ = slot
        named = kind == "place" or number is not None or (kind == "person" and self._chance(0.75))
        if room == 1 and number != PLURAL and named:  # names are singular
            name = self._pick(lexicon.NAMES["place" if kind == "place" else "person"])
            return self._link(name, name)
        mass = kind == "thing" and number != PLURAL and article != "which " and self._chance(0.2)
        if number is None:
            number = PLURAL if (room == 1 or self._chance(0.3)) and not mass else SINGULAR
        gender, english, german = self._pick(lexicon.NOUNS["mass" if mass else kind])
        column = gender if number == SINGULAR else 3
        (article, forms, endings), numeral, adjectives = self._before_noun(
            room - 1, number, article, mass
        )
        phrase = join(
            numeral,
            self._adjectives(adjectives, kind, endings[case][column]),
            self._link(english[number], german[number][case]),
        )
        if forms:
            vowel = article == "a" and phrase.english[0][0][0] in "aeiouAEIOU"
            phrase = join(self._link(article + "n" * vowel, forms[case][column]), phrase)
        if behind and clause and self._chance(0.55):
            phrase = join(phrase, self._relative_clause(behind, kind, column))
        elif behind:
            phrase = join(phrase, self._place(self._pick(ATTRIBUTES[kind]), behind, clause))
        return phrase._replace(number=number)

    def _before_noun(
        self, room: int, number: int, article: str, mass: bool
    ) -> tuple[Determiner, Phrase, int]:
        """Pick determiner and numeral; also return the number of words left for adjectives."""
        tables = lexicon.DETERMINERS
        bare = tables[f"{article}bare"][0]
        if mass and (room == 0 or article or self._chance(0.5)):
            return bare, NOTHING, room
        if number == SINGULAR:
            return self._pick(tables["mass" if mass else f"{article}singular"]), NOTHING, room - 1
        choice = self._random()
        if room == 0 or (room < 3 and not bare[0] and choice > 0.85):
            return bare, NOTHING, room
        if choice < 0.2 and article in ("", "exist "):
            return tables["bare"][0], self._fixed("numeral"), room - 1
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
        links = (self._link(one, stem + ending) for one, _, stem in map(self._pick, classes))
        return join(phrase, *links)
