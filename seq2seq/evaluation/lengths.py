"""Scores by source length, as in Bahdanau, Cho & Bengio 2014, Figure 2, with intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from seq2seq.config import EvaluationConfig
from seq2seq.data.text import word_count
from seq2seq.evaluation.scores import (
    ReferenceScores,
    Signatures,
    Translations,
    bleu,
    bleu_counts,
    brevity_ratio,
    chrf,
    signatures,
    ter,
    ter_counts,
)
from seq2seq.evaluation.significance import bleu_interval

FEW = 100
"""A row of fewer sentences is marked: its score moves too much to conclude from."""

ALL = "all"
KNOWN = "no unknown words"


@dataclass(frozen=True)
class LengthScore:
    """The score of one bucket, or of the whole test set; the scores of no sentences are None."""

    words: str
    """Source length: ``11-20`` or ``61+``; ``all``, or ``no unknown words``."""
    sentences: int
    few: bool
    """Fewer than 100 sentences."""
    bleu: float | None
    """Corpus BLEU over these sentences (their counts summed, never a mean of sentence scores)."""
    bleu_low: float | None
    """Bootstrap interval over these sentences."""
    bleu_high: float | None
    chrf: float | None
    brevity_ratio: float | None
    """Hypothesis tokens / reference tokens."""
    capped: int | None
    """Hypotheses that the search cut at its length limit; None where nobody knows."""
    ter: float | None = None
    """Edits per 100 words of the references; None, too, where it is not asked for."""
    loss: float | None = None
    """Negative log-likelihood per piece of the references, their ends included, in nats; pairs with
    a blank side have no part in it. None, too, where no model was asked."""
    perplexity: float | None = None
    """exp(loss)."""

    @property
    def unpenalised(self) -> float | None:
        """BLEU but for its brevity penalty (Papineni et al. 2002), exp(1 - 1 / brevity_ratio).

        That lowers BLEU where translations are shorter than the references: what remains is how
        well the words fit that were said.
        """
        if self.bleu is None or not self.brevity_ratio:
            return self.bleu
        return self.bleu / math.exp(min(0.0, 1 - 1 / self.brevity_ratio))


@dataclass(frozen=True)
class Scores:
    """What an evaluation says: the whole test set, then each bucket of source length."""

    overall: LengthScore
    buckets: list[LengthScore]
    empty_sources: int
    """Source lines without a word; they count in the first bucket."""
    signatures: Signatures
    settings: EvaluationConfig
    known: LengthScore | None = None
    """The sentences without an unknown word on either side, as in Bahdanau et al. 2014, Table 1;
    None where that is not known, or all of them."""


def bucket_labels(edges: Sequence[int]) -> list[str]:
    """Name the buckets that end at ``edges``: [10, 20] makes 1-10, 11-20 and 21+."""
    starts = [1, *(edge + 1 for edge in edges)]
    closed = [f"{start}-{end}" for start, end in zip(starts, edges, strict=False)]
    return [*closed, f"{starts[-1]}+"]


def source_words(sources: Sequence[str]) -> Int[np.ndarray, "N"]:
    """Length of each source in words: the one measure behind every bucket and limit."""
    return np.array([word_count(source) for source in sources], dtype=np.int64)


def bucket_members(
    words: Int[np.ndarray, "N"], edges: Sequence[int]
) -> dict[str, Bool[np.ndarray, "N"]]:
    """Which sentences fall in which bucket, each in exactly one.

    An empty source (0 words) counts in the first, so that the buckets add up to the test set.
    """
    number = np.searchsorted(np.asarray(edges), words, side="left")
    return {label: number == index for index, label in enumerate(bucket_labels(edges))}


def lines_by_length(sources: Sequence[str], edges: Sequence[int], each: int) -> list[int]:
    """A few lines of every bucket, ``each`` or all it has, spread over its lengths.

    They depend on nothing but the sources, so that all systems show the same ones.
    """
    words = source_words(sources)
    chosen: list[int] = []
    for members in bucket_members(words, edges).values():
        lines = np.flatnonzero(members & (words > 0))
        by_length = lines[np.argsort(words[lines], kind="stable")]
        parts = np.array_split(by_length, min(each, len(lines))) if len(lines) else []
        chosen += [int(part[len(part) // 2]) for part in parts]
    return sorted(chosen)


def score_texts(texts: Translations, config: EvaluationConfig) -> Scores:
    """Score a translated test set as a whole and by source length."""
    counts = bleu_counts(texts.hypotheses, texts.references, config.tokenize)
    edits = ter_counts(texts.hypotheses, texts.references) if config.ter else None
    words = source_words(texts.sources)

    def score(label: str, members: Bool[np.ndarray, "N"]) -> LengthScore:
        chosen = np.flatnonzero(members)
        if not len(chosen):
            capped = 0 if texts.capped else None
            return LengthScore(label, 0, True, None, None, None, None, None, capped)
        sums = counts[chosen].sum(axis=0)
        low, high = bleu_interval(counts[None, chosen], config)
        loss = reference_loss(texts.reference_scores, chosen)
        return LengthScore(
            words=label,
            sentences=len(chosen),
            few=len(chosen) < FEW,
            bleu=float(bleu(sums)),
            bleu_low=low,
            bleu_high=high,
            chrf=chrf([texts.hypotheses[i] for i in chosen], [texts.references[i] for i in chosen]),
            brevity_ratio=brevity_ratio(sums),
            capped=sum(texts.capped[i] for i in chosen) if texts.capped else None,
            ter=None if edits is None else ter(edits[chosen].sum(axis=0)),
            loss=loss,
            perplexity=None if loss is None else perplexity(loss),
        )

    said = texts.reference_scores
    known = np.array(said.known) if said is not None and said.known is not None else None
    return Scores(
        overall=score(ALL, np.ones(len(texts), dtype=bool)),
        buckets=[score(*bucket) for bucket in bucket_members(words, config.length_buckets).items()],
        empty_sources=int(np.count_nonzero(words == 0)),
        signatures=signatures(config.tokenize, config.ter),
        settings=config,
        known=None if known is None or known.all() else score(KNOWN, known),
    )


def reference_loss(said: ReferenceScores | None, chosen: Int[np.ndarray, "M"]) -> float | None:
    """Per piece, over sentences that have pieces; None where there are none, or one is infinite."""
    if said is None:
        return None
    scored = [i for i in chosen if said.pieces[i]]
    log_probabilities = [said.log_probabilities[i] for i in scored]
    finite = [value for value in log_probabilities if value is not None]
    if not scored or len(finite) < len(scored):
        return None
    return -math.fsum(finite) / sum(said.pieces[i] for i in scored)


def perplexity(loss: float) -> float | None:
    """exp(loss); None where it is more than a number of 64 bits can hold."""
    try:
        return math.exp(loss)
    except OverflowError:
        return None
