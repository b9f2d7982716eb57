"""Evaluations with all that a page can show: maps, losses, hostile text."""

import dataclasses
import random
from pathlib import Path

from helpers.synthetic_translations import evaluated, translated
from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.lengths import lines_by_length
from seq2seq.evaluation.translations import AttentionMap, ReferenceScores, Translations
from seq2seq.report.page import render_page
from seq2seq.report.tables import bleu_table, growth_table, notes

SETTINGS = EvaluationConfig(bootstrap=100)
LENGTHS = {5: 110, 12: 4, 25: 101, 64: 3}
HOSTILE = (
    "</script><script>alert(1)</script>",
    "\"quoted\" & <b>bold</b> 'single'",
    "שלום עולם, מה שלומך היום",
    "{{ 7 * 7 }} {% raw %} ${x} $title `y` <i> &amp;",
)


def attended(texts: Translations, seed: int, attends: bool = True) -> Translations:
    """The texts with what a model would say of them; all numbers are drawn by ``seed``."""
    luck = random.Random(seed)
    pieces = [len(reference.split()) + 1 for reference in texts.references]
    losses = [luck.expovariate(1.0) * count for count in pieces]
    lines = lines_by_length(texts.sources, SETTINGS, 3)
    maps = [_map(line, texts, luck) for line in lines]
    return dataclasses.replace(
        texts,
        reference_scores=ReferenceScores([-one for one in losses], pieces),
        maps=maps if attends else [],
    )


def _map(line: int, texts: Translations, luck: random.Random) -> AttentionMap:
    source, said = texts.sources[line].split(), texts.hypotheses[line].split()
    weights = [[round(luck.random() / len(source), 4) for _ in source] for _ in said]
    return AttentionMap(line, source, said, weights)


def hostile(texts: Translations, silent: bool) -> Translations:
    """Replace the first lines by text that breaks a careless page; ``silent`` hypotheses by ""."""
    count = len(HOSTILE)
    return dataclasses.replace(
        texts,
        sources=[*HOSTILE, *texts.sources[count:]],
        references=[*HOSTILE, *texts.references[count:]],
        hypotheses=[*([""] * count if silent else HOSTILE), *texts.hypotheses[count:]],
    )


def material(root: Path) -> list[Evaluation]:
    """Evaluations of a system without attention, with two seeds, and of two with attention."""
    qualities = {
        "fixed": (lambda n: 0.9 - n / 80, (1, 2), False),
        "additive": (lambda n: 0.9, (1,), True),
        "</title>&\"dot'": (lambda n: 0.85, (1,), True),
    }
    return [
        evaluated(
            root / str(place) / str(seed),
            attended(
                hostile(translated(LENGTHS, quality, 10 * place + seed), not attends), seed, attends
            ),
            name,
            seed,
        )
        for place, (name, (quality, seeds, attends)) in enumerate(qualities.items())
        for seed in seeds
    ]


def page_of(comparison: Comparison) -> bytes:
    figures = {"Another figure": b"<svg></svg>"}
    tables = [bleu_table(comparison)]
    tables += [growth_table(comparison)] if comparison.gaps else []
    return render_page(comparison, figures, tables, notes(comparison))
