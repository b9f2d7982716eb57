"""A translated test set, line by line: texts, counts for the scores, what the model said of it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Int

from seq2seq.config import EvaluationConfig, Natural
from seq2seq.evaluation.scores import bleu_counts, chrf_counts, signatures


@dataclass(frozen=True)
class ReferenceScores:
    """What a model says of a test set's references, line by line."""

    log_probabilities: list[float | None]
    """Log-probability of each reference, its end included, given the source, in nats; None where
    that is no finite number."""
    pieces: list[Natural]
    """Pieces of the reference, its end counted; 0 where a side is blank and nothing was scored."""
    known: list[bool] | None
    """Whether neither side holds an unknown word; None for a vocabulary of subwords."""
    piece_losses: list[list[float]]
    """Negative log-likelihood of each piece, in nats; an empty list where nothing was scored."""
    entropy: list[float | None] | None
    """Entropy of the attention in nats, the mean over a reference's pieces: 0 looks at one source
    piece, log S at all S alike. None for a model without attention."""
    off_diagonal: list[float | None] | None
    """Distance of the attention from the diagonal, the mean over a reference's pieces of the
    expected distance between the position it looks at in the source and its own in the target,
    both from 0 to 1: 0 is monotone, 1/3 is uniform in a long sentence. None like ``entropy``."""


@dataclass(frozen=True)
class AttentionMap:
    """Attention between the words of a source and of its translation."""

    line: int
    """Line of the test set, from 0."""
    source: list[str]
    """Words."""
    hypothesis: list[str]
    """Words."""
    weights: list[list[float]]
    """A row for each word of the hypothesis, a column for each of the source; a row sums to 1 less
    what went to the end of the sentence, or to less where the kind's weights do (local_p)."""


@dataclass(frozen=True)
class Translations:
    """A translated test set, line by line: detokenised text, and what the model said of it."""

    sources: list[str]
    references: list[str]
    hypotheses: list[str]
    """May hold empty lines, which are scored as such."""
    capped: list[bool]
    """True where the search stopped at its length limit; empty for text that was given."""
    log_probabilities: list[float | None] = field(default_factory=list)
    """Log-probability of each hypothesis, in nats; empty for text that was given."""
    reference_scores: ReferenceScores | None = None
    """None for text that was given."""
    maps: list[AttentionMap] = field(default_factory=list)
    """Maps of a few lines, the same for every system; none for a model without attention."""

    def __post_init__(self) -> None:
        """Raise ValueError where the columns are not of one length, or a map is not of its line."""
        columns: list[Any] = [self.references, self.hypotheses]
        columns += [column for column in (self.capped, self.log_probabilities) if column]
        if self.reference_scores is not None:
            columns += [c for c in vars(self.reference_scores).values() if c is not None]
        if any(len(column) != len(self) for column in columns):
            raise ValueError("there are not as many of each as sentences")
        for one in self.maps:
            width = {len(one.source)} if one.hypothesis else set()
            shape = len(one.weights), {len(row) for row in one.weights}
            if not 0 <= one.line < len(self) or shape != (len(one.hypothesis), width):
                raise ValueError(f"the map of line {one.line} is not of this text")

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True)
class Counts:
    """What each sentence adds to the corpus scores; see :mod:`seq2seq.evaluation.scores`."""

    bleu: Int[np.ndarray, "N 10"]
    chrf: Int[np.ndarray, "N 18"]
    signatures: dict[str, str]

    @classmethod
    def of(cls, texts: Translations, config: EvaluationConfig) -> "Counts":
        """Count with the tokenisation of ``config``."""
        pair = texts.hypotheses, texts.references
        return cls(
            bleu_counts(*pair, config.tokenize), chrf_counts(*pair), signatures(config.tokenize)
        )

    def match(self, config: EvaluationConfig) -> bool:
        """Whether they are counted as ``config`` asks for, by this version of sacreBLEU."""
        return signatures(config.tokenize).items() <= self.signatures.items()
