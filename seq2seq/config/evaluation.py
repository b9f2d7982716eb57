"""Settings of the scoring: length buckets, bootstrap, tokenization for BLEU."""

from dataclasses import dataclass, field
from typing import Annotated

from seq2seq.config.checks import Count, Natural, Settings, between, one_of, rising


@dataclass(kw_only=True)
class EvaluationConfig(Settings):
    """Settings of the scoring: length buckets, bootstrap, tokenization for BLEU."""

    length_buckets: Annotated[list[Count], rising] = field(
        default_factory=lambda: [10, 20, 30, 40, 50, 60]
    )
    """Upper limits of the length buckets, in source words; one more bucket holds longer
    sentences."""
    bootstrap: Annotated[int, between(100, 1_000_000)] = 1_000
    """Number of bootstrap resamples for intervals and paired tests."""
    seed: Natural = 12_345
    """Seed of the bootstrap."""
    confidence: Annotated[float, between(0.5, 0.999)] = 0.95
    """Confidence level of the intervals."""
    tokenize: Annotated[str, one_of("13a", "none", "intl", "char")] = "13a"
    """sacreBLEU tokenizer: 13a (the usual one) | none (split at spaces, for tokenized text) |
    intl | char. Dev BLEU in training always uses 13a."""
