"""Corpus BLEU, chrF and TER as sums of counts per sentence, equal to sacreBLEU's.

Corpus BLEU (Papineni et al. 2002) is a function of ten counts summed over sentences. With the
counts of each sentence, the score of any subset or resample is one sum away: scores by length and
significance tests are built on that.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int, Num
from sacrebleu.metrics import BLEU, CHRF, TER

ORDER = 4
"""Longest n-gram of BLEU. Columns of its counts: hypothesis tokens, reference tokens, matched
n-grams of 1 to 4 tokens, hypothesis n-grams of 1 to 4 tokens."""
CHRF_ORDER = 6
"""Longest n-gram of chrF, in characters."""
CHRF_BETA = 2
"""Weight of recall in chrF."""


def signatures(tokenize: str = "13a", ter: bool = False) -> dict[str, str]:
    """sacreBLEU's signatures of ``BLEU`` (cased), ``chrF`` and, if asked for, ``TER``."""
    metrics = {"BLEU": BLEU(tokenize=tokenize), "chrF": CHRF(), **({"TER": TER()} if ter else {})}
    for metric in metrics.values():
        # The number of references, part of the signature, is known after scoring only.
        metric.corpus_score(["one"], [["one"]])
    return {name: str(metric.get_signature()) for name, metric in metrics.items()}


def bleu_counts(
    hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a"
) -> Int[np.ndarray, "N 10"]:
    """What each sentence adds to corpus BLEU; columns as in :data:`ORDER`.

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
    matches, totals = sums[..., 2 : 2 + ORDER], sums[..., 2 + ORDER :]
    missed = matches == 0
    smoothed = np.where(missed, 0.5 ** np.cumsum(missed, axis=-1), matches)
    log_precisions = np.log(smoothed) - np.log(np.maximum(totals, 1))
    score = 100.0 * np.exp(_log_brevity_penalty(sums) + log_precisions.mean(axis=-1))
    defined = (totals > 0).all(axis=-1) & ~missed.all(axis=-1)
    return np.asarray(np.where(defined, score, 0.0), dtype=np.float64)


def _log_brevity_penalty(sums: Num[np.ndarray, "*pools 10"]) -> Float[np.ndarray, "*pools"]:
    hypothesis, reference = sums[..., 0], sums[..., 1]
    penalty = np.minimum(0.0, 1.0 - reference / np.maximum(hypothesis, 1))
    return np.asarray(penalty, dtype=np.float64)


def brevity_ratio(sums: Num[np.ndarray, "*pools 10"]) -> Float[np.ndarray, "*pools"]:
    """Hypothesis tokens per reference token of each pool; 0 without reference tokens."""
    ratio = np.where(sums[..., 1] > 0, sums[..., 0] / np.maximum(sums[..., 1], 1), 0.0)
    return np.asarray(ratio, dtype=np.float64)


def unpenalised_bleu(sums: Num[np.ndarray, "*pools 10"]) -> Float[np.ndarray, "*pools"]:
    """BLEU without its brevity penalty: how well the words fit that are there."""
    score = bleu(sums)
    penalty = np.where(score > 0, np.exp(_log_brevity_penalty(sums)), 1.0)
    return np.asarray(score / penalty, dtype=np.float64)


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


def chrf_counts(hypotheses: Sequence[str], references: Sequence[str]) -> Int[np.ndarray, "N 18"]:
    """What each sentence adds to corpus chrF2 (Popović 2015).

    Columns, for n-grams of 1 to 6 characters each: those of the hypothesis, of the reference, of
    both. Spaces are no characters.
    """
    counts = np.zeros((len(hypotheses), 3 * CHRF_ORDER), dtype=np.int64)
    for row, *pair in zip(counts, hypotheses, references, strict=True):
        said, meant = ("".join(text.split()) for text in pair)
        for order in range(1, CHRF_ORDER + 1):
            ours, theirs = _ngrams(said, order), _ngrams(meant, order)
            # As in sacreBLEU, a reference without n-grams of an order leaves the order out.
            total = ours.total() if theirs else 0
            row[3 * order - 3 : 3 * order] = total, theirs.total(), (ours & theirs).total()
    return counts


def _ngrams(text: str, order: int) -> Counter[str]:
    return Counter(text[start : start + order] for start in range(len(text) - order + 1))


def chrf(sums: Num[np.ndarray, "18"]) -> float:
    """Corpus chrF2 (0 to 100) from the sums of its counts: the F-score of the mean precision and
    recall over the orders that both sides have."""
    said, meant, both = sums.reshape(CHRF_ORDER, 3).T.astype(np.float64)
    used = (said > 0) & (meant > 0)
    if not both[used].any():
        return 0.0
    precision, recall = (both[used] / said[used]).mean(), (both[used] / meant[used]).mean()
    weight = CHRF_BETA**2
    return float(100 * (1 + weight) * precision * recall / (weight * precision + recall))


def ter_counts(hypotheses: Sequence[str], references: Sequence[str]) -> Float[np.ndarray, "N 2"]:
    """What each sentence adds to corpus TER (Snover et al. 2006): edits and reference words.

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
