"""Evaluations with all that a report can show, maps, losses and hostile text; their reports."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.commands import draw_nothing
from helpers.synthetic_translations import evaluated, translated
from seq2seq.config import CompareConfig, EvaluationConfig
from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.translations import AttentionMap, ReferenceScores, lines_by_length
from seq2seq.report import compare

SETTINGS = EvaluationConfig(bootstrap=100)
LENGTHS = {5: 110, 12: 20, 25: 101, 64: 23}
HOSTILE = [
    "</script><script>alert(1)</script>",
    "\"quoted\" & <b>bold</b> 'single'",
    "שלום עולם, מה שלומך היום",
    "{{ 7 * 7 }} {% raw %} ${x} $title `y` <i> &amp;",
]
LABELS = {"fixed": "one vector", "additive": "$5|</title>/..", "dot": "$5|</title>_.."}


def write_report(
    folders: list[str], output: Path, baseline: str | None = "fixed", drawn: bool = False, **more
) -> tuple[Path, Comparison]:
    """Compare evaluation folders; return the report's folder and the comparison.

    If ``drawn``, the page has a real chart.
    """
    settings = {"baseline": baseline, "evaluation": SETTINGS, **more}
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch, ["compare"] if drawn else ["compare", "page"])
        config = CompareConfig(evaluations=folders, output=str(output), **settings)
        return output, compare.compare(config)


def write_material(root: Path) -> None:
    """Write evaluations of a system without attention, with two seeds, and of two with it."""
    qualities = {"fixed": lambda n: 0.9 - n / 80, "additive": lambda n: 0.9, "dot": lambda n: 0.85}
    for name, seed in (("fixed", 1), ("fixed", 2), ("additive", 1), ("dot", 3)):
        texts, luck = translated(LENGTHS, qualities[name], seed), random.Random(seed)
        for lines in (texts.sources, texts.references, texts.hypotheses):
            lines[:4] = HOSTILE
        if name == "fixed":
            texts.hypotheses[:4] = [""] * 4
        pieces = [len(reference.split()) + 1 for reference in texts.references]
        losses = ReferenceScores([-luck.expovariate(1.0) * count for count in pieces], pieces)
        maps = []
        for line in () if name == "fixed" else lines_by_length(texts.sources, SETTINGS, 3):
            source, said = texts.sources[line].split(), texts.hypotheses[line].split()
            weights = [[luck.random() / len(source) for _ in source] for _ in said]
            maps.append(AttentionMap(line, source, said, weights))
        texts = replace(texts, reference_scores=losses, maps=maps)
        config = {"model": {"attention": {"kind": name}}}
        evaluated(root / name / str(seed), texts, name, seed, config=config)
