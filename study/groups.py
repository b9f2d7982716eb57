"""Packed systems on one test set, and their scores, each with its resamples."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
from content import COUNTS, PLACES, recall_samples
from jaxtyping import Float
from packed import Packed
from student import t_interval

from seq2seq.config import EvaluationConfig, flatten
from seq2seq.errors import UserError
from seq2seq.evaluation.scores import bleu, brevity_ratio, chrf, unpenalised_bleu
from seq2seq.evaluation.significance import Interval, Pool, Samples, half_length
from seq2seq.evaluation.translations import ALL, ENDS, LONG, SHORT, length_pools

CONFIG = EvaluationConfig()
"""Default settings of ``compare``, so that intervals and buckets are the same."""
MARGIN = 2.0
"""BLEU points, fixed in advance: a change is level if its interval lies within ± this margin."""
BUDGET = ("batch_size", "max_epochs", "max_updates", "label_smoothing", "optimizer")
"""Training settings that must be equal in one table, except the learning rate: tables show it."""
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
        for one in sorted(files, key=lambda one: (one.system, one.record["seed"] or 0)):
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
        """First packed evaluation, for the properties that all share."""
        return next(iter(self.values()))[0]

    @cached_property
    def pools(self) -> dict[str, Pool]:
        """Pools that hold sentences, by label."""
        pools = length_pools(self.first.words, CONFIG)
        return {label: pool for label, pool in pools.items() if pool.sentences}

    @property
    def rows(self) -> dict[str, Pool]:
        """Buckets of source length, then all sentences."""
        return {label: pool for label, pool in self.pools.items() if label not in ENDS}

    @property
    def buckets(self) -> dict[str, Pool]:
        """Buckets of source length, by label."""
        return {label: pool for label, pool in self.rows.items() if label != ALL}

    def mean_words(self, label: str) -> float:
        """Mean length of the sources of a pool, in words."""
        return float(self.first.words[self.pools[label].members].mean())

    def short_and_long(self, longest: int = sys.maxsize) -> tuple[Pool, Pool]:
        """Pools of the short sources, and of the long ones of up to ``longest`` words."""
        long = self.pools[LONG]
        if longest < sys.maxsize:
            long = replace(long, members=long.members & (self.first.words <= longest))
        return self.pools[SHORT], long

    def half_length(self, name: str, score: Score, whole: str | None = None) -> Samples:
        """Number of source words at which a score is half of that of the system ``whole``.

        By default it is half of the system's own score on the first bucket.
        """
        lengths = [self.mean_words(label) for label in self.buckets]
        ours, theirs = (
            np.stack([score(pool, self[system]) for pool in self.buckets.values()])
            for system in (name, whole or name)
        )
        return half_length(lengths, ours, theirs if whole else ours[0])


def _facts(one: Packed) -> dict[str, str]:
    """Facts that must be equal for all systems of one table."""
    facts: dict[str, Any] = {key: one.record[key] for key in ("source", "reference")}
    if training := one.record["training"]:
        finished = one.record["checkpoint"] == "best"
        facts |= {
            "code": training["git_commit"],
            "earlier code": training.get("earlier_commits"),
            "modified code": training["git_modified"],
            "precision": training["precision"],
            "status": training["status"] if finished else "kept",
        }
        for key, value in flatten(one.config["training"]).items():
            if key.partition(".")[0] in BUDGET and key != "optimizer.learning_rate":
                facts[f"training.{key}"] = value
    return {what: str(value) for what, value in facts.items()}


@cache
def corpus_bleu(pool: Pool, group: Group) -> Samples:
    """Corpus BLEU."""
    return pool.estimate(np.stack([one.bleu for one in group]), bleu)


@cache
def without_penalty(pool: Pool, group: Group) -> Samples:
    """Corpus BLEU without its brevity penalty."""
    return pool.estimate(np.stack([one.bleu for one in group]), unpenalised_bleu)


def log_bleu(pool: Pool, group: Group) -> Samples:
    """Natural logarithm of corpus BLEU, so that a gap is the logarithm of a factor.

    A BLEU of 0 counts as one millionth.
    """
    return np.asarray(np.log(np.maximum(corpus_bleu(pool, group), 1e-6)))


@cache
def length_ratio(pool: Pool, group: Group) -> Samples:
    """Number of hypothesis tokens per reference token."""
    return pool.estimate(np.stack([one.bleu for one in group]), brevity_ratio)


@cache
def corpus_chrf(pool: Pool, group: Group) -> Samples:
    """Corpus chrF."""
    counts = np.stack([one.chrf for one in group])
    return pool.estimate(counts, lambda sums: np.apply_along_axis(chrf, -1, sums))


@cache
def above_chance(unrelated: Group) -> Score:
    """chrF on a scale from 0, the chrF of unrelated references, to 100."""

    def score(pool: Pool, group: Group) -> Samples:
        chance = corpus_chrf(pool, unrelated)
        return np.asarray(100 * (corpus_chrf(pool, group) - chance) / (100 - chance))

    return score


@cache
def bits_beyond(blind: Group, places: range = range(10_000)) -> Score:
    """Known bits per reference piece, against the system ``blind``, which sees no source.

    Only pieces at ``places`` of their reference count, from 0.
    """

    lost = lost_bits(places)

    @cache
    def score(pool: Pool, group: Group) -> Samples:
        return lost(pool, blind) - lost(pool, group)

    return score


def lost_bits(places: range) -> Score:
    """Loss in bits per reference piece at ``places`` of the references, from 0.

    A pool without such pieces has 0 bits.
    """

    def bits(sums: Float[np.ndarray, "R K 2"]) -> Float[np.ndarray, "R K"]:
        return np.asarray(sums[..., 0] / np.maximum(sums[..., 1], 1))

    def score(pool: Pool, group: Group) -> Samples:
        losses = np.stack([one.losses(places) for one in group])
        return pool.estimate(losses / [np.log(2), 1], bits)

    return score


def sentence_bits(blind: Group) -> Score:
    """Known bits per reference, against the system ``blind``."""

    def score(pool: Pool, group: Group) -> Samples:
        return bits_beyond(blind)(pool, group) * float(np.mean(group[0].pieces[pool.members]))

    return score


@cache
def recall_of(kind: Literal["place", "seen"]) -> Score:
    """Recall of content words in each tenth of the references, or by count in training."""
    size = PLACES if kind == "place" else len(COUNTS) + 1

    @cache
    def score(pool: Pool, group: Group) -> Samples:
        content = group[0].content
        found = np.stack([one.found for one in group])
        return recall_samples(getattr(content, kind), size, content.line, found, pool)

    return score


def contrast(
    pools: tuple[Pool, Pool], pair: tuple[Group, Group], score: Score
) -> tuple[Samples, Samples, Samples]:
    """Gap of the first group to the second on each pool, and the second gap minus the first."""
    short, long = (score(pool, pair[0]) - score(pool, pair[1]) for pool in pools)
    return short, long, long - short


def seed_by_seed(pools: tuple[Pool, Pool], pair: tuple[Group, Group], score: Score) -> list[float]:
    """Difference of :func:`contrast` for each seed that both groups have."""
    first, second = (replace(pool, resamples=0) for pool in pools)
    seeds = [{one.record["seed"]: (one,) for one in group} for group in pair]
    return [
        float(contrast((first, second), (seeds[0][seed], seeds[1][seed]), score)[2][0])
        for seed in sorted(seeds[0].keys() & seeds[1].keys())
    ]


def few_seeds(
    pools: tuple[Pool, Pool] | tuple[Pool], groups: Sequence[Group], score: Score
) -> Interval | None:
    """Interval by Student's t of a score, or of its change from the first pool to the second.

    With two groups, it is the value of the first minus that of the second. None if a group has only
    one seed.
    """

    def change(one: Packed) -> Samples:
        short, *long = (score(pool, (one,)) for pool in pools)
        return long[0] - short if long else short

    return t_interval(*([change(one) for one in group] for group in groups))


def slope(x: Sequence[float], y: Sequence[Samples]) -> Samples:
    """Slope of log(y) on log(x), by least squares."""
    centred = np.log(x) - np.log(x).mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(centred @ np.log(np.stack(y)) / (centred @ centred))


def verdict(change: Samples) -> str:
    """Name of a change from short to long: level, falls, rises, or undecided."""
    interval = Interval.of(change)
    if interval.low > -MARGIN and interval.high < MARGIN:
        return "level"
    return "falls" if interval.high < 0 else "rises" if interval.low > 0 else "undecided"
