"""Corpus BLEU, chrF and TER of translations, by sacreBLEU, and the sums they are made of.

Corpus BLEU (Papineni et al. 2002) is a function of ten counts summed over sentences. Keeping the
counts of each sentence makes the score of any subset, or of any resample, one sum away; that is
what scores by length and significance tests are built on. Corpus TER (Snover et al. 2006) has two.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int, Num
from sacrebleu.metrics import BLEU, CHRF, TER

from seq2seq.errors import UserError

ORDER = 4
"""Longest n-gram of BLEU. Columns of the counts: hypothesis tokens, reference tokens, matched
n-grams of 1 to 4 tokens, hypothesis n-grams of 1 to 4 tokens."""


@dataclass(frozen=True)
class ReferenceScores:
    """What a model says of a test set's references, line by line."""

    log_probabilities: list[float | None]
    """Of the whole reference, its end included, given the source, in nats; None where that is no
    finite number."""
    pieces: list[int]
    """Pieces of the reference, its end counted; 0 where a side is blank and nothing was scored."""
    known: list[bool] | None
    """Whether neither side holds an unknown word; None for a vocabulary of subwords."""
    piece_losses: list[list[float]] | None = None
    """Negative log-likelihood of each piece, in nats; an empty list where nothing was scored. None
    in evaluations of earlier versions."""
    entropy: list[float | None] | None = None
    """Of the attention, in nats, the mean over a reference's pieces: 0 looks at one source piece,
    log S at all S alike. None for a model that does not attend, and in earlier versions."""
    off_diagonal: list[float | None] | None = None
    """How far the attention is from the diagonal, the mean over a reference's pieces of the
    expected distance between where in the source it looks and where in the target it is, both from
    0 to 1: 0 is monotone, 1/3 is everywhere alike in a long sentence (0.39 in one of 6 pieces for
    6). None like ``entropy``."""


@dataclass(frozen=True)
class AttentionMap:
    """Where a model looked for each word of a translation: one picture like Figure 3 of
    Bahdanau et al. 2014."""

    line: int
    """Of the test set, from 0."""
    source: list[str]
    """Words."""
    hypothesis: list[str]
    """Words."""
    weights: list[list[float]]
    """A row for each word of the hypothesis, a column for each of the source; a row sums to 1 less
    what went to the end of the sentence, or to less still where the kind's weights do (local_p)."""


@dataclass(frozen=True)
class Translations:
    """A translated test set, line by line: detokenised text, and what the model said of it."""

    sources: list[str]
    references: list[str]
    hypotheses: list[str]
    """May hold empty lines: a system that says nothing is scored as such."""
    capped: list[bool]
    """True where the search stopped at its length limit; an empty list where nobody knows."""
    log_probabilities: list[float | None] = field(default_factory=list)
    """Of each hypothesis, in nats; None or an empty list where nobody knows."""
    reference_scores: ReferenceScores | None = None
    """None for text that no model was asked about."""
    maps: list[AttentionMap] = field(default_factory=list)
    """Of a few lines, the same for every system; none for a model that does not attend."""

    def __post_init__(self) -> None:
        counts = {
            "sources": len(self.sources),
            "references": len(self.references),
            "hypotheses": len(self.hypotheses),
        }
        if self.capped:
            counts["capped flags"] = len(self.capped)
        if self.log_probabilities:
            counts["log-probabilities"] = len(self.log_probabilities)
        if (said := self.reference_scores) is not None:
            counts["scores of references"] = len(said.log_probabilities)
            counts["counts of their pieces"] = len(said.pieces)
            if said.known is not None:
                counts["flags of known words"] = len(said.known)
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{count} {name}" for name, count in counts.items())
            raise UserError(f"The texts of a test set must agree line by line, but got {listed}.")
        if not self.sources:
            raise UserError("The test set is empty; give at least one sentence to score.")

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True)
class Signatures:
    """sacreBLEU's statement of how each score was computed, version included."""

    bleu: str
    chrf: str
    ter: str | None = None
    """None where TER is not asked for."""


def signatures(tokenize: str = "13a", ter: bool = False) -> Signatures:
    """Signatures of what is reported: BLEU (cased), chrF and, if asked for, TER."""
    metrics = BLEU(tokenize=tokenize), CHRF(), TER()
    for metric in metrics:
        # sacreBLEU knows the number of references, part of the signature, after scoring only.
        metric.corpus_score(["one"], [["one"]])
    bleu_said, chrf_said, ter_said = (str(metric.get_signature()) for metric in metrics)
    return Signatures(bleu_said, chrf_said, ter_said if ter else None)


def bleu_counts(
    hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a"
) -> Int[np.ndarray, "N 10"]:
    """Count what each sentence adds to corpus BLEU; see :data:`ORDER` for the columns.

    ``tokenize`` is sacreBLEU's, see ``EvaluationConfig.tokenize``.
    """
    metric = BLEU(tokenize=tokenize)
    counts = np.zeros((len(hypotheses), 2 + 2 * ORDER), dtype=np.int64)
    for row, hypothesis, reference in zip(counts, hypotheses, references, strict=True):
        score = metric.corpus_score([hypothesis], [[reference]])
        row[:] = [score.sys_len, score.ref_len, *score.counts, *score.totals]
    return counts


def bleu(sums: Num[np.ndarray, "*pools 10"]) -> Float[np.ndarray, "*pools"]:
    """Corpus BLEU (0 to 100) of each pool of sentences, from the sums of their counts.

    BLEU = min(1, exp(1 - r/h)) * (p1 p2 p3 p4)^(1/4), with sacreBLEU's default smoothing (``exp``):
    the k-th order without a match counts 2^-k matches. Without any match, or where no hypothesis is
    long enough for an n-gram of each order, BLEU is 0.
    """
    hypothesis, reference = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2 : 2 + ORDER], sums[..., 2 + ORDER :]
    missed = matches == 0
    smoothed = np.where(missed, 0.5 ** np.cumsum(missed, axis=-1), matches)
    log_precisions = np.log(smoothed) - np.log(np.maximum(totals, 1))
    log_brevity = np.minimum(0.0, 1.0 - reference / np.maximum(hypothesis, 1))
    score = 100.0 * np.exp(log_brevity + log_precisions.mean(axis=-1))
    defined = (totals > 0).all(axis=-1) & ~missed.all(axis=-1)
    return np.asarray(np.where(defined, score, 0.0), dtype=np.float64)


def sentence_bleu(
    hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a"
) -> Float[np.ndarray, "N"]:
    """BLEU (0 to 100) of each sentence alone, to find good and bad examples with.

    Never to be averaged. Unlike :func:`bleu` it is the mean over the orders that a short sentence
    has n-grams of. ``tokenize`` as for :func:`bleu_counts`.
    """
    metric = BLEU(tokenize=tokenize, effective_order=True)
    pairs = zip(hypotheses, references, strict=True)
    return np.array([metric.sentence_score(said, [meant]).score for said, meant in pairs])


def brevity_ratio(sums: Num[np.ndarray, "10"]) -> float:
    """Hypothesis tokens per reference token; below 1 the system says too little."""
    return float(sums[0] / sums[1]) if sums[1] else 0.0


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Corpus chrF2 (Popović 2015; beta 2 as in sacreBLEU), 0 to 100."""
    return float(CHRF().corpus_score(list(hypotheses), [list(references)]).score)


def ter_counts(hypotheses: Sequence[str], references: Sequence[str]) -> Float[np.ndarray, "N 2"]:
    """Count what each sentence adds to corpus TER: edits and reference words.

    Slow for long sentences; see ``EvaluationConfig.ter``.
    """
    metric = TER()
    counts = np.zeros((len(hypotheses), 2))
    for row, hypothesis, reference in zip(counts, hypotheses, references, strict=True):
        score = metric.corpus_score([hypothesis], [[reference]])
        row[:] = [score.num_edits, score.ref_length]
    return counts


def ter(sums: Float[np.ndarray, "2"]) -> float:
    """Corpus TER, in edits per 100 reference words (so 0 is best), from the sums of its counts."""
    edits, words = sums.tolist()
    if not words:
        return 100.0 if edits else 0.0
    return 100.0 * edits / words
