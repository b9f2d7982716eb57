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
    """In nats, of each reference with its end; None if not finite, or if a side is blank."""
    pieces: list[Natural]
    """Number of pieces of each reference with its end; 0 if a side is blank."""


@dataclass(frozen=True)
class AttentionMap:
    """Attention between the words of a source and of its translation."""

    line: int
    """Line number in the test set, counted from 0."""
    source: list[str]
    hypothesis: list[str]
    weights: list[list[float]]
    """A row for each word of the hypothesis, which sums to 1 minus the weight of the end of the
    sentence (less with ``local_p``); a column for each word of the source."""


@dataclass(frozen=True)
class Translations:
    """A translated test set, line by line: detokenised text, log-probabilities and attention."""

    sources: list[str]
    references: list[str]
    hypotheses: list[str]
    capped: list[bool]
    """Whether the search stopped at its length limit; empty without a model."""
    log_probabilities: list[float | None] = field(default_factory=list)
    """Log-probability (nats) of each hypothesis, None if not finite; empty without a model."""
    reference_scores: ReferenceScores | None = None
    maps: list[AttentionMap] = field(default_factory=list)
    """Attention maps of a few lines; [] without attention."""
    more_references: list[list[str]] = field(default_factory=list)
    """Lines of each further reference; models do not score them."""
    scores: dict[str, list[float]] = field(default_factory=dict)
    """Name of a score that another program or a person gave -> its value for each line."""

    def __post_init__(self) -> None:
        """Raise ValueError if the columns differ in length, or a map has a wrong line or shape."""
        columns: list[Any] = [self.hypotheses, *self.all_references, *self.scores.values()]
        columns += [column for column in (self.capped, self.log_probabilities) if column]
        columns += vars(self.reference_scores).values() if self.reference_scores else []
        if any(len(column) != len(self) for column in columns):
            raise ValueError("the numbers of lines differ")
        for one in self.maps:
            wrong = {len(row) for row in one.weights} - {len(one.source)}
            if wrong or len(one.weights) != len(one.hypothesis) or not 0 <= one.line < len(self):
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
    def of(
        cls, texts: Translations, config: EvaluationConfig, stored: "Counts | None" = None
    ) -> "Counts":
        """Count each metric, unless it is ``stored`` with the signature that it has now."""
        lines, arrays = (texts.hypotheses, *texts.all_references), {}
        ours, before = signatures(config.tokenize, len(lines) - 1), stored or cls({}, {})
        for key, metric in METRICS.items():
            same = before.signatures.get(metric.name) == ours[metric.name]
            if same and key in before.arrays:
                arrays[key] = before.arrays[key]
            else:
                arrays[key] = metric.count(*lines, tokenize=config.tokenize)
        return cls(arrays, ours)

    @property
    def bleu(self) -> Int[np.ndarray, "N 10"]:
        return self.arrays["bleu"]
