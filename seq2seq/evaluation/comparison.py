"""Several systems on one test set: their scores by source length and the gaps between them.

Evaluations form one system if their records have the same ``system``, experiment and search; they
differ in the seed of the training, and the score of the system is the mean over seeds.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from seq2seq.config import EvaluationConfig, flatten, require_choice
from seq2seq.config.settings import UNSPACED, unspaced
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import EXTERNAL, Evaluation
from seq2seq.evaluation.scores import signatures, source_lengths
from seq2seq.evaluation.significance import (
    DifferenceInDifferences,
    PairedComparison,
    Pool,
    Samples,
    compare_paired,
    difference_in_differences,
)
from seq2seq.evaluation.translations import (
    ENDS,
    Counts,
    ScoreRow,
    Translations,
    bleu_samples,
    length_pools,
    score_rows,
)
from seq2seq.record import WHEREABOUTS, EvaluationRecord

NOT_COMPARED = {"name", "baseline", "system", "seed", "data", "output", "evaluation"}
"""Config keys and groups that are not compared: names and seeds of runs, paths, evaluation."""


@dataclass(frozen=True)
class System:
    """A system of the comparison, with the scores over all its seeds."""

    name: str
    evaluations: list[Evaluation]
    """Evaluation of each seed, in the order of seeds."""
    rows: list[ScoreRow]
    """Scores of the buckets of source length, then of all sentences."""
    samples: dict[str, Samples] = field(compare=False, repr=False)
    """BLEU of each pool that has sentences, and of its resamples."""

    @property
    def seeds(self) -> list[int | None]:
        return [evaluation.record.seed for evaluation in self.evaluations]

    @property
    def counts(self) -> Int[np.ndarray, "K N 10"]:
        return np.stack([evaluation.counts.bleu for evaluation in self.evaluations])

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
    """Each system without a baseline, then those measured against it, also through others."""
    gaps: list[Gap]
    config_differences: dict[str, dict[str, list[Any]]]
    """Config key -> system -> values, for keys that have more than one value."""
    signatures: dict[str, str]
    settings: EvaluationConfig
    pools: dict[str, Pool] = field(compare=False)
    """Sentences that are scored together, by label."""

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
        return [self.pools[row.words].members for row in self.systems[0].buckets]


def compare_systems(
    evaluations: Sequence[Evaluation],
    baseline: str | None,
    config: EvaluationConfig,
    baselines: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare evaluations of one test set, each system with its own baseline or else ``baseline``.

    Without either, the baseline is that of the experiment, or else the first system. UserError if
    texts or names do not go together.
    """
    for other in evaluations[1:]:
        _require_same_texts(evaluations[0], other)
    models = [e for e in evaluations if not e.external] or evaluations
    scored, shared = models[0].settings, {}
    tokenize, unit = config.tokenize or scored.tokenize, config.length_unit or scored.unit
    config = replace(config, tokenize=tokenize, length_unit=unit)
    evaluations = [replace(e, counts=Counts.of(e.texts, config, e.counts)) for e in evaluations]
    groups = group_by_system(evaluations)
    configs = {name: group[0].record.config or {} for name, group in groups.items()}
    planned = [n for n, of in configs.items() if of and of.get("baseline", "") == of.get("system")]
    if baseline is None and len(planned) == 1:
        (baseline,) = planned
    names, against = arrange(list(groups), baseline, baselines or {})
    pools = length_pools(source_lengths(evaluations[0].texts.sources, config.unit), config)
    systems = {name: _score_system(name, groups[name], pools) for name in names}
    for key in ("corpus", "test_set", "search"):
        values = {getattr(evaluation.record, key) for evaluation in models}
        shared[key] = values.pop() if len(values) == 1 else None
    return Comparison(
        **shared,
        systems=list(systems.values()),
        gaps=[_gap(systems[n], systems[against[n]], pools, config) for n in names if n in against],
        config_differences=_config_differences(systems.values()),
        signatures=signatures(config.tokenize, len(evaluations[0].texts.all_references)),
        settings=config,
        pools=pools,
    )


def bleu_by_length(
    source: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
    systems: Mapping[str, Sequence[str]],
    **settings: Any,
) -> dict[str, dict[str, dict[str, float | None]]]:
    """Score the lines of each system: system -> bucket -> scores; all but the first have a gap.

    ``references`` are the lines of one or several; ``settings`` those of EvaluationConfig."""
    config = EvaluationConfig(**settings)
    meant: list[Any] = [references] if isinstance(references[0], str) else [*references]
    first, *more = map(list, meant)
    evaluations = []
    for name, said in systems.items():
        texts = Translations([*source], first, [*said], capped=[], more_references=more)
        record, counts = EvaluationRecord(system=name, search=EXTERNAL), Counts.of(texts, config)
        evaluations.append(Evaluation(Path(name), texts, counts, config, record))
    compared = compare_systems(evaluations, next(iter(systems)), config)
    found = {of.name: {row.words: row.as_json() for row in of.rows} for of in compared.systems}
    for gap in compared.gaps:
        for row, paired in zip(found[gap.system].values(), gap.rows, strict=True):
            row |= flatten(asdict(paired)) if paired else {}
    return found


def _require_same_texts(one: Evaluation, other: Evaluation) -> None:
    lines = [zip(of.texts.sources, *of.texts.all_references, strict=True) for of in (one, other)]
    for number, (ours, theirs) in enumerate(zip_longest(*lines), start=1):
        if ours != theirs:
            raise UserError(
                f"The sources or references of {one.directory} and {other.directory} differ, first "
                f"at line {number}; compare evaluations of one test set with the same references."
            )


def group_by_system(evaluations: Sequence[Evaluation]) -> dict[str, list[Evaluation]]:
    """Group evaluations by system, each group in the order of seeds.

    Experiment, search and seeds of an ensemble become a part of the system's name if they differ.
    UserError if two of a name have the same seed, or if only one of them has a model.
    """
    ours = [evaluation.record for evaluation in evaluations if not evaluation.external]
    experiments = {record.experiment for record in ours}
    searches = {record.search for record in ours}
    groups: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        record = evaluation.record
        name = record.system or evaluation.directory.resolve().name
        if len(experiments) > 1 and record.experiment:
            name = f"{record.experiment}/{name}"
        if len(searches) > 1 and not evaluation.external and record.search:
            name = f"{name} ({record.search})"
        namesakes = [one for one in ours if one.system == record.system]
        ensembles = {tuple(member.seed for member in one.members) for one in namesakes}
        if record.seed is None and record.members and len(ensembles) > 1:
            name = f"{name} (seeds {', '.join(str(member.seed) for member in record.members)})"
        group = groups.setdefault(name, [])
        for other in group:
            if other.record.seed == record.seed or other.external != evaluation.external:
                raise UserError(
                    f"{other.directory} and {evaluation.directory} are both of system {name}"
                    f"{'' if record.seed is None else f' with seed {record.seed}'}; leave one of "
                    "them out, or evaluate a file of hypotheses again with another system=NAME."
                )
        group.append(evaluation)
        group.sort(key=lambda e: (e.record.seed is not None, e.record.seed or 0))
    return groups


def arrange(
    names: Sequence[str], baseline: str | None, baselines: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Order the systems as in ``Comparison.systems``; return their names, and system -> baseline.

    A baseline has a baseline itself only if ``baselines`` sets one. UserError for unknown names.
    """
    first = names[0] if baseline is None else baseline
    require_choice("baseline", first, names)
    for name in (*baselines, *baselines.values()):
        require_choice("baselines", name, names)
    ordered = [first, *sorted({*names} - {first}, key=_by_number)]
    alone = {first, *baselines.values()} - set(baselines)
    against = {name: baselines.get(name, first) for name in ordered if name not in alone}

    def root(name: str) -> str:
        for _ in against:  # at most that many steps, as baselines may form a circle
            name = against.get(name, name)
        return name

    return sorted(ordered, key=lambda n: (ordered.index(root(n)), n in against)), against


def _by_number(name: str) -> list[str | int]:
    """Key for sorting, with k2 before k10."""
    parts = re.split("([0-9]+)", name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def _score_system(name: str, group: list[Evaluation], pools: Mapping[str, Pool]) -> System:
    counts = np.stack([evaluation.counts.bleu for evaluation in group])
    samples = bleu_samples(counts, pools)
    rows = score_rows([(one.texts, one.counts) for one in group], pools, samples)
    return System(name, group, rows, samples)


def _gap(
    system: System, baseline: System, pools: Mapping[str, Pool], config: EvaluationConfig
) -> Gap:
    gaps = {label: of - baseline.samples[label] for label, of in system.samples.items()}
    after, before = system.counts, baseline.counts
    rows: list[PairedComparison | None] = []
    for label in (row.words for row in system.rows):
        chosen, gap = pools[label].members, gaps.get(label)
        counts = before[:, chosen], after[:, chosen]
        rows.append(None if gap is None else compare_paired(gap, *counts, config))
    growth = None
    if gaps.keys() >= {*ENDS}:
        short, long = ((pools[label], gaps[label]) for label in ENDS)
        by_seed = [dict(zip(of.seeds, of.counts, strict=True)) for of in (baseline, system)]
        growth = difference_in_differences(short, long, *by_seed)
    return Gap(system.name, baseline.name, rows, growth)


def _config_differences(systems: Iterable[System]) -> dict[str, dict[str, list[Any]]]:
    """Find ``Comparison.config_differences``; a system without one config is left out."""
    found = [(one.name, _settings(each.record)) for one in systems for each in one.evaluations]
    settings, differences = [(name, config) for name, config in found if config], {}
    for key in sorted({key for _, config in settings for key in config}):
        values: dict[str, list[Any]] = {}
        for name, config in settings:
            known = values.setdefault(name, [])
            if config.get(key) not in known:
                known.append(config.get(key))
        first, *others = values.values()
        if len(first) > 1 or any(other != first for other in others):
            differences[key] = values
    return differences


def _settings(record: EvaluationRecord) -> dict[str, Any]:
    """Settings to compare, with the precision that was used; {} for an ensemble of systems."""
    if not record.config or len({member.system for member in record.members}) > 1:
        return {}
    flat = flatten(record.config)
    for training in reversed(record.trainings):
        flat["training.precision"] = training.precision or flat.get("training.precision")
    return {
        key: value
        for key, value in flat.items()
        if not {key, key.partition(".")[0]} & NOT_COMPARED and not WHEREABOUTS.match(f"{key}=")
    }
