"""Corpus BLEU and chrF, equal to sacreBLEU's, from counts that are summed over sentences.

The score of any subset or resample needs only the sum of its sentences' counts.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Num
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.bleu import BLEUScore
from sacrebleu.metrics.helpers import extract_all_char_ngrams

from seq2seq.errors import UserError

TINY = 20
"""Sentences of a bucket below which it joins its neighbour."""


def _bleu(tokenize: str | None, **options: Any) -> BLEU:
    """sacreBLEU's BLEU; ``tokenize=None`` is 13a. UserError if the tokenizer does not load."""
    try:
        return BLEU(tokenize=tokenize, **options)
    except (Exception, SystemExit):
        raise UserError(
            f"evaluation.tokenize={tokenize} cannot be loaded; check the network, run pip install "
            '"sacrebleu[ja,ko]" for Japanese or Korean, or set evaluation.tokenize=char.'
        ) from None


def bleu_counts(
    hypotheses: Sequence[str], *references: Sequence[str], tokenize: str | None = None
) -> Int[np.ndarray, "N 10"]:
    """Counts of each sentence for corpus BLEU: tokens of the hypothesis, and of the reference that
    is closest in length; n-grams of 1 to 4 tokens that match any reference, and all of them.
    """
    found = _sentences(hypotheses, *references, tokenize=tokenize)
    return np.array([[of.sys_len, of.ref_len, *of.counts, *of.totals] for of in found])


def bleu(sums: Num[np.ndarray, "*pools 10"]) -> Float[np.ndarray, "*pools"]:
    """Corpus BLEU (0 to 100) of each pool, from sums of counts (Papineni et al. 2002).

    BLEU = min(1, exp(1 - r/h)) * (p1 p2 p3 p4)^(1/4), where r and h are the numbers of reference
    and hypothesis tokens, and pn is the precision of n-grams. Smoothing is sacreBLEU's default,
    ``exp``: of the orders n without a match, the k-th counts as 2^-k matches. BLEU is 0 if there is
    no match at all, or if no hypothesis has four tokens.
    """
    matches, totals = sums[..., 2:6], sums[..., 6:]
    missed = matches == 0
    smoothed = np.where(missed, 0.5 ** np.cumsum(missed, axis=-1), matches)
    log_precisions = np.log(smoothed) - np.log(np.maximum(totals, 1))
    score = 100.0 * np.exp(_log_brevity_penalty(sums) + log_precisions.mean(axis=-1))
    defined = (totals > 0).all(axis=-1) & ~missed.all(axis=-1)
    return np.where(defined, score, 0.0)


def _log_brevity_penalty(sums: Num[np.ndarray, "*pools 10"]) -> Float[np.ndarray, "*pools"]:
    return np.asarray(np.minimum(0.0, 1.0 - sums[..., 1] / np.maximum(sums[..., 0], 1)))


def brevity_ratio(sums: Num[np.ndarray, "*pools 10"]) -> Float[np.ndarray, "*pools"]:
    """Hypothesis tokens per reference token of each pool; 0 without reference tokens."""
    return np.where(sums[..., 1] > 0, sums[..., 0] / np.maximum(sums[..., 1], 1), 0.0)


def unpenalised_bleu(sums: Num[np.ndarray, "*pools 10"]) -> Float[np.ndarray, "*pools"]:
    """BLEU without its brevity penalty: only the precision of the words that were written."""
    score = bleu(sums)
    return np.asarray(score / np.where(score > 0, np.exp(_log_brevity_penalty(sums)), 1.0))


def sentence_bleu(
    hypotheses: Sequence[str], *references: Sequence[str], tokenize: str | None = None
) -> Float[np.ndarray, "N"]:
    """BLEU of each sentence alone, without orders for which it is too short; not to be averaged."""
    return np.array([of.score for of in _sentences(hypotheses, *references, tokenize=tokenize)])


def _sentences(
    hypotheses: Sequence[str], *references: Sequence[str], tokenize: str | None
) -> list[BLEUScore]:
    metric = _bleu(tokenize, effective_order=True)
    lines = zip(hypotheses, *references, strict=True)
    return [metric.sentence_score(said, meant) for said, *meant in lines]


def chrf_counts(
    hypotheses: Sequence[str], *references: Sequence[str], **_: Any
) -> Int[np.ndarray, "N 18"]:
    """Counts of each sentence for corpus chrF2 (Popović 2015), with its best reference.

    Three columns for each n from 1 to 6: character n-grams of the hypothesis, of the reference, and
    common to both, without spaces.
    """
    rows = []
    for said, *meant in zip(hypotheses, *references, strict=True):
        ways = np.array([_ngram_counts(said, one) for one in meant])
        rows.append(ways[chrf(ways).argmax()])
    return np.array(rows)


def _ngram_counts(said: str, meant: str) -> list[int]:
    counts = []
    grams = extract_all_char_ngrams(said, 6), extract_all_char_ngrams(meant, 6)
    for ours, theirs in zip(*grams, strict=True):
        counts += [ours.total() if theirs else 0, theirs.total(), (ours & theirs).total()]
    return counts


def chrf(sums: Num[np.ndarray, "*pools 18"]) -> Float[np.ndarray, "*pools"]:
    """Corpus chrF2 (0 to 100) of each pool, from sums of :func:`chrf_counts`.

    chrF2 = 5 P R / (4 P + R), where P and R are the means of precision and recall over n, of those
    n for which both texts have n-grams.
    """
    ours, theirs, common = np.moveaxis(sums.reshape(*sums.shape[:-1], 6, 3), -1, 0)
    scored = (ours > 0) & (theirs > 0)
    orders = np.maximum(scored.sum(axis=-1), 1)
    precision, recall = (
        np.where(scored, common / np.maximum(of, 1), 0.0).sum(axis=-1) / orders
        for of in (ours, theirs)
    )
    weighted = np.where(precision + recall > 0, 4 * precision + recall, 1.0)
    return np.asarray(100 * (5 * precision * recall / weighted))


@dataclass(frozen=True)
class Metric:
    """A corpus score from counts that are summed over sentences."""

    name: str
    columns: int
    """Number of counts of a sentence."""
    count: Callable[..., Int[np.ndarray, "N C"]]
    """Counts of each sentence, from hypotheses, references and the keyword ``tokenize``."""
    score: Callable[[Num[np.ndarray, "*pools C"]], Float[np.ndarray, "*pools"]]
    scorer: Callable[[str | None], Any]
    """Tokenizer -> metric of sacreBLEU, which names its version and settings."""
    digits: int = 1
    """Digits after the point in tables."""


METRICS = {
    "bleu": Metric("BLEU", 10, bleu_counts, bleu, _bleu),
    "chrf": Metric("chrF", 18, chrf_counts, chrf, lambda _: CHRF()),
}
"""Scores by key; a further entry is counted, stored, and shown in every table."""


@cache
def signatures(tokenize: str | None = None, references: int = 1) -> dict[str, str]:
    """sacreBLEU's signature of each metric; UserError as in :func:`_bleu`."""
    found = {}
    for metric in METRICS.values():
        scorer = metric.scorer(tokenize)
        # The signature includes the number of references, which is known only after scoring.
        scorer.corpus_score(["one"], [["one"]] * references)
        found[metric.name] = str(scorer.get_signature())
    return found


def perplexity(loss: float) -> float | None:
    """exp(loss); None if it overflows a 64-bit float."""
    return math.exp(loss) if loss < math.log(sys.float_info.max) else None


def source_lengths(sources: Sequence[str], unit: str = "words") -> Int[np.ndarray, "N"]:
    """Length of each source in ``unit``: words (between spaces) or characters (without spaces)."""
    words = [source.split() for source in sources]
    return np.array([len(of if unit == "words" else "".join(of)) for of in words], dtype=np.int64)


def bucket_members(
    lengths: Int[np.ndarray, "N"], edges: Sequence[int]
) -> dict[str, Bool[np.ndarray, "N"]]:
    """Mask of the sentences of each bucket, by label: [10, 20] makes 1-10, 11-20 and 21+.

    A bucket of fewer than ``TINY`` sentences joins the next one; the last, the one before it."""
    ends, lengths = [0], lengths.clip(1)  # empty sources are in the first
    for edge in edges:
        if not 0 < ((lengths > ends[-1]) & (lengths <= edge)).sum() < TINY:
            ends.append(edge)
    while len(ends) > 1 and 0 < (lengths > ends[-1]).sum() < TINY:
        ends.pop()
    labels = [f"{before + 1}-{end}" for before, end in pairwise(ends)] + [f"{ends[-1] + 1}+"]
    masks = [(lengths > low) & (lengths <= high) for low, high in pairwise([*ends, np.inf])]
    return dict(zip(labels, masks, strict=True))
