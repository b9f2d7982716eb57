"""``python study/same_content.py EVALUATION...``: translate equal content at other lengths.

Makes new test sets from the test set of an evaluation folder, translates them with the same model
and search, and writes each as an evaluation next to the folder. If a translator fails on a long
sentence because of its length, not because of its content, it translates the parts of the sentence
better (Pouget-Abadie et al. 2014 cut long sentences for this reason).

- ``joined-<n>``: n sentences of 5 to 15 words as one source, in the order of the text; the same
  sentences for every n, the last source may have fewer;
- ``cut``: the sources of more than 40 words that can be cut after punctuation into parts of at
  least eight words.

Each has a second version ``-apart``: the same sources and references, but every sentence or part is
translated by itself.
"""

import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from seq2seq.config import DecodingConfig, check
from seq2seq.data.text import word_count
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.folder import SCORES, read_evaluation, write_evaluation
from seq2seq.evaluation.translations import Translations
from seq2seq.files import digest
from seq2seq.record import environment_record

MOST_JOINED = 5
SHORT, LONG, PART = (5, 15), 40, 8
"""Numbers of words: range of a joined sentence, limit above which sources are cut, least of a
part."""
PRECISIONS = {"float32": "fp32", "bfloat16": "bf16"}
Line = tuple[list[str], str]
"""Parts of a source, and the reference of the whole source."""


def same_content(
    sources: Sequence[str], references: Sequence[str]
) -> Iterator[tuple[str, list[Line]]]:
    """Yield name and lines of the test sets ``joined-<n>`` and ``cut``; empty ones are left out."""
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
    """Join the parts of a source."""
    return " ".join(parts)


def cut(source: str) -> list[str]:
    """Cut a sentence after punctuation where both sides are long enough; return its parts."""
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
    """Translate the sources whole or, if ``apart``, in parts whose translations are joined."""
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
    """Write the evaluations; those that exist already are kept."""
    for folder in map(Path, evaluations):
        model = read_evaluation(folder)
        record = model.record
        search = check("", (record.config or {})["decoding"], DecodingConfig)
        precision = PRECISIONS[record.identity["precision"]]
        translator = Translator(str(record.checkpoint), record.identity["device"], precision)
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
