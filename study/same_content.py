"""``python study/same_content.py EVALUATION...``: translate joined sentences, and one by one.

Makes new test sets from the test set of an evaluation folder, translates them with the same model
and search, and writes each as an evaluation next to the folder. If a translator fails on a long
sentence because of its length, not because of its content, it translates the parts better.

``joined-<n>`` has n sentences of 5 to 15 words as one source, in the order of the text: the same
sentences for every n; the last source may have fewer. Its second version ``-apart`` has the same
sources and references, but every sentence is translated by itself.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from seq2seq.config import DecodingConfig, check
from seq2seq.data.text import word_count
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.folder import read_evaluation, write_evaluation
from seq2seq.evaluation.translations import Translations
from seq2seq.files import digest
from seq2seq.record import environment_record

MOST_JOINED = 5
SHORT = (5, 15)
"""Fewest and most words of a joined sentence."""
PRECISIONS = {"float32": "fp32", "bfloat16": "bf16"}
Line = tuple[list[str], str]
"""Parts of a source, and the reference of the whole source."""


def same_content(
    sources: Sequence[str], references: Sequence[str]
) -> Iterator[tuple[str, list[Line]]]:
    """Yield name and lines of the test sets ``joined-<n>``."""
    pairs = [*zip(sources, references, strict=True)]
    short = [pair for pair in pairs if SHORT[0] <= word_count(pair[0]) <= SHORT[1]]
    for count in range(1, MOST_JOINED + 1):
        groups = [short[start : start + count] for start in range(0, len(short), count)]
        sides = [tuple(zip(*group, strict=True)) for group in groups]
        yield f"joined-{count}", [([*parts], " ".join(whole)) for parts, whole in sides]


def translate(
    translator: Translator, lines: Sequence[Line], search: DecodingConfig, apart: bool
) -> Translations:
    """Translate the sources whole or, if ``apart``, in parts whose translations are joined."""
    parts = [part if apart else [" ".join(part)] for part, _ in lines]
    one_by_one = iter(translator.translate([*chain.from_iterable(parts)], search))
    hypotheses = [[*islice(one_by_one, len(part))] for part in parts]
    values = [sum(h.log_probability for h in group) for group in hypotheses]
    return Translations(
        [" ".join(part) for part, _ in lines],
        [reference for _, reference in lines],
        [" ".join(h.text for h in group) for group in hypotheses],
        [any(h.capped for h in group) for group in hypotheses],
        [value if math.isfinite(value) else None for value in values],
    )


def main(*evaluations: str) -> None:
    """Write the evaluations."""
    for folder in map(Path, evaluations):
        model = read_evaluation(folder)
        record = model.record
        search = check("", (record.config or {})["decoding"], DecodingConfig)
        precision = PRECISIONS[record.identity["precision"]]
        translator = Translator(str(record.checkpoint), record.identity["device"], precision)
        for name, lines in same_content(model.texts.sources, model.texts.references):
            texts = [" ".join(part) for part, _ in lines], [reference for _, reference in lines]
            sides = dict(zip(("source", "reference"), texts, strict=True))
            identity = record.identity | {
                side: digest(f"{line}\n".encode() for line in text) for side, text in sides.items()
            }
            for way in (name, f"{name}-apart"):
                test_set = f"{record.test_set}-{way}"
                output = folder.parent / f"{test_set}-{record.search}"
                made = replace(
                    record,
                    test_set=test_set,
                    identity=identity,
                    maps=[],
                    seconds=None,
                    sentences_per_second=None,
                    **environment_record(translator.device),
                )
                said = translate(translator, lines, search, way != name)
                print(write_evaluation(output, said, model.settings, made).directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
