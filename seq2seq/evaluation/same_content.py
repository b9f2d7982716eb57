"""Test sets of equal content and other length: sentences joined, and sentences cut.

A translator that loses a long sentence because of its length, not because of what it says, gets
more of it right in parts (Pouget-Abadie et al. 2014, who cut long sentences to help one).
"""

import re
from collections.abc import Iterator

from seq2seq.data.text import word_count
from seq2seq.evaluation.test_sets import Sentences

MOST_JOINED = 5
SHORT, LONG, PART = (5, 15), 40, 8
"""Words of a sentence that is joined; of one that is cut, more; of a part, at least."""


def same_content(test_set: Sentences) -> Iterator[tuple[str, Sentences]]:
    """Names, to follow that of ``test_set``, and test sets made of it; none that are empty.

    ``joined-<n>`` has n sentences of 5 to 15 words as one source, in the order of the text: the
    same sentences for every n, the last source may have fewer. ``cut`` has the sources of more than
    40 words that can be cut after punctuation into parts of at least eight words. Each is followed
    by its like ``-apart``: equal references, but every sentence or part is translated by itself.
    """
    pairs = [*zip(test_set.sources, test_set.references, strict=True)]
    short = [pair for pair in pairs if SHORT[0] <= word_count(pair[0]) <= SHORT[1]]
    made: dict[str, list[tuple[str, str, list[str]]]] = {}
    for count in range(1, MOST_JOINED + 1):
        groups = [short[start : start + count] for start in range(0, len(short), count)]
        made[f"joined-{count}"] = [
            (" ".join(sources), " ".join(references), [*sources])
            for sources, references in (zip(*group, strict=True) for group in groups)
        ]
    made["cut"] = [
        (source, reference, parts)
        for source, reference in pairs
        if word_count(source) > LONG and len(parts := cut(source)) > 1
    ]
    for name, lines in made.items():
        if lines:
            sources, references, apart = ([*side] for side in zip(*lines, strict=True))
            yield name, Sentences(sources, references)
            yield f"{name}-apart", Sentences(sources, references, apart)


def cut(source: str) -> list[str]:
    """The parts of a sentence: it is cut after punctuation where both sides are long enough."""
    parts: list[str] = []
    for clause in re.split(r"(?<=[,;:.?!])\s+", source.strip()):
        if parts and word_count(parts[-1]) < PART:
            parts[-1] += f" {clause}"
        else:
            parts.append(clause)
    if len(parts) > 1 and word_count(parts[-1]) < PART:
        parts[-2:] = [" ".join(parts[-2:])]
    return parts
