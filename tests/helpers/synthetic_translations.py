"""Test sets with systems whose quality by source length is known by construction."""

import random
from collections.abc import Callable
from pathlib import Path

from seq2seq.config import EvaluationConfig, check
from seq2seq.evaluation.folder import Evaluation, write_evaluation
from seq2seq.evaluation.translations import Translations
from seq2seq.record import EvaluationRecord

USUAL = {"experiment": "trial", "corpus": "grammar", "test_set": "test", "search": "beam5"}
WORDS = [first + second for first in "abcdefghijklmnop" for second in "qrstuvwxyz"]


def translated(
    lengths: dict[int, int], quality: Callable[[int], float], seed: int = 1
) -> Translations:
    """``lengths[n]`` sources of n words; each hypothesis word is right with chance ``quality(n)``.

    Sources and references are the same for every quality and seed.
    """
    text, luck = random.Random(0), random.Random(seed)
    sources, hypotheses = [], []
    for length in (length for length, count in lengths.items() for _ in range(count)):
        words = [text.choice(WORDS) for _ in range(length)]
        said = [w if luck.random() < quality(length) else luck.choice(WORDS) for w in words]
        sources.append(" ".join(words))
        hypotheses.append(" ".join(said).upper())
    references, count = [source.upper() for source in sources], len(sources)
    return Translations(sources, references, hypotheses, [False] * count, [-1.5] * count)


def two_seeds(
    root: Path, qualities: dict[str, Callable[[int], float]], lengths: dict[int, int]
) -> list[Evaluation]:
    """Evaluations of each system with two seeds; ``qualities`` has its quality, by name."""
    return [
        evaluated(root / name / str(seed), translated(lengths, quality, seed), name, seed)
        for name, quality in qualities.items()
        for seed in (1, 2)
    ]


def evaluated(
    directory: Path,
    texts: Translations,
    system: str,
    seed: int | None = 1,
    settings: EvaluationConfig | None = None,
    **record: object,
) -> Evaluation:
    """Write an evaluation folder with the usual record."""
    said = check("", {**USUAL, "system": system, "seed": seed, **record}, EvaluationRecord)
    return write_evaluation(directory, texts, settings or EvaluationConfig(bootstrap=100), said)
