"""Scores by source length (Bahdanau, Cho & Bengio 2014, Figure 2), and the pools of sentences."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.scores import (
    METRICS,
    bleu,
    brevity_ratio,
    bucket_members,
    perplexity,
    source_lengths,
    unpenalised_bleu,
)
from seq2seq.evaluation.significance import FEW, Interval, Pool, Samples
from seq2seq.evaluation.translations import Counts, ReferenceScores, Translations

SCORES = *METRICS, "brevity_ratio", "unpenalised", "capped", "loss", "perplexity"
"""Keys of :class:`ScoreRow`'s ``scores``."""
ALL = "all"
ENDS = SHORT, LONG = "short", "long"
"""Labels of pools that are not buckets. The pools ``ENDS`` overlap with the buckets, and have no
:class:`ScoreRow`."""


@dataclass(frozen=True)
class ScoreRow:
    """The scores of a system on one pool of sentences, such as a bucket of source length.

    Each score is an attribute, too, and None where it is missing, as all are without sentences.
    """

    words: str
    """Label of the sentences: their source length in the unit of the settings, such as ``11-20`` or
    ``61+``; otherwise ``all``."""
    sentences: int
    scores: dict[str, float | None] = field(default_factory=dict)
    """Means over seeds of each of METRICS, on summed counts, and of these:

    - ``brevity_ratio``: hypothesis tokens / reference tokens
    - ``unpenalised``: BLEU without its brevity penalty, which lowers BLEU if translations are short
    - ``capped``: number of hypotheses cut at the search's length limit; None for a file's text
    - ``loss``: negative log-likelihood of the references, their ends included, in nats per piece,
      without pairs with a blank side; None if it is not finite, or for a file's text
    - ``perplexity``: exp(mean loss)"""
    bleu_low: float | None = None
    bleu_high: float | None = None
    """Lower and upper end of the bootstrap interval; None if no interval was computed."""
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
        return {**named, **dict.fromkeys(SCORES), **scores}

    @property
    def summary(self) -> str:
        return f"BLEU {self.bleu or 0:.2f}, chrF {self.chrf or 0:.2f}, {self.sentences} sentences"

    @property
    def few(self) -> bool:
        return self.sentences < FEW


def lines_by_length(sources: Sequence[str], config: EvaluationConfig, most: int) -> list[int]:
    """Choose at most ``most`` lines of each bucket, at even distances in the order of length.

    Returns sorted line numbers, counted from 0, without blank lines. Only the sources decide, so
    that all systems show the same lines.
    """
    lengths = source_lengths(sources, config.unit)
    chosen: list[int] = []
    for members in bucket_members(lengths, config.edges).values():
        lines = np.flatnonzero(members & (lengths > 0))
        by_length = lines[np.argsort(lengths[lines], kind="stable")]
        parts = np.array_split(by_length, min(most, len(lines))) if len(lines) else []
        chosen += [int(part[len(part) // 2]) for part in parts]
    return sorted(chosen)


def length_pools(lengths: Int[np.ndarray, "N"], config: EvaluationConfig) -> dict[str, Pool]:
    """Pools by label: buckets of source length from short to long, ``ALL``, ``SHORT`` and ``LONG``.

    ``lengths`` are those of the sources, in ``config.unit``.
    """
    members = bucket_members(lengths, config.edges)
    members |= {ALL: np.ones(len(lengths), dtype=bool)}
    short, long = config.ends
    members |= {SHORT: lengths <= short, LONG: lengths > long}
    return {
        label: Pool(chosen, 0 if label == ALL else number, config.bootstrap, config.seed)
        for number, (label, chosen) in enumerate(members.items(), start=1)
    }


def bleu_samples(
    counts: Int[np.ndarray, "K N 10"], pools: Mapping[str, Pool]
) -> dict[str, Samples]:
    """BLEU, the mean over K seeds, on each pool of sentences and on each of its resamples.

    ``counts`` has the n-gram counts of each sentence. Pools without sentences are left out.
    """
    return {label: pool.estimate(counts, bleu) for label, pool in pools.items() if pool.sentences}


def score_rows(
    seeds: Sequence[tuple[Translations, Counts]], pools: Mapping[str, Pool]
) -> list[ScoreRow]:
    """Score a system, of one or several seeds, on each pool except ``ENDS``."""
    texts, counts = zip(*seeds, strict=True)
    stacked = {key: np.stack([of_seed.arrays[key] for of_seed in counts]) for key in METRICS}

    def mean(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return fmean(known) if len(known) == len(seeds) else None

    rows = []
    for label, pool in pools.items():
        if label in ENDS:
            continue
        chosen = np.flatnonzero(pool.members)
        if not len(chosen):
            rows.append(ScoreRow(label, 0))
            continue
        sums = {key: of[:, chosen].sum(axis=1) for key, of in stacked.items()}
        found = {key: metric.score(sums[key]) for key, metric in METRICS.items()}
        loss = mean(reference_loss(of_seed.reference_scores, chosen) for of_seed in texts)
        scores = {
            **{key: float(of.mean()) for key, of in found.items()},
            "brevity_ratio": float(brevity_ratio(sums["bleu"]).mean()),
            "unpenalised": float(unpenalised_bleu(sums["bleu"]).mean()),
            "capped": mean(sum(t.capped[i] for i in chosen) if t.capped else None for t in texts),
            "loss": loss,
            "perplexity": None if loss is None else perplexity(loss),
        }
        rows.append(ScoreRow(label, len(chosen), scores, by_seed=found["bleu"].tolist()))
    return rows


def with_intervals(
    rows: Sequence[ScoreRow], samples: Mapping[str, Samples], confidence: float
) -> list[ScoreRow]:
    """Return the rows with intervals of BLEU, computed from ``samples``."""
    found = []
    for row in rows:
        if row.sentences:
            interval = Interval.of(samples[row.words], confidence)
            row = replace(row, bleu_low=interval.low, bleu_high=interval.high)
        found.append(row)
    return found


def reference_losses(scored: ReferenceScores) -> Float[np.ndarray, "N 2"]:
    """Loss in nats and number of pieces of each reference.

    Both are 0 for a pair whose source or reference is blank; a loss that is not finite is NaN.
    """
    losses = [
        (0.0 if not pieces else np.nan if log_probability is None else -log_probability, pieces)
        for log_probability, pieces in zip(scored.log_probabilities, scored.pieces, strict=True)
    ]
    return np.array(losses, dtype=np.float64)


def reference_loss(scored: ReferenceScores | None, chosen: Int[np.ndarray, "M"]) -> float | None:
    """Loss in nats per piece of the ``chosen`` references; None if not finite or without pieces."""
    if scored is None:
        return None
    losses, pieces = reference_losses(scored)[chosen].T
    loss = math.fsum(losses)
    return loss / pieces.sum() if pieces.any() and math.isfinite(loss) else None


def known_bits(
    pool: Pool, losses: Float[np.ndarray, "K N 2"], without: Float[np.ndarray, "L N 2"]
) -> Samples:
    """Bits per reference piece by which the source lowers the loss.

    They are the loss of a system that sees nothing of the source (``without``) minus ``losses``.
    Both arguments have the values of :func:`reference_losses` for each seed. A pool without pieces
    has 0 bits.
    """
    return bits_per_piece(pool, without) - bits_per_piece(pool, losses)


def bits_per_piece(pool: Pool, losses: Float[np.ndarray, "K N 2"]) -> Samples:
    """Loss in bits per reference piece; ``losses`` are those of :func:`reference_losses`."""
    columns = losses / [np.log(2), 1]
    return pool.estimate(columns, lambda sums: sums[..., 0] / np.maximum(sums[..., 1], 1))
