"""``python study/middle.py EVALUATION...``: which source word does attention look at, step by step?

The evaluations are of systems with attention on the grammar, whose links between words are exact.
Each test set is translated once more, with the end of the sentence forbidden until the translation
is as long as the source. This is written as the evaluation ``<test set>-no-end`` next to the first.
Then the system reads both translations and the reference. For each of their words,
``results/<experiment>/places.npz.xz`` keeps the source word with the largest weight. It also keeps
which content words the translations contain.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from content import ContentWords
from jaxtyping import Bool, Int
from packed import RESULTS, read_arrays, write_arrays
from same_content import PRECISIONS
from torch import Tensor

from seq2seq.checkpoint import read_config
from seq2seq.config import DecodingConfig, GrammarCorpus, check
from seq2seq.data.grammar import banded_pairs
from seq2seq.data.vocabulary import EOS
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.folder import SCORES, Evaluation, read_evaluation, write_evaluation
from seq2seq.model.decoder import DecoderState
from seq2seq.model.encoder import Source
from seq2seq.model.translation import Step, TranslationModel
from seq2seq.record import environment_record

TEXTS = ("always", "no-end", "reference")
"""Texts that a system reads: its translations, those with the end forbidden, the references."""
SHARE = 0.1
"""A content word is in at most this share of the references; high, as the grammar has few words."""
UNLINKED = 255
"""Place of a word without a link."""


class NoEnd(TranslationModel):
    """Model whose translations do not end before they have as many pieces as the source."""

    written = 0

    @classmethod
    def of(cls, translator: Translator) -> "NoEnd":
        """Copy the model of a translator."""
        config = read_config(translator.checkpoints[0]).model
        made = cls(config, len(translator.source.vocabulary), len(translator.target.vocabulary))
        made.load_state_dict(translator.model.state_dict())
        return made.eval()

    def init_state(self, source: Source) -> DecoderState:
        """Return the first state; count pieces from 0, together for all hypotheses of a search."""
        self.written = 0
        return super().init_state(source)

    def step(self, token: Int[Tensor, "R"], state: DecoderState, source: Source) -> Step:
        """Score the next piece; a forbidden end has probability 0; other pieces get its share."""
        made = super().step(token, state, source)
        early = source.mask.sum(dim=1) - 1 > self.written
        self.written += 1
        made.logits[early.repeat_interleave(len(token) // len(early)), EOS] = -torch.inf
        return made


@dataclass(frozen=True, eq=False)
class Trace:
    """Place of each word of a text: the source word, from 0, with the largest weight."""

    sizes: Int[np.ndarray, "N"]
    """Number of words of each sentence."""
    places: Int[np.ndarray, "W"]

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]]) -> "Trace":
        joined = [place for sentence in sentences for place in sentence]
        return cls(np.array([len(one) for one in sentences]), np.array(joined, dtype=np.int64))

    @property
    def sentences(self) -> list[Int[np.ndarray, "_"]]:
        return np.split(self.places, np.cumsum(self.sizes)[:-1])


@dataclass(frozen=True, eq=False)
class Traced:
    """What the systems look at on one test set."""

    words: Int[np.ndarray, "N"]
    """Number of words of each source."""
    gold: Trace
    """First source word that each reference word is linked to; ``UNLINKED`` if there is none."""
    line: Int[np.ndarray, "C"]
    """Line of each content word of the references."""
    tenth: Int[np.ndarray, "C"]
    traces: dict[str, Trace]
    """``<system>/<text>`` -> its trace, for each text of ``TEXTS``."""
    found: dict[str, Bool[np.ndarray, "C"]]
    """``<system>/<text>`` -> whether the text contains each content word; without ``reference``."""


def places(translator: Translator, sources: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
    """Place of each word of ``texts``; [] for a blank line. The translator's pieces are words."""
    found: list[list[int]] = [[] for _ in texts]
    for forced in translator.force(sources, texts, DecodingConfig.batch_size):
        found[forced.line] = forced.weights[:-1, :-1].argmax(dim=1).tolist()
    return found


def no_end(evaluation: Evaluation, translator: Translator) -> Evaluation:
    """Evaluation with the end forbidden: the one that is there already, or a new one."""
    record = evaluation.record
    name = f"{record.test_set}-no-end"
    identity = {**record.identity, "end": "forbidden before as many pieces as the source has"}
    folder = evaluation.directory.with_name(f"{name}-{record.search}")
    if (folder / SCORES).exists():
        there = read_evaluation(folder)
        if there.record.identity == identity:
            return there
    search = check("", (record.config or {})["decoding"], DecodingConfig)
    forbidding = Translator.of_parts(**{**vars(translator), "model": NoEnd.of(translator)})
    said = forbidding.translate(evaluation.texts.sources, search)
    texts = replace(
        evaluation.texts,
        hypotheses=[one.text for one in said],
        capped=[one.capped for one in said],
        log_probabilities=[one.log_probability for one in said],
        reference_scores=None,
        maps=[],
    )
    made = replace(
        record, test_set=name, identity=identity, maps=[], **environment_record(translator.device)
    )
    return write_evaluation(folder, texts, evaluation.settings, made)


def write_traced(path: Path, traced: Traced) -> None:
    """Write the file, with the steps from place to place, which are small and often 1."""
    numbers = {"words": traced.words, "line": traced.line, "tenth": traced.tenth}
    arrays: dict[str, Any] = {name: of.astype(np.uint16) for name, of in numbers.items()}
    for name, of in {"gold": traced.gold, **traced.traces}.items():
        arrays[f"{name}/sizes"] = of.sizes.astype(np.uint16)
        arrays[f"{name}/steps"] = np.diff(of.places, prepend=0).astype(np.int16)
    arrays |= {f"{name}/found": np.packbits(of) for name, of in traced.found.items()}
    write_arrays(path, arrays)


def read_traced(path: Path) -> Traced | None:
    """Read the file of :func:`write_traced`; None if there is none."""
    if not path.exists():
        return None
    arrays = read_arrays(path)
    read = {name: of.astype(np.int64) for name, of in arrays.items() if "found" not in name}
    bits = {name: of for name, of in arrays.items() if name.endswith("/found")}
    names = [name.removesuffix("/sizes") for name in read if name.endswith("/sizes")]
    traces = {n: Trace(read[f"{n}/sizes"], read[f"{n}/steps"].cumsum()) for n in names}
    size = len(read["line"])
    return Traced(
        read["words"],
        traces.pop("gold"),
        read["line"],
        read["tenth"],
        traces,
        {n.removesuffix("/found"): np.unpackbits(b, count=size) > 0 for n, b in bits.items()},
    )


def trace(evaluation: Evaluation, before: Traced | None) -> Traced:
    """Trace the system of an evaluation; return it together with those traced ``before``."""
    texts, record = evaluation.texts, evaluation.record
    precision = PRECISIONS[record.identity["precision"]]
    translator = Translator(str(record.checkpoint), record.identity["device"], precision)
    if before is None:
        corpus = read_config(Path(str(record.checkpoint))).corpus
        assert isinstance(corpus, GrammarCorpus)
        first = [
            dict(sorted(((j, i) for i, j in pair.links), reverse=True))
            for pair in banded_pairs(corpus)
        ]
        gold = [
            [links.get(j, UNLINKED) for j in range(len(reference.split()))]
            for links, reference in zip(first, texts.references, strict=True)
        ]
        words = np.array([len(source.split()) for source in texts.sources])
        content = ContentWords.of(texts.references, SHARE)
        before = Traced(words, Trace.of(gold), content.line, content.place, {}, {})
    said = (texts.hypotheses, no_end(evaluation, translator).texts.hypotheses, texts.references)
    names = [f"{record.system}/{text}" for text in TEXTS]
    traces = {
        name: Trace.of(places(translator, texts.sources, lines))
        for name, lines in zip(names, said, strict=True)
    }
    content = ContentWords.of(texts.references, SHARE)
    found = {name: content.recalled(lines) for name, lines in zip(names[:2], said, strict=False)}
    return replace(before, traces=before.traces | traces, found=before.found | found)


def main(evaluations: Sequence[str], results: Path = RESULTS) -> None:
    """Trace each system that is not yet in the file of its experiment."""
    for folder in evaluations:
        evaluation = read_evaluation(Path(folder))
        path = results / str(evaluation.record.experiment) / "places.npz.xz"
        before = read_traced(path)
        if before is None or f"{evaluation.record.system}/always" not in before.traces:
            write_traced(path, trace(evaluation, before))
            print(path, evaluation.record.system)


if __name__ == "__main__":
    main(sys.argv[1:])
