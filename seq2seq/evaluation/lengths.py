"""Scores by source length, as in Bahdanau, Cho & Bengio 2014, Figure 2, with intervals."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
from jaxtyping import Bool, Int

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.scores import (
    bleu,
    brevity_ratio,
    bucket_members,
    chrf,
    perplexity,
    source_words,
    unpenalised_bleu,
)
from seq2seq.evaluation.significance import FEW, bleu_interval
from seq2seq.evaluation.translations import Counts, ReferenceScores, Translations

ALL = "all"
KNOWN = "no unknown words"


@dataclass(frozen=True)
class ScoreRow:
    """The scores of a system on one bucket of source length, or on all sentences.

    Of several seeds each score is the mean; all are None where there are no sentences.
    """

    words: str
    """Source length: ``11-20`` or ``61+``; ``all``, or ``no unknown words``."""
    sentences: int
    bleu: float | None = None
    """Corpus BLEU over these sentences (their counts summed, never a mean of sentence scores)."""
    bleu_low: float | None = None
    """Bootstrap interval over these sentences, the trained models held fixed."""
    bleu_high: float | None = None
    by_seed: list[float] = field(default_factory=list)
    """BLEU of each seed."""
    chrf: float | None = None
    brevity_ratio: float | None = None
    """Hypothesis tokens / reference tokens."""
    unpenalised: float | None = None
    """BLEU without its brevity penalty, which lowers it where translations are too short."""
    capped: float | None = None
    """Hypotheses cut at the length limit of the search; None, too, for text that was given."""
    loss: float | None = None
    """Negative log-likelihood of the references in nats per piece, their ends included, without
    pairs with a blank side; None, too, for text that was given."""
    perplexity: float | None = None
    """exp(loss)."""

    @property
    def few(self) -> bool:
        """Whether there are fewer than 100 sentences."""
        return self.sentences < FEW


def lines_by_length(sources: Sequence[str], edges: Sequence[int], each: int) -> list[int]:
    """A few lines of every bucket, ``each`` or all it has, spread over its lengths.

    They depend on the sources alone, so that all systems show the same ones.
    """
    words = source_words(sources)
    chosen: list[int] = []
    for members in bucket_members(words, edges).values():
        lines = np.flatnonzero(members & (words > 0))
        by_length = lines[np.argsort(words[lines], kind="stable")]
        parts = np.array_split(by_length, min(each, len(lines))) if len(lines) else []
        chosen += [int(part[len(part) // 2]) for part in parts]
    return sorted(chosen)


def score_rows(
    seeds: Sequence[tuple[Translations, Counts]], config: EvaluationConfig
) -> list[ScoreRow]:
    """Score one system, of one or several seeds: each bucket of source length, then all sentences.

    A last row has the sentences without an unknown word (Bahdanau et al. 2014, Table 1), where the
    models know which these are and not all are.
    """
    texts, counts = zip(*seeds, strict=True)
    stacked = np.stack([of_seed.bleu for of_seed in counts])

    def mean(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return fmean(known) if len(known) == len(seeds) else None

    def row(label: str, members: Bool[np.ndarray, "N"]) -> ScoreRow:
        chosen = np.flatnonzero(members)
        if not len(chosen):
            return ScoreRow(label, 0)
        sums = stacked[:, chosen].sum(axis=1)
        interval = bleu_interval(stacked[:, chosen], config)
        loss = mean(reference_loss(of_seed.reference_scores, chosen) for of_seed in texts)
        return ScoreRow(
            words=label,
            sentences=len(chosen),
            bleu=interval.value,
            bleu_low=interval.low,
            bleu_high=interval.high,
            by_seed=bleu(sums).tolist(),
            chrf=fmean(chrf(of_seed.chrf[chosen].sum(axis=0)) for of_seed in counts),
            brevity_ratio=float(brevity_ratio(sums).mean()),
            unpenalised=float(unpenalised_bleu(sums).mean()),
            capped=mean(sum(t.capped[i] for i in chosen) if t.capped else None for t in texts),
            loss=loss,
            perplexity=None if loss is None else perplexity(loss),
        )

    words = source_words(texts[0].sources)
    rows = [row(*bucket) for bucket in bucket_members(words, config.length_buckets).items()]
    rows.append(row(ALL, np.ones(len(words), dtype=bool)))
    scored = texts[0].reference_scores
    if scored is not None and scored.known is not None and not all(scored.known):
        rows.append(row(KNOWN, np.array(scored.known)))
    return rows


def reference_loss(scores: ReferenceScores | None, chosen: Int[np.ndarray, "M"]) -> float | None:
    """Per piece, over sentences that have pieces; None where there are none, or one is infinite."""
    if scores is None:
        return None
    scored = [i for i in chosen if scores.pieces[i]]
    finite = [value for i in scored if (value := scores.log_probabilities[i]) is not None]
    if not scored or len(finite) < len(scored):
        return None
    return -math.fsum(finite) / sum(scores.pieces[i] for i in scored)
