"""Several systems on one test set: their scores by source length and the gaps between them.

Evaluations form one system if their records have the same ``system``, experiment and search, see
:func:`group_by_system`. They differ in the seed of the training, and the score of the system is the
mean over seeds.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from seq2seq.config import EvaluationConfig, flatten, nearest
from seq2seq.config.evaluation import UNSPACED, unspaced
from seq2seq.errors import UserError
from seq2seq.evaluation import lengths
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.lengths import ALL, ENDS, LONG, SHORT, ScoreRow
from seq2seq.evaluation.recall import MIDDLE, PLACES, ContentWords, Recall, recall_by
from seq2seq.evaluation.scores import bucket_members, signatures, source_lengths
from seq2seq.evaluation.significance import (
    FEW,
    DifferenceInDifferences,
    Interval,
    PairedComparison,
    Pool,
    Samples,
    Trend,
    compare_paired,
    difference_in_differences,
    half_length,
    trend,
)
from seq2seq.evaluation.translations import ReferenceScores
from seq2seq.looks import Look, looks
from seq2seq.record import WHEREABOUTS, EvaluationRecord

NOT_COMPARED = {"name", "baseline", "system", "seed", "data", "output", "evaluation"}
"""Config keys and groups that are not compared: names and seeds of runs, paths, evaluation."""
Groups = Mapping[str, list[Evaluation]]
"""System -> its evaluations, in the order of seeds."""


@dataclass(frozen=True)
class KnownBits:
    """Bits by which the source lowers the loss, relative to a system that sees no source."""

    short: Interval
    long: Interval
    """Bits per reference, for short sources and for long ones."""
    half_length: Interval
    """Source length at which bits per reference piece are half of those on the shortest sources."""


@dataclass(frozen=True)
class System:
    """A system of the comparison, with the scores over all its seeds."""

    name: str
    seeds: list[int | None]
    evaluations: list[Evaluation]
    """Evaluation of each seed, in the order of ``seeds``."""
    rows: list[ScoreRow]
    """Scores of the buckets of source length, then of all sentences."""
    trend: Trend | None
    """Change from short sources to long ones; None if too few buckets have enough sentences."""
    known_bits: KnownBits | None = None
    """Known bits, if exactly one system has attention kind ``none``. None for that system itself,
    for systems that cut the references into other pieces or lack finite losses, and for all systems
    if the test set has too few lengths."""

    @property
    def buckets(self) -> list[ScoreRow]:
        """Rows of the buckets, up to the longest bucket that has sentences."""
        last = max(place for place, row in enumerate(self.rows[:-1]) if row.sentences)
        return self.rows[: last + 1]

    @property
    def first(self) -> Evaluation:
        """Evaluation of the first seed, whose sentences and attention the reports show."""
        return self.evaluations[0]

    @property
    def reference_scores(self) -> list[ReferenceScores]:
        """Reference scores (forced decoding), one per seed; seeds without scores are skipped."""
        scores = [evaluation.texts.reference_scores for evaluation in self.evaluations]
        return [of_seed for of_seed in scores if of_seed is not None]

    @property
    def overall(self) -> ScoreRow:
        return self.rows[-1]


@dataclass(frozen=True)
class Gap:
    """Comparison of a system with its baseline."""

    system: str
    baseline: str
    rows: list[PairedComparison | None]
    """Comparison for each of ``System.rows``; None for a row without sentences."""
    difference_in_differences: DifferenceInDifferences | None
    """Growth of the gap with length; None if the test set lacks short or long sentences."""


@dataclass(frozen=True)
class Comparison:
    """Comparison of several systems on one test set."""

    corpus: str | None
    test_set: str | None
    search: str | None
    """Corpus kind, test set and search of all models; each is None if the models differ in it."""
    empty_sources: int
    systems: list[System]
    """Each system without a baseline comes first; those measured against it, directly or through
    another baseline, follow, sorted by name."""
    gaps: list[Gap]
    """Gap of each system that has a baseline, in the order of ``systems``."""
    config_differences: dict[str, dict[str, list[Any]]]
    """Config key -> system -> values, for keys that have more than one value."""
    signatures: dict[str, str]
    settings: EvaluationConfig
    recall: dict[str, Recall]
    """Kind of group -> recall of content words. Kinds: ``length`` of the source, ``place`` in the
    reference, ``place, long sources`` (if there are enough), and ``training``, the count in the
    training text (if that text was passed). {} for text without spaces, or if too few sentences
    have content words."""

    def __repr__(self) -> str:
        scores = "; ".join(f"{each.name}: {each.overall.summary}" for each in self.systems)
        return f"Comparison({self.test_set}-{self.search}, {scores})"

    @property
    def sentences(self) -> int:
        return self.systems[0].overall.sentences

    @property
    def evaluations(self) -> list[Evaluation]:
        return [evaluation for system in self.systems for evaluation in system.evaluations]

    @property
    def unspaced(self) -> bool:
        """Whether the translations are written without spaces, by tokenizer or target language."""
        targets = [evaluation.record.languages.get("target", "") for evaluation in self.evaluations]
        return self.settings.tokenize in UNSPACED or any(map(unspaced, targets))

    @property
    def looks(self) -> list[Look]:
        """Colour, line and marker of each system in figures and pages."""
        return looks([system.first.record.config for system in self.systems])

    @property
    def members(self) -> list[Bool[np.ndarray, "N"]]:
        """Mask of the sentences of each bucket in ``System.buckets``."""
        lengths = source_lengths(self.systems[0].first.texts.sources, self.settings.unit)
        members = list(bucket_members(lengths, self.settings.edges).values())
        return members[: len(self.systems[0].buckets)]


def compare_systems(
    evaluations: Sequence[Evaluation],
    baseline: str | None,
    config: EvaluationConfig,
    baselines: Mapping[str, str] | None = None,
    training: Iterable[str] | None = None,
) -> Comparison:
    """Compare evaluations of one test set.

    Each system is measured against its own baseline in ``baselines``, otherwise against
    ``baseline``. If ``baseline`` is None, it is that of the experiment, or else the system of the
    first evaluation. ``training`` is the target side of the training text, for recall by count.
    UserError if test sets differ, and as in :func:`group_by_system` and :func:`arrange`.
    """
    for other in evaluations[1:]:
        _require_same_texts(evaluations[0], other)
    by_models = [e for e in evaluations if not e.external] or evaluations
    scored = by_models[0].settings
    tokenize, unit = config.tokenize or scored.tokenize, config.length_unit or scored.unit
    config = replace(config, tokenize=tokenize, length_unit=unit)
    evaluations = [replace(e, counts=e.counts_for(config)) for e in evaluations]
    groups: Groups = group_by_system(evaluations)
    configs = {name: group[0].record.config or {} for name, group in groups.items()}
    planned = [n for n, of in configs.items() if of and of.get("baseline", "") == of.get("system")]
    if baseline is None and len(planned) == 1:
        (baseline,) = planned
    names, against = arrange(list(groups), baseline, baselines or {})
    groups = {name: groups[name] for name in names}
    length_of = source_lengths(evaluations[0].texts.sources, config.unit)
    pools = lengths.length_pools(length_of, config)
    means = {
        label: float(length_of[pool.members].mean())
        for label, pool in pools.items()
        if label not in (ALL, *ENDS) and pool.sentences >= FEW
    }
    samples = {name: lengths.bleu_samples(_stacked(group), pools) for name, group in groups.items()}
    bits = _known_bits(groups, pools, means, config)
    systems = []
    for name, group in groups.items():
        rows = lengths.score_rows([(e.texts, e.counts) for e in group], pools)
        rows = lengths.with_intervals(rows, samples[name], config.confidence)
        change = trend(means, samples[name], config.confidence)
        seeds = [evaluation.record.seed for evaluation in group]
        systems.append(System(name, seeds, group, rows, change, bits.get(name)))
    measured = [name for name in names if name in against]
    gaps = [_gap((name, against[name]), groups, samples, pools, config) for name in measured]

    def shared(key: str) -> Any:
        """Value of ``key`` in all records; None if they differ."""
        values = {getattr(evaluation.record, key) for evaluation in by_models}
        return values.pop() if len(values) == 1 else None

    comparison = Comparison(
        corpus=shared("corpus"),
        test_set=shared("test_set"),
        search=shared("search"),
        empty_sources=int(np.count_nonzero(length_of == 0)),
        systems=systems,
        gaps=gaps,
        config_differences=_config_differences(groups),
        signatures=signatures(config.tokenize, len(evaluations[0].texts.all_references)),
        settings=config,
        recall={},
    )
    if comparison.unspaced:
        return comparison
    return replace(comparison, recall=_recall(groups, against, pools, config, training))


def _recall(
    groups: Groups,
    against: Mapping[str, str],
    pools: Mapping[str, Pool],
    config: EvaluationConfig,
    training: Iterable[str] | None,
) -> dict[str, Recall]:
    texts = next(iter(groups.values()))[0].texts
    words = ContentWords.of(texts.references)
    if len({*words.line.tolist()}) < FEW:
        return {}
    recalled = {
        name: np.stack([words.recalled(e.texts.hypotheses) for e in group])
        for name, group in groups.items()
    }
    members = bucket_members(source_lengths(texts.sources, config.unit), config.edges)
    length = np.argmax([of[words.line] for of in members.values()], axis=0), [*members]
    place = words.place, [f"{part + 1}" for part in range(PLACES)]

    def by(kind: tuple[Int[np.ndarray, "W"], list[str]], label: str, *weights: Any) -> Recall:
        shared = recalled, against, pools[label], config.confidence
        return recall_by(kind, words.line, *shared, *weights)

    found = {"length": by(length, ALL), "place": by(place, ALL, MIDDLE)}
    if pools[LONG].sentences >= FEW:
        found["place, long sources"] = by(place, LONG, MIDDLE)
    if training is not None:
        found["training"] = by(words.training_groups(training), ALL)
    return found


def _stacked(group: Sequence[Evaluation]) -> Int[np.ndarray, "K N 10"]:
    return np.stack([evaluation.counts.bleu for evaluation in group])


def _gap(
    names: tuple[str, str],
    groups: Groups,
    samples: Mapping[str, Mapping[str, Samples]],
    pools: Mapping[str, Pool],
    config: EvaluationConfig,
) -> Gap:
    """Gap of a system to its baseline (``names``); ``samples`` has BLEU by system and pool."""
    ours, theirs = (samples[name] for name in names)
    gap = {label: ours[label] - theirs[label] for label in ours}
    system, baseline = (_stacked(groups[name]) for name in names)
    rows = [
        compare_paired(gap[label], baseline[:, pool.members], system[:, pool.members], config)
        if pool.sentences
        else None
        for label, pool in pools.items()
        if label not in ENDS
    ]
    growth = None
    if gap.keys() >= {*ENDS}:
        after, before = ({e.record.seed: e.counts.bleu for e in groups[name]} for name in names)
        ends, gaps = (pools[SHORT], pools[LONG]), (gap[SHORT], gap[LONG])
        growth = difference_in_differences(ends, gaps, before, after, config.confidence)
    return Gap(*names, rows, growth)


def _known_bits(
    groups: Groups, pools: Mapping[str, Pool], means: Mapping[str, float], config: EvaluationConfig
) -> dict[str, KnownBits]:
    """Known bits by system; {} unless exactly one system sees nothing of the source.

    Also {} without short or long sources, or with fewer than two buckets in ``means``, which has
    the mean source length of each bucket with enough sentences. Systems are left out if they lack
    finite losses, or cut the references into other pieces than the system that sees no source.
    """
    losses, blind = {}, []
    for name, group in groups.items():
        scores = [evaluation.texts.reference_scores for evaluation in group]
        found = [lengths.reference_losses(of_seed) for of_seed in scores if of_seed is not None]
        if len(found) == len(group) and np.isfinite(found).all():
            losses[name] = np.stack(found)
            settings = [flatten(e.record.config or {}) for e in group]
            mixed = any(map(_is_mixed, group))
            if not mixed and all(one.get("model.attention.kind") == "none" for one in settings):
                blind.append(name)
    if len(blind) != 1 or len(means) < 2 or not all(pools[end].sentences for end in ENDS):
        return {}
    without = losses.pop(blind[0])
    pieces = without[0, :, 1]
    known = {}
    for name, of_seeds in losses.items():
        if (of_seeds[..., 1] != pieces).any():
            continue
        bits = {
            label: lengths.known_bits(pools[label], of_seeds, without) for label in (*means, *ENDS)
        }
        short, long = (
            Interval.of(bits[end] * pieces[pools[end].members].mean(), config.confidence)
            for end in ENDS
        )
        half = half_length(list(means.values()), [bits[label] for label in means])
        known[name] = KnownBits(short, long, Interval.of(half, config.confidence))
    return known


def _require_same_texts(one: Evaluation, other: Evaluation) -> None:
    texts = one.texts, other.texts
    each = [len(of.all_references) for of in texts]
    if each[0] != each[1]:
        raise UserError(
            f"{one.directory} has {each[0]} references of each sentence, and {other.directory} has "
            f"{each[1]}; evaluate both with the same references."
        )
    sources = zip_longest(*(of.sources for of in texts))
    references = zip_longest(*(zip(*of.all_references, strict=True) for of in texts))
    for side, lines in (("sources", sources), ("references", references)):
        for number, (ours, theirs) in enumerate(lines, start=1):
            if ours != theirs:
                raise UserError(
                    f"The {side} of {one.directory} and {other.directory} differ, first at line "
                    f"{number}; compare evaluations of the same test set."
                )


def group_by_system(evaluations: Sequence[Evaluation]) -> dict[str, list[Evaluation]]:
    """Group evaluations by system, each group in the order of seeds.

    If experiments or searches differ, they become a part of the system's name. If ensembles of the
    same name have different seeds, their seeds become a part too. UserError if two evaluations
    have the same system and seed, or if text of another program has the name of a trained system.
    """
    ours = [evaluation.record for evaluation in evaluations if not evaluation.external]
    experiments = {record.experiment for record in ours}
    searches = {record.search for record in ours}
    members = {(e.record.system, _member_seeds(e)) for e in evaluations}
    ambiguous = Counter(system for system, _ in members)
    groups: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        record, seed = evaluation.record, evaluation.record.seed
        name = record.system or evaluation.directory.resolve().name
        if len(experiments) > 1 and record.experiment:
            name = f"{record.experiment}/{name}"
        if len(searches) > 1 and not evaluation.external and record.search:
            name = f"{name} ({record.search})"
        if seed is None and record.members and ambiguous[record.system] > 1:
            name = f"{name} (seeds {_member_seeds(evaluation)})"
        group = groups.setdefault(name, [])
        if clash := [
            e for e in group if e.record.seed == seed or e.external != evaluation.external
        ]:
            raise UserError(
                f"{clash[0].directory} and {evaluation.directory} are both of system {name}"
                f"{'' if seed is None or clash[0].external else f' with seed {seed}'}; leave one "
                "of them out, or, if one was made from a file of hypotheses, evaluate it again "
                "with another system=NAME."
            )
        group.append(evaluation)
    for group in groups.values():
        group.sort(key=lambda e: (e.record.seed is not None, e.record.seed or 0))
    return groups


def _member_seeds(evaluation: Evaluation) -> str:
    return ", ".join(str(member.seed) for member in evaluation.record.members)


def arrange(
    names: Sequence[str], baseline: str | None, baselines: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Order the systems as in ``Comparison.systems``; return their names, and system -> baseline.

    Names are sorted, with ``k2`` before ``k10``. A baseline has a baseline itself only if
    ``baselines`` sets one. UserError if ``baseline`` or ``baselines`` has a name that is not
    in ``names``.
    """
    first = names[0] if baseline is None else baseline
    for name in (first, *baselines, *baselines.values()):
        if name not in names:
            raise UserError(
                f"There is no system or baseline {name} in this comparison; valid names for "
                f"baseline and baselines, nearest first: {nearest(name, names)}."
            )
    ordered = [first, *sorted({*names} - {first}, key=_by_number)]
    alone = {first, *baselines.values()} - set(baselines)
    against = {name: baselines.get(name, first) for name in ordered if name not in alone}

    def root(name: str) -> str:
        for _ in against:
            name = against.get(name, name)
        return name

    return sorted(ordered, key=lambda n: (ordered.index(root(n)), n in against)), against


def _by_number(name: str) -> list[tuple[int, str]]:
    parts = re.split(r"([0-9]+)", name)
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]


def _config_differences(groups: Groups) -> dict[str, dict[str, list[Any]]]:
    """Find ``Comparison.config_differences``; systems without one config each are left out."""
    settings = {
        name: configs
        for name, group in groups.items()
        if (configs := [_settings(e.record) for e in group if e.record.config and not _is_mixed(e)])
    }
    keys = {key for configs in settings.values() for config in configs for key in config}
    differences = {}
    for key in sorted(keys):
        values = {
            name: _distinct(c.get(key) for c in configs) for name, configs in settings.items()
        }
        if len(_distinct(value for distinct in values.values() for value in distinct)) > 1:
            differences[key] = values
    return differences


def _is_mixed(evaluation: Evaluation) -> bool:
    """Whether it is of an ensemble of several systems; its config is that of the first model."""
    return len({one.system for one in evaluation.record.members}) > 1


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Values without repetitions, in order; they need not be hashable."""
    distinct: list[Any] = []
    for value in values:
        if value not in distinct:
            distinct.append(value)
    return distinct


def _settings(record: EvaluationRecord) -> dict[str, Any]:
    """Settings to compare, by dotted key; the precision is the one used, not "auto"."""
    flat = flatten(record.config or {})
    precisions = [training.precision for training in record.trainings if training.precision]
    if precisions:
        flat["training.precision"] = precisions[0]
    return {
        key: value
        for key, value in flat.items()
        if not {key, key.partition(".")[0]} & NOT_COMPARED and not WHEREABOUTS.match(f"{key}=")
    }
