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
from seq2seq.evaluation.scores import bucket_members, signatures, source_lengths
from seq2seq.evaluation.significance import (
    FEW,
    DifferenceInDifferences,
    Interval,
    PairedComparison,
    Pool,
    Samples,
    compare_paired,
    difference_in_differences,
    half_length,
)
from seq2seq.record import WHEREABOUTS, EvaluationRecord

NOT_COMPARED = {"name", "baseline", "system", "seed", "data", "output", "evaluation"}
"""Config keys and groups that are not compared: names and seeds of runs, paths, evaluation."""
Groups = Mapping[str, list[Evaluation]]
"""System -> its evaluations, in the order of seeds."""


@dataclass(frozen=True)
class System:
    """A system of the comparison, with the scores over all its seeds."""

    name: str
    seeds: list[int | None]
    evaluations: list[Evaluation]
    """Evaluation of each seed, in the order of ``seeds``."""
    rows: list[ScoreRow]
    """Scores of the buckets of source length, then of all sentences."""
    half_length: Interval | None
    """Source length at which BLEU is half that of the shortest bucket; only buckets with enough
    sentences count, and None if these are fewer than two."""

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
    systems: list[System]
    """Each system without a baseline comes first; those measured against it, directly or through
    another baseline, follow, sorted by name."""
    gaps: list[Gap]
    """Gap of each system that has a baseline, in the order of ``systems``."""
    config_differences: dict[str, dict[str, list[Any]]]
    """Config key -> system -> values, for keys that have more than one value."""
    signatures: dict[str, str]
    settings: EvaluationConfig

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
    def configs(self) -> list[dict[str, Any] | None]:
        """Config of the first model of each system."""
        return [system.first.record.config for system in self.systems]

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
) -> Comparison:
    """Compare evaluations of one test set.

    Each system is measured against its own baseline in ``baselines``, otherwise against
    ``baseline``. If ``baseline`` is None, it is that of the experiment, or else the system of the
    first evaluation. UserError if test sets differ, and as in :func:`group_by_system` and
    :func:`arrange`.
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
    systems = []
    for name, group in groups.items():
        rows = lengths.score_rows([(e.texts, e.counts) for e in group], pools)
        rows = lengths.with_intervals(rows, samples[name], config.confidence)
        seeds, half = [evaluation.record.seed for evaluation in group], None
        if len(means) > 1:
            scores = np.stack([samples[name][label] for label in means])
            found = half_length(list(means.values()), scores, scores[0])
            half = Interval.of(found, config.confidence)
        systems.append(System(name, seeds, group, rows, half))
    measured = [name for name in names if name in against]
    gaps = [_gap((name, against[name]), groups, samples, pools, config) for name in measured]

    def shared(key: str) -> Any:
        """Value of ``key`` in all records; None if they differ."""
        values = {getattr(evaluation.record, key) for evaluation in by_models}
        return values.pop() if len(values) == 1 else None

    return Comparison(
        corpus=shared("corpus"),
        test_set=shared("test_set"),
        search=shared("search"),
        systems=systems,
        gaps=gaps,
        config_differences=_config_differences(groups),
        signatures=signatures(config.tokenize, len(evaluations[0].texts.all_references)),
        settings=config,
    )


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
