"""Packed systems on one test set, and their scores, each with its resamples."""

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from content import PLACES
from jaxtyping import Float
from packed import Packed

from seq2seq.config import EvaluationConfig, flatten
from seq2seq.errors import UserError
from seq2seq.evaluation.scores import bleu, brevity_ratio, unpenalised_bleu
from seq2seq.evaluation.significance import Interval, Pool, Samples
from seq2seq.evaluation.translations import ALL, ENDS, LONG, SHORT, length_pools

CONFIG = EvaluationConfig()
"""Default settings of ``compare``, so that intervals and buckets are the same."""
BUDGET = ("batch_size", "max_epochs", "max_updates", "label_smoothing", "optimizer")
"""Training settings that must be equal in one table, except the learning rate: tables show it."""
FIFTHS = 5
"""Number of groups of equal size into which sentences are put by difficulty."""
EVERYWHERE = range(10_000)
"""All places of a reference."""
Group = tuple[Packed, ...]
"""Packed evaluations of a system, one for each seed."""
Score = Callable[[Pool, Group], Samples]
"""Function that computes a statistic of a system on a pool."""


class Groups(dict[str, Group]):
    """System -> its packed evaluations."""

    @classmethod
    def of(cls, files: Sequence[Packed]) -> "Groups":
        """Group the seeds of each system.

        Raises:
            UserError: the systems differ in code, precision, training budget or text.
        """
        groups, found = cls(), dict[str, tuple[str, str]]()
        for one in sorted(files, key=lambda one: (one.system, one.record["seed"])):
            groups[one.system] = (*groups.get(one.system, ()), one)
            for what, value in _facts(one).items():
                first, other = found.setdefault(what, (value, one.system))
                if value != first:
                    raise UserError(
                        f"The {what} must be the same in one table: it is {first} for {other} and "
                        f"{value} for {one.system}; train one of them again, or take it out of "
                        "results/."
                    )
        return groups

    @cached_property
    def first(self) -> Packed:
        """First packed evaluation, for what all share."""
        return next(iter(self.values()))[0]

    @cached_property
    def pools(self) -> dict[str, Pool]:
        """Pools that hold sentences, by label."""
        pools = length_pools(self.first.words, CONFIG)
        return {label: pool for label, pool in pools.items() if pool.sentences}

    @property
    def buckets(self) -> dict[str, Pool]:
        """Buckets of source length, by label."""
        return {label: of for label, of in self.pools.items() if label not in (*ENDS, ALL)}

    @property
    def longest(self) -> str:
        """Label of the last bucket."""
        return [*self.buckets][-1]

    @property
    def ends(self) -> tuple[Pool, Pool]:
        """Pools of the short sources, and of the long ones."""
        return self.pools[SHORT], self.pools[LONG]


def _facts(one: Packed) -> dict[str, str]:
    """Facts that must be equal for all systems of one table."""
    training = one.record["training"]
    facts: dict[str, Any] = {
        "source": one.record["source"],
        "reference": one.record["reference"],
        "code": training["git_commit"],
        "earlier code": training.get("earlier_commits"),
        "modified code": training["git_modified"],
        "precision": training["precision"],
        "status": training["status"],
    }
    for key, value in flatten(one.config["training"]).items():
        if key.partition(".")[0] in BUDGET and key != "optimizer.learning_rate":
            facts[f"training.{key}"] = value
    return {what: str(value) for what, value in facts.items()}


def from_counts(statistic: Callable[..., Any]) -> Score:
    """Score that is a function of the counts for BLEU."""

    @cache
    def score(pool: Pool, group: Group) -> Samples:
        return pool.estimate(np.stack([one.bleu for one in group]), statistic)

    return score


corpus_bleu, without_penalty = from_counts(bleu), from_counts(unpenalised_bleu)
length_ratio = from_counts(brevity_ratio)


def log_of(score: Score) -> Score:
    """Natural logarithm of a score, so that a gap is that of a factor; 0 counts as 1e-6."""
    return lambda pool, group: np.asarray(np.log(np.maximum(score(pool, group), 1e-6)))


log_bleu = log_of(corpus_bleu)


def equally_hard(pools: Sequence[Pool], blind: Group) -> Score:
    """BLEU with weights that give ``pools`` one distribution of difficulty.

    A sentence is as hard as a piece of its reference is for ``blind``, which sees no source. Of
    each fifth of the sentences by difficulty, a pool counts as much as the pool with the least.
    """
    losses = np.mean([one.losses(EVERYWHERE) for one in blind], axis=0)
    hard = losses[:, 0] / np.maximum(losses[:, 1], 1)
    both = np.any([pool.members for pool in pools], axis=0)
    limits = np.quantile(hard[both], np.linspace(0, 1, FIFTHS + 1)[1:-1])
    fifth = np.searchsorted(limits, hard)
    counts = [np.bincount(fifth[pool.members], minlength=FIFTHS) for pool in pools]
    shares = np.stack([of / of.sum() for of in counts])
    weights = np.zeros(len(hard))
    for pool, share in zip(pools, shares, strict=True):
        factor = shares.min(axis=0) / np.maximum(share, 1e-9)
        weights[pool.members] = factor[fifth[pool.members]]

    def score(pool: Pool, group: Group) -> Samples:
        return pool.estimate(np.stack([one.bleu * weights[:, None] for one in group]), bleu)

    return score


@cache
def lost_bits(places: range = EVERYWHERE) -> Score:
    """Loss in bits per reference piece at ``places`` of the references, from 0."""

    def bits(sums: Float[np.ndarray, "R K 2"]) -> Float[np.ndarray, "R K"]:
        return np.asarray(sums[..., 0] / np.maximum(sums[..., 1], 1))

    @cache
    def score(pool: Pool, group: Group) -> Samples:
        losses = np.stack([one.losses(places) for one in group])
        return pool.estimate(losses / [np.log(2), 1], bits)

    return score


def bits_beyond(blind: Group, places: range = EVERYWHERE) -> Score:
    """Known bits per reference piece: the loss of ``blind``, which sees no source, minus one's own.

    Only pieces at ``places`` of their reference count, from 0.
    """
    lost = lost_bits(places)
    return lambda pool, group: lost(pool, blind) - lost(pool, group)


def sentence_bits(blind: Group) -> Score:
    """Known bits per reference: those per piece, times the mean number of pieces."""
    known = bits_beyond(blind)
    return lambda pool, group: known(pool, group) * float(np.mean(group[0].pieces[pool.members]))


@cache
def recall_of(kind: Literal["all", "place"]) -> Score:
    """Recall of content words: of all, or in each tenth of the references."""

    def shares(sums: Float[np.ndarray, "R K C"]) -> Float[np.ndarray, "R K *G"]:
        found, total = np.moveaxis(sums.reshape(*sums.shape[:2], PLACES, 2), -1, 0)
        if kind == "all":
            found, total = found.sum(axis=-1), total.sum(axis=-1)
        return np.asarray(found / np.maximum(total, 1))

    @cache
    def score(pool: Pool, group: Group) -> Samples:
        content, size = group[0].content, (len(pool.members), PLACES, 2)
        columns = np.zeros((len(group), *size), dtype=np.int64)
        for counts, one in zip(columns, group, strict=True):
            for column, values in enumerate((one.found, np.ones_like(one.found))):
                np.add.at(counts[..., column], (content.line, content.place), values)
        return pool.estimate(columns.reshape(len(group), len(pool.members), -1), shares)

    return score


def difference(pools: Sequence[Pool], groups: Sequence[Group], score: Score) -> Samples:
    """Score of a group, or that of the first minus that of the second.

    With two pools, it is the change from the first pool to the second.
    """
    first, *others = (
        score(pools[-1], group) - (score(pools[0], group) if len(pools) > 1 else 0)
        for group in groups
    )
    return np.asarray(first - sum(others))


def interval_by_t(
    pools: Sequence[Pool], groups: Sequence[Group], score: Score, confidence: float = 0.95
) -> Interval:
    """Interval of :func:`difference` by Student's t.

    The bootstrap draws from the given seeds; with two, this understates their variance by half.
    Here the variance is a sum: that over the resamples of sentences, plus that of each group's mean
    over seeds, 0 with one seed. The degrees of freedom are those of Welch and Satterthwaite.
    """
    arms = [[difference(pools, [(one,)], score) for one in group] for group in groups]
    first, *others = (np.mean(seeds, axis=0) for seeds in arms)
    samples = first - sum(others)
    values = [[float(one[0]) for one in seeds] for seeds in arms if len(seeds) > 1]
    of_seeds = [(float(np.var(each, ddof=1)) / len(each), len(each) - 1) for each in values]
    variance = float(np.var(samples[1:]) + sum(one for one, _ in of_seeds))
    spread = sum(one**2 / free for one, free in of_seeds)
    freedom = variance**2 / spread if spread else math.inf
    half = t_quantile((1 + confidence) / 2, freedom) * math.sqrt(variance)
    return Interval(float(samples[0]), float(samples[0]) - half, float(samples[0]) + half)


def t_quantile(share: float, freedom: float) -> float:
    """Quantile of Student's t for a probability ``share`` above 1/2, to about four digits.

    With t = sqrt(freedom) * tan(angle), the density of the angle is proportional to
    cos(angle)^(freedom - 1), which is summed over a fine grid; the normal above 10,000.
    """
    if freedom > 10_000:
        return NormalDist().inv_cdf(share)
    angles = np.linspace(0, np.pi / 2, 200_001)
    density = np.cos((angles[1:] + angles[:-1]) / 2) ** (freedom - 1)
    area = np.concatenate([[0], np.cumsum(density)])
    angle = np.interp(2 * share - 1, area / area[-1], angles)
    return float(np.sqrt(freedom) * np.tan(angle))
