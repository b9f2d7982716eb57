"""Phrases in both languages at once, and the random draws that make them."""

import random
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from seq2seq.data.grammar.forms import Linked, Number, Words

T = TypeVar("T")

Token = tuple[str, int]
"""A word and its link: tokens of the two sides with one number translate each other; 0 is none."""
Tokens = list[Token]

COMMA: Token = (",", 0)
"""The comma around German clauses, which English does not have."""


class Phrase(NamedTuple):
    """One phrase in both languages; ``number`` is what a verb agrees with."""

    english: Tokens
    german: Tokens
    number: Number = Number.SINGULAR


NOTHING = Phrase([], [])


def join(*phrases: Phrase) -> Phrase:
    """Phrases one after the other in both languages."""
    english: Tokens = []
    german: Tokens = []
    for phrase in phrases:
        english += phrase.english
        german += phrase.german
    return Phrase(english, german)


def set_off(phrase: Phrase) -> Phrase:
    """Put the German side between commas; those that meet other stops are dropped at the end."""
    return Phrase(phrase.english, [COMMA, *phrase.german, COMMA])


class Draw:
    """Draws from a random generator, of which only ``random()`` is ever called.

    That is the one method whose numbers Python promises to keep, for a seed, in all versions.
    """

    def __init__(self, rng: random.Random) -> None:
        self._random = rng.random
        self._links = 0

    def share(self) -> float:
        """A number in [0, 1) that decides between unequal alternatives."""
        return self._random()

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._random() < probability

    def between(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + int(self._random() * (high - low + 1))

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, all equally likely."""
        return items[int(self._random() * len(items))]

    def link(self, english: Words, german: Words) -> Phrase:
        """Words that translate each other as a group."""
        self._links += 1
        number = self._links
        return Phrase([(word, number) for word in english], [(word, number) for word in german])

    def linked(self, groups: Linked) -> Phrase:
        """A fixed phrase, linked group by group."""
        phrase = self.link(*groups[0])
        for group in groups[1:]:
            phrase = join(phrase, self.link(*group))
        return phrase

    def fitting(self, phrases: Sequence[Linked], room: int) -> Linked:
        """One of the phrases of at most ``room`` English words; some must have so few."""
        phrase = self.pick(phrases)
        while sum(len(english) for english, _ in phrase) > room:
            phrase = self.pick(phrases)
        return phrase
