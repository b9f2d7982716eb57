"""How translations are scored."""

from dataclasses import dataclass, field
from typing import Annotated

from seq2seq.config.checks import Count, Natural, Settings, between, one_of, rising


@dataclass(kw_only=True)
class EvaluationConfig(Settings):
    """How translations are scored: buckets of source length and intervals."""

    length_buckets: Annotated[list[Count], rising] = field(
        default_factory=lambda: [10, 20, 30, 40, 50, 60]
    )
    """Upper edges of the length buckets in source words; the last bucket is open."""
    bootstrap: Annotated[int, between(100, 1_000_000)] = 1_000
    """Bootstrap resamples for intervals and paired tests."""
    seed: Natural = 12_345
    """Seed of the resampling."""
    confidence: Annotated[float, between(0.5, 0.999)] = 0.95
    """Coverage of the intervals."""
    tokenize: Annotated[str, one_of("13a", "none", "intl", "char")] = "13a"
    """How sacreBLEU cuts text for BLEU: 13a (what is usual) | none (at spaces alone, for text in
    tokens) | intl | char. Dev BLEU in training is always that of 13a."""
