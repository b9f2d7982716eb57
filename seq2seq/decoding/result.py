"""What search and sampling find."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchResult:
    """One hypothesis for one sentence."""

    ids: list[int]
    """Without BOS and EOS."""
    score: float
    """What hypotheses rank by, see :mod:`seq2seq.decoding.ranking`; the length counts EOS."""
    log_probability: float
    """Sum over all pieces and EOS, in nats."""
    capped: bool
    """The longest allowed hypothesis, which the model had not ended."""
