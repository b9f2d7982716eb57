"""``python study/same_content.py EVALUATION...``: equal content at other lengths.

Makes test sets of that of an evaluation folder, translates them by the same model and search, and
writes each as an evaluation next to it. A translator that loses a long sentence because of its
length, not because of what it says, gets more of it right in parts (Pouget-Abadie et al. 2014, who
cut long sentences to help one).

- ``joined-<n>``: n sentences of 5 to 15 words as one source, in the order of the text; the same
  sentences for every n, the last source may have fewer;
- ``cut``: the sources of more than 40 words that can be cut after punctuation into parts of at
  least eight words.

Each is followed by its like ``-apart``: the same sources and references, but every sentence or part
is translated by itself.
"""

import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from seq2seq.config import DecodingConfig, from_json
from seq2seq.data.text import word_count
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.folder import SCORES, read_evaluation, write_evaluation
from seq2seq.evaluation.translations import Translations
from seq2seq.files import digest
from seq2seq.record import environment_record

MOST_JOINED = 5
SHORT, LONG, PART = (5, 15), 40, 8
"""Words of a sentence that is joined; of one that is cut, more; of a part, at least."""
PRECISIONS = {"float32": "fp32", "bfloat16": "bf16"}
Line = tuple[list[str], str]
"""The parts of a source, and the reference of the whole."""


def same_content(
    sources: Sequence[str], references: Sequence[str]
) -> Iterator[tuple[str, list[Line]]]:
    """The test sets ``joined-<n>`` and ``cut`` by name; none that are empty."""
    pairs = [*zip(sources, references, strict=True)]
    short = [pair for pair in pairs if SHORT[0] <= word_count(pair[0]) <= SHORT[1]]
    made: dict[str, list[Line]] = {}
    for count in range(1, MOST_JOINED + 1):
        groups = [short[start : start + count] for start in range(0, len(short), count)]
        made[f"joined-{count}"] = [
            ([source for source, _ in group], " ".join(reference for _, reference in group))
            for group in groups
        ]
    cuts = [(cut(source), reference) for source, reference in pairs if word_count(source) > LONG]
    made["cut"] = [(parts, reference) for parts, reference in cuts if len(parts) > 1]
    for name, lines in made.items():
        if lines:
            yield name, lines


def whole(parts: Sequence[str]) -> str:
    """A source from its parts."""
    return " ".join(parts)


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


def translate(
    translator: Translator, lines: Sequence[Line], search: DecodingConfig, apart: bool
) -> Translations:
    """The translations of the whole sources, or of their parts one by one, joined."""
    parts = [part if apart else [whole(part)] for part, _ in lines]
    one_by_one = iter(translator.translate([*chain.from_iterable(parts)], search))
    hypotheses = [[*islice(one_by_one, len(part))] for part in parts]
    values = [sum(h.log_probability for h in group) for group in hypotheses]
    return Translations(
        [whole(part) for part, _ in lines],
        [reference for _, reference in lines],
        [" ".join(h.text for h in group) for group in hypotheses],
        [any(h.capped for h in group) for group in hypotheses],
        [value if math.isfinite(value) else None for value in values],
    )


def main(*evaluations: str) -> None:
    """Write the evaluations; those that are there already are kept."""
    for folder in map(Path, evaluations):
        model = read_evaluation(folder)
        record = model.record
        search = from_json(DecodingConfig, (record.config or {})["decoding"])
        precision = PRECISIONS[record.identity["precision"]]
        translator = Translator.load(str(record.checkpoint), record.identity["device"], precision)
        for name, lines in same_content(model.texts.sources, model.texts.references):
            sides = {"source": [whole(p) for p, _ in lines], "reference": [r for _, r in lines]}
            identity = record.identity | {
                side: digest(f"{line}\n".encode() for line in text) for side, text in sides.items()
            }
            for way in (name, f"{name}-apart"):
                test_set = f"{record.test_set}-{way}"
                output = folder.parent / f"{test_set}-{record.search}"
                there = (output / SCORES).exists()
                if there and read_evaluation(output).record.identity == identity:
                    continue
                made = replace(
                    record,
                    test_set=test_set,
                    identity=identity,
                    maps=[],
                    seconds=None,
                    sentences_per_second=None,
                    **environment_record(translator.device),
                )
                texts = translate(translator, lines, search, way != name)
                print(write_evaluation(output, texts, model.settings, made).directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
