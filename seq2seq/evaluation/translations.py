"""A translated test set, and its scores by source length (Bahdanau et al. 2014, Figure 2)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from seq2seq.config import EvaluationConfig, Natural, Stored
from seq2seq.data.text import read_lines
from seq2seq.errors import UserError
from seq2seq.evaluation.scores import (
    METRICS,
    bleu,
    brevity_ratio,
    bucket_members,
    perplexity,
    signatures,
    source_lengths,
    unpenalised_bleu,
)
from seq2seq.evaluation.significance import FEW, Interval, Pool, Samples


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


SCORES = *METRICS, "brevity_ratio", "unpenalised", "capped", "loss", "perplexity"
"""Keys of :class:`ScoreRow`'s ``scores``."""
ALL = "all"
ENDS = SHORT, LONG = "short", "long"
"""Labels of pools that are not buckets; the pools ``ENDS`` have no :class:`ScoreRow`."""


@dataclass(frozen=True)
class ScoreRow:
    """The scores of a system on one pool of sentences; each of ``scores`` is an attribute, too."""

    words: str
    """Source length of the sentences, such as ``11-20`` or ``61+``; otherwise ``all``."""
    sentences: int
    scores: dict[str, float | None] = field(default_factory=dict)
    """Means over seeds, on summed counts, of METRICS and, each None where it is unknown, of

    - ``brevity_ratio``: hypothesis tokens / reference tokens
    - ``unpenalised``: BLEU without its brevity penalty
    - ``capped``: number of hypotheses cut at the search's length limit
    - ``loss``: negative log-likelihood of the references, their ends included, in nats per piece
    - ``perplexity``: exp(mean loss)"""
    bleu_low: float | None = None
    bleu_high: float | None = None
    by_seed: list[float] = field(default_factory=list)
    """BLEU of each seed."""

    def __getattr__(self, name: str) -> float | None:
        if name not in SCORES:
            raise AttributeError(name)
        return self.scores.get(name)

    def as_json(self) -> dict[str, Any]:
        """Return the fields and the scores by name."""
        named = asdict(self)
        scores = named.pop("scores")
        return named | dict.fromkeys(SCORES) | scores

    @property
    def summary(self) -> str:
        return f"BLEU {self.bleu or 0:.2f}, chrF {self.chrf or 0:.2f}, {self.sentences} sentences"

    @property
    def few(self) -> bool:
        return self.sentences < FEW


def lines_by_length(sources: Sequence[str], config: EvaluationConfig, most: int) -> list[int]:
    """Choose at most ``most`` lines of each bucket, at even distances in the order of length.

    Returns sorted line numbers, from 0, without blank lines; they depend on the sources alone.
    """
    lengths = source_lengths(sources, config.unit)
    chosen: list[int] = []
    for members in bucket_members(lengths, config.edges).values():
        lines = np.flatnonzero(members & (lengths > 0))
        by_length = lines[np.argsort(lengths[lines], kind="stable")]
        parts = np.array_split(by_length, most)
        chosen += [int(part[len(part) // 2]) for part in parts if len(part)]
    return sorted(chosen)


def length_pools(lengths: Int[np.ndarray, "N"], config: EvaluationConfig) -> dict[str, Pool]:
    """Pools by label: buckets from short to long, ``ALL``, ``SHORT``, ``LONG``; or the user's, and
    ``ALL``."""
    if config.buckets is None:
        members, (short, long) = bucket_members(lengths, config.edges), config.ends
        members |= {ALL: lengths >= 0, SHORT: lengths <= short, LONG: lengths > long}
    else:
        labels = np.array([line.strip() for line in read_lines(Path(config.buckets))])
        if len(labels) != len(lengths) or {ALL, *ENDS} & {*labels}:
            raise UserError(
                f"evaluation.buckets={config.buckets} must have {len(lengths):,} lines, one for "
                f"each source, and none of the labels {ALL}, {SHORT} and {LONG}."
            )
        members = {label: labels == label for label in sorted({*labels.tolist()})}
        members[ALL] = lengths >= 0
    return {
        label: Pool(chosen, 0 if label == ALL else number, config.bootstrap, config.seed)
        for number, (label, chosen) in enumerate(members.items(), start=1)
    }


def bleu_samples(
    counts: Int[np.ndarray, "K N 10"], pools: Mapping[str, Pool]
) -> dict[str, Samples]:
    """BLEU, the mean over K seeds, on each pool that has sentences and on each of its resamples."""
    return {label: pool.estimate(counts, bleu) for label, pool in pools.items() if pool.sentences}


def mean_samples(values: Float[np.ndarray, "K N"], pools: Mapping[str, Pool]) -> dict[str, Samples]:
    """Mean of a value of each sentence, on the pools of :func:`bleu_samples`."""
    columns = np.stack([values, np.ones_like(values)], axis=2)
    return {
        label: pool.estimate(columns, lambda sums: sums[..., 0] / sums[..., 1])
        for label, pool in pools.items()
        if pool.sentences
    }


def score_rows(
    seeds: Sequence[tuple[Translations, Counts]],
    pools: Mapping[str, Pool],
    samples: Mapping[str, Samples] | None = None,
) -> list[ScoreRow]:
    """Score a system, of one or several seeds, on each pool except ``ENDS``.

    The intervals of BLEU come from ``samples``, see :func:`bleu_samples`.
    """
    texts, counts = zip(*seeds, strict=True)

    def mean(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return fmean(known) if len(known) == len(seeds) else None

    rows = []
    for label in (label for label in pools if label not in ENDS):
        chosen = np.flatnonzero(pools[label].members)
        if not len(chosen):
            rows.append(ScoreRow(label, 0))
            continue
        sums = {
            key: np.stack([of_seed.arrays[key][chosen].sum(axis=0) for of_seed in counts])
            for key in METRICS
        }
        found = {key: metric.score(sums[key]) for key, metric in METRICS.items()}
        found["brevity_ratio"] = brevity_ratio(sums["bleu"])
        found["unpenalised"] = unpenalised_bleu(sums["bleu"])
        loss = mean(reference_loss(of_seed.reference_scores, chosen) for of_seed in texts)
        scores = {
            **{key: float(of_seeds.mean()) for key, of_seeds in found.items()},
            "capped": mean(sum(t.capped[i] for i in chosen) if t.capped else None for t in texts),
            "loss": loss,
            "perplexity": None if loss is None else perplexity(loss),
        }
        row = ScoreRow(label, len(chosen), scores, by_seed=found["bleu"].tolist())
        if samples:
            interval = Interval.of(samples[label])
            row = replace(row, bleu_low=interval.low, bleu_high=interval.high)
        rows.append(row)
    return rows


def reference_loss(scored: ReferenceScores | None, chosen: Int[np.ndarray, "M"]) -> float | None:
    """Loss in nats per piece of the ``chosen`` references; None if not finite or without pieces."""
    if scored is None:
        return None
    pieces = np.array(scored.pieces)[chosen]
    losses = -np.array(scored.log_probabilities, dtype=np.float64)[chosen]  # None becomes NaN
    loss = math.fsum(losses[pieces > 0])
    return loss / pieces.sum() if pieces.any() and math.isfinite(loss) else None
