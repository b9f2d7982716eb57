"""Attention as word alignment, scored against gold links.

A model's links come from forced decoding of the references: each target word is linked to the
source word with the largest weight. Gold links are sure or only possible (Och & Ney 2003).
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seq2seq.config import Stored
from seq2seq.data.text import content_digest, read_lines
from seq2seq.decoding.hypothesis import Link
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.references import reference_links
from seq2seq.files import parse_object, write_json

log = logging.getLogger(__name__)

ALIGNMENT = "alignment.json"
LINK = re.compile(r"(\d+)([-p])(\d+)")


@dataclass(frozen=True)
class GoldLinks:
    """Gold links of one pair of sentences, words counted from 0."""

    sure: frozenset[Link]
    possible: frozenset[Link]
    """Possible links, the sure ones included."""


@dataclass(frozen=True)
class AlignmentScore:
    """Agreement of a model's links with the gold links over a whole text."""

    links: int
    sure: int
    precision: float
    """Fraction of the model's links that are among the possible gold links."""
    recall: float
    """Fraction of the sure gold links that are among the model's links."""
    aer: float
    """Alignment error rate: 1 - (|A & S| + |A & P|) / (|A| + |S|), where A are the model's links, S
    the sure links and P the possible links; 0 is best."""


@dataclass(frozen=True)
class AlignmentRecord(Stored):
    """Keys of alignment.json that other modules read, see :func:`score_alignment`."""

    shifts: dict[str, AlignmentScore]
    diagonal: AlignmentScore

    def __post_init__(self) -> None:
        if not {"-1", "0", "1"} <= self.shifts.keys():
            raise UserError("shifts must have the scores of -1, 0 and 1")


def read_gold(path: Path, pairs: Sequence[tuple[str, str]]) -> list[GoldLinks]:
    """Return the gold links of each pair, read from one line of the file per pair.

    ``2-1`` is a sure link of source word 2 and target word 1; ``2p1`` is a possible one. If no link
    has the number 0, words are counted from 1, as in Och & Ney's Hansards. Otherwise they are
    counted from 0, as in the Pharaoh format.

    The file is plain, .gz or .xz. ``pairs`` has the source and target of each line, with spaces
    between words. UserError if the numbers of lines and pairs differ, if a line holds something
    other than links, or if a link is beyond the end of a sentence.
    """
    lines = list(read_lines(path))
    if len(lines) != len(pairs):
        raise UserError(
            f"{path} has {len(lines)} lines of links for {len(pairs)} pairs of sentences; use the "
            "alignments of this test set."
        )
    parsed = [
        [_link(path, number, text) for text in line.split()]
        for number, line in enumerate(lines, start=1)
    ]
    first = 0 if any(0 in link[:2] for line in parsed for link in line) else 1
    gold = []
    for number, (line, pair) in enumerate(zip(parsed, pairs, strict=True), start=1):
        sizes = [len(side.split()) for side in pair]
        for source, target, _ in line:
            if source - first >= sizes[0] or target - first >= sizes[1]:
                raise UserError(
                    f"{path}, line {number}: a link is beyond a sentence (source word {source} of "
                    f"{sizes[0]}, target word {target} of {sizes[1]}, counted from {first}); use "
                    "the links of this test set."
                )
        possible = frozenset((source - first, target - first) for source, target, _ in line)
        sure = frozenset((s - first, t - first) for s, t, kind in line if kind == "-")
        gold.append(GoldLinks(sure, possible))
    return gold


def _link(path: Path, number: int, text: str) -> tuple[int, int, str]:
    match = LINK.fullmatch(text)
    if match is None:
        raise UserError(
            f"{path}, line {number}: {text[:20]} is not a link; write 2-3 for a sure link, 2p3 for "
            "a possible one."
        )
    return int(match[1]), int(match[3]), match[2]


def score_links(found: Sequence[Sequence[Link]], gold: Sequence[GoldLinks]) -> AlignmentScore:
    """Precision, recall and alignment error rate (Och & Ney 2003) over all sentences."""
    pairs = [(set(ours), theirs) for ours, theirs in zip(found, gold, strict=True)]
    links = sum(len(ours) for ours, _ in pairs)
    sure = sum(len(theirs.sure) for _, theirs in pairs)
    sure_hits = sum(len(ours & theirs.sure) for ours, theirs in pairs)
    possible_hits = sum(len(ours & theirs.possible) for ours, theirs in pairs)
    return AlignmentScore(
        links=links,
        sure=sure,
        precision=possible_hits / links if links else 0.0,
        recall=sure_hits / sure if sure else 0.0,
        aer=1 - (sure_hits + possible_hits) / (links + sure) if links + sure else 0.0,
    )


def score_alignment(
    links: Sequence[Sequence[Link]], pairs: Sequence[tuple[str, str]], gold: Sequence[GoldLinks]
) -> dict[str, Any]:
    """Score the links of attention, with two controls; return the scores for alignment.json.

    ``shifts`` has the scores of the links moved by -1, 0 and 1 target words. They show whether the
    attention is one step off. ``diagonal`` has the scores of links made without a model: each
    target word is linked to the source word at the same relative position.
    """
    words = [(len(source.split()), len(target.split())) for source, target in pairs]
    shifts = {}
    for by in (-1, 0, 1):
        moved = [shifted(line, by, count) for line, (_, count) in zip(links, words, strict=True)]
        shifts[str(by)] = asdict(score_links(moved, gold))
    straight = score_links([diagonal(*lengths) for lengths in words], gold)
    return {"sentences": len(links), "shifts": shifts, "diagonal": asdict(straight)}


def shifted(links: Sequence[Link], by: int, target_words: int) -> list[Link]:
    """Move each link ``by`` target words; drop the links that leave the sentence."""
    return [(source, target + by) for source, target in links if 0 <= target + by < target_words]


def diagonal(source_words: int, target_words: int) -> list[Link]:
    """Link each target word to the source word at the same relative position."""
    if not source_words:
        return []
    return [
        (round(target * (source_words - 1) / max(target_words - 1, 1)), target)
        for target in range(target_words)
    ]


def write_alignment(
    evaluation: Evaluation,
    translator: Translator,
    gold_file: Path | None,
    batch_size: int,
    required: bool,
) -> None:
    """Write alignment.json into the folder of an evaluation; without gold links, remove it.

    A file with the scores of the same evaluation and gold links is kept. Gold links that do not fit
    the text or the model's words are a UserError if they are ``required``, else only a warning.
    """
    path = evaluation.directory / ALIGNMENT
    if gold_file is None:
        path.unlink(missing_ok=True)
        return
    key = {"identity": evaluation.record.identity, "gold": content_digest(gold_file)}
    try:
        if parse_object(path.read_bytes()).items() >= key.items():
            return
    except (OSError, ValueError):
        pass
    sides = evaluation.texts.sources, evaluation.texts.references
    pairs = list(zip(*sides, strict=True))
    try:
        gold = read_gold(gold_file, pairs)
        links = reference_links(translator, *sides, batch_size)
    except UserError as error:
        if required:
            raise
        path.unlink(missing_ok=True)
        log.warning("Attention is not scored against the gold links %s: %s", gold_file, error)
        return
    content = score_alignment(links, pairs, gold)
    write_json(path, {**key, **content})
    log.info("%s: alignment error rate %.3f", path, content["shifts"]["0"]["aer"])
