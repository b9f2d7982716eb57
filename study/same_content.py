"""``python study/same_content.py CHECKPOINT EVALUATION OUTPUT``: equal content, other length.

The sentences of an evaluation folder are translated in two ways, both scored against one reference:

- ``joined-<n>``: n sentences of 5 to 15 words as one source; ``joined-<n>-apart``: one by one;
- ``cut``: sources of more than 40 words as they are; ``cut-apart``: cut at punctuation, so that
  each part has at least eight words, and translated part by part.

Each is an evaluation folder below OUTPUT.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import DecodingConfig
from seq2seq.data.text import word_count
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.folder import read_evaluation, write_evaluation
from seq2seq.evaluation.translations import Translations
from seq2seq.files import digest
from seq2seq.record import environment_record

MOST_JOINED = 5
SHORT, LONG, PART = (5, 15), 40, 8
"""Words of a sentence that is joined; of one that is cut, more; of a part, at least."""

Case = tuple[list[str], list[str], list[list[str]]]
"""Sources, references, and the parts of each source."""


def joined(sources: Sequence[str], references: Sequence[str], count: int) -> Case:
    """So many short sentences as one, in the order of the text.

    The sentences are the same for every count; the last group may have fewer.
    """
    chosen = [i for i, source in enumerate(sources) if SHORT[0] <= word_count(source) <= SHORT[1]]
    groups = [chosen[start : start + count] for start in range(0, len(chosen), count)]
    parts = [[sources[i] for i in group] for group in groups]
    wanted = [" ".join(references[i] for i in group) for group in groups]
    return [" ".join(of) for of in parts], wanted, parts


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


def cut_sentences(sources: Sequence[str], references: Sequence[str]) -> Case:
    """The long sentences that can be cut."""
    parts = {i: cut(source) for i, source in enumerate(sources) if word_count(source) > LONG}
    chosen = [i for i, of in parts.items() if len(of) > 1]
    return [sources[i] for i in chosen], [references[i] for i in chosen], [parts[i] for i in chosen]


def main(checkpoint: str, evaluation: str, output: str) -> None:
    """Translate all cases whole and apart."""
    loaded = load_checkpoint(Path(checkpoint), torch.device("cpu"))
    translator = Translator.of([loaded], "auto", False)
    model = read_evaluation(Path(evaluation))
    texts = model.texts
    cases = {
        f"joined-{n}": joined(texts.sources, texts.references, n) for n in range(1, MOST_JOINED + 1)
    }
    cases["cut"] = cut_sentences(texts.sources, texts.references)
    search = DecodingConfig(beam=5)
    memory: dict[str, tuple[str, bool]] = {}
    needed = {text for whole, _, parts in cases.values() for of in [whole, *parts] for text in of}
    ordered = sorted(needed)
    for text, found in zip(ordered, translator.translate(ordered, search), strict=True):
        memory[text] = found.text, found.capped
    for name, (sources, references, parts) in cases.items():
        if not sources:
            continue
        ways = {name: [[source] for source in sources], f"{name}-apart": parts}
        for way, units in ways.items():
            hypotheses = [" ".join(memory[unit][0] for unit in of) for of in units]
            capped = [any(memory[unit][1] for unit in of) for of in units]
            content = {
                "source": digest(line.encode() for line in sources),
                "reference": digest(line.encode() for line in references),
            }
            record = {
                **{key: model.record[key] for key in ("experiment", "system", "seed", "config")},
                **{key: model.record[key] for key in ("training", "search", "checkpoint")},
                **environment_record(torch.device("cpu")),
                "parameters": model.record["parameters"],
                "test_set": way,
                "identity": content,
            }
            scored = Translations(sources, references, hypotheses, capped)
            folder = Path(output) / way
            print(write_evaluation(folder, scored, model.settings, record).directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
