"""How translations are searched for and scored."""

from dataclasses import dataclass, field

from seq2seq.config.checks import require_range
from seq2seq.errors import UserError


@dataclass(kw_only=True)
class DecodingConfig:
    """How a trained model searches for a translation."""

    beam: int = 5
    """Hypotheses kept per sentence; 1 is greedy search."""
    length_normalization: float = 1.0
    """Finished hypotheses rank by log-probability / length ** this; 0 for none, 1 for average."""
    batch_size: int = 64
    """Sentences searched together; changes speed only."""
    max_ratio: float = 2.0
    """A hypothesis ends at max_ratio x source pieces + max_extra pieces."""
    max_extra: int = 10
    """See max_ratio."""

    def __post_init__(self) -> None:
        require_range("decoding.beam", self.beam, 1)
        require_range("decoding.length_normalization", self.length_normalization, 0)
        require_range("decoding.batch_size", self.batch_size, 1)
        require_range("decoding.max_ratio", self.max_ratio, 0)
        require_range("decoding.max_extra", self.max_extra, 1)

    @property
    def name(self) -> str:
        """``greedy`` or ``beam5``: how folders and tables call this search."""
        return "greedy" if self.beam == 1 else f"beam{self.beam}"


@dataclass(kw_only=True)
class EvaluationConfig:
    """How translations are scored: buckets of source length and intervals."""

    edges: list[int] = field(default_factory=lambda: [10, 20, 30, 40, 50, 60])
    """Upper edges of the length buckets in source words; the last bucket is open."""
    bootstrap: int = 1_000
    """Bootstrap resamples for intervals and paired tests."""
    seed: int = 12_345
    """Seed of the resampling."""
    confidence: float = 0.95
    """Coverage of the intervals."""

    def __post_init__(self) -> None:
        if not self.edges or sorted(set(self.edges)) != list(self.edges) or self.edges[0] < 1:
            raise UserError(
                f"evaluation.edges={list(self.edges)} must be rising positive numbers of words, "
                "such as [10, 20, 30]."
            )
        require_range("evaluation.bootstrap", self.bootstrap, 100)
        require_range("evaluation.confidence", self.confidence, 0.5, 0.999)
