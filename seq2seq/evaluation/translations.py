"""A translated test set, line by line: text, losses, attention, counts for the corpus scores."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Int

from seq2seq.config import EvaluationConfig, Natural, Stored
from seq2seq.evaluation.scores import METRICS, signatures


@dataclass(frozen=True)
class ReferenceScores(Stored):
    """Losses of a test set's references, line by line, from forced decoding."""

    log_probabilities: list[float | None]
    """Log-probability of each reference, its end included, in nats; None if it is not finite, or if
    the source or reference is blank."""
    pieces: list[Natural]
    """Number of pieces of each reference, its end included; 0 if source or reference is blank."""


@dataclass(frozen=True)
class AttentionMap:
    """Attention between the words of a source and of its translation."""

    line: int
    """Line number in the test set, counted from 0."""
    source: list[str]
    """Words of the source that the model read."""
    hypothesis: list[str]
    weights: list[list[float]]
    """A row for each word of the hypothesis, a column for each word of the source. A row sums to 1
    minus the weight of the end of the sentence (less with ``local_p``)."""


@dataclass(frozen=True)
class Translations:
    """A translated test set, line by line: detokenised text, log-probabilities and attention."""

    sources: list[str]
    references: list[str]
    hypotheses: list[str]
    """Translations; empty lines are scored as empty translations."""
    capped: list[bool]
    """Whether the search stopped at its length limit; empty for ``hypotheses=FILE``."""
    log_probabilities: list[float | None] = field(default_factory=list)
    """Log-probability (nats) of each hypothesis, None if not finite; [] for ``hypotheses=FILE``."""
    reference_scores: ReferenceScores | None = None
    """None for ``hypotheses=FILE``, which has no model."""
    maps: list[AttentionMap] = field(default_factory=list)
    """Attention maps of a few lines; [] without attention, and for ``hypotheses=FILE``."""
    more_references: list[list[str]] = field(default_factory=list)
    """Lines of each further reference, for scores and reports; models do not score them."""

    def __post_init__(self) -> None:
        """Raise ValueError if the columns differ in length, or a map has a wrong line or shape."""
        columns: list[Any] = [self.hypotheses, *self.all_references]
        columns += [column for column in (self.capped, self.log_probabilities) if column]
        if self.reference_scores is not None:
            columns += vars(self.reference_scores).values()
        if any(len(column) != len(self) for column in columns):
            raise ValueError("the numbers of lines differ")
        for one in self.maps:
            width = {len(one.source)} if one.hypothesis else set()
            shape = len(one.weights), {len(row) for row in one.weights}
            if not 0 <= one.line < len(self) or shape != (len(one.hypothesis), width):
                raise ValueError(f"the map of line {one.line} does not fit this text")

    @property
    def all_references(self) -> list[list[str]]:
        return [self.references, *self.more_references]

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True)
class Counts:
    """Counts of each sentence for each of METRICS."""

    arrays: dict[str, Int[np.ndarray, "N _"]]
    signatures: dict[str, str]

    @classmethod
    def of(cls, texts: Translations, config: EvaluationConfig) -> "Counts":
        """Count the n-grams of each sentence; ``config`` names the tokenizer for BLEU."""
        lines, tokenize = (texts.hypotheses, *texts.all_references), config.tokenize
        arrays = {key: one.count(*lines, tokenize=tokenize) for key, one in METRICS.items()}
        return cls(arrays, signatures(tokenize, len(lines) - 1))

    @property
    def bleu(self) -> Int[np.ndarray, "N 10"]:
        return self.arrays["bleu"]

    def match(self, texts: Translations, config: EvaluationConfig) -> bool:
        """Whether new counts, with this ``config`` and version of sacreBLEU, would be the same."""
        ours = signatures(config.tokenize, len(texts.all_references))
        return ours.items() <= self.signatures.items() and self.arrays.keys() >= METRICS.keys()
