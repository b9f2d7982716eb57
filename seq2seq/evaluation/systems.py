"""Several systems on one test set: their scores by source length and the gaps between them.

A system is what its evaluations' records call ``system``; its evaluations differ in the seed of
the training. The system is what is compared, so its score is the mean over its seeds.
"""

import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from seq2seq.config import EvaluationConfig, ExperimentConfig, flatten, from_json, to_json
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.groups import (
    agreed,
    baseline_first,
    compared_with,
    group_by_system,
    pairs_together,
)
from seq2seq.evaluation.lengths import (
    ALL,
    FEW,
    LengthScore,
    Scores,
    bucket_members,
    source_words,
)
from seq2seq.evaluation.scores import Signatures, bleu_counts
from seq2seq.evaluation.significance import (
    DifferenceInDifferences,
    PairedComparison,
    bleu_interval,
    compare_paired,
    difference_in_differences,
)
from seq2seq.evaluation.trend import Trend, trend
from seq2seq.record import WHEREABOUTS

logger = logging.getLogger(__name__)

BESIDE_THE_POINT = (
    "name", "system", "systems", "baseline", "baselines", "seed", "seeds", "beams", "test_texts",
    "data", "output", "evaluation",
)  # fmt: skip
"""Config keys that name a run, or say how it is judged, rather than shape it."""


@dataclass(frozen=True)
class SystemRow:
    """A system on one bucket, or on the whole test set; None where there are no sentences."""

    words: str
    sentences: int
    few: bool
    bleu: float | None
    """Mean over seeds of corpus BLEU."""
    bleu_low: float | None
    """Bootstrap interval of that mean over sentences, the trained models held fixed."""
    bleu_high: float | None
    by_seed: list[float]
    """Corpus BLEU of each seed, in the order of ``System.seeds``."""
    chrf: float | None
    """Mean over seeds, like those below."""
    brevity_ratio: float | None
    unpenalised: float | None
    """BLEU but for its brevity penalty."""
    capped: float | None
    """None where nobody knows, as of text that was given."""
    ter: float | None
    """None where it is not asked for."""


@dataclass(frozen=True)
class System:
    """One arm of the comparison."""

    name: str
    seeds: list[int | None]
    evaluations: list[str]
    overall: SystemRow
    buckets: list[SystemRow]
    trend: Trend | None
    """From short sources to long ones; None where too few buckets have enough sentences."""

    @property
    def rows(self) -> list[SystemRow]:
        """The buckets, then the whole test set: the rows of a table."""
        return [*self.buckets, self.overall]


@dataclass(frozen=True)
class GapRow:
    """A system against the baseline on one bucket; ``paired`` is None without sentences."""

    words: str
    sentences: int
    paired: PairedComparison | None


@dataclass(frozen=True)
class Gap:
    """A system against the baseline."""

    system: str
    baseline: str
    overall: GapRow
    buckets: list[GapRow]
    difference_in_differences: DifferenceInDifferences | None
    """None where the test set lacks short or long sentences."""

    @property
    def rows(self) -> list[GapRow]:
        """The buckets, then the whole test set: the rows of a table."""
        return [*self.buckets, self.overall]


@dataclass(frozen=True)
class Comparison:
    """Systems side by side: the baseline first, then those measured against it, by name; then the
    same of each other system that stands by itself."""

    corpus: str | None
    """Like the two below: as the records say, None where they do not say or do not agree."""
    test_set: str | None
    search: str | None
    sentences: int
    empty_sources: int
    systems: list[System]
    gaps: list[Gap]
    """One for each system that is measured against another, in the order of ``systems``."""
    config_differences: dict[str, dict[str, list[Any]]]
    """Config key -> system -> its values, for keys whose value is not the same everywhere. Systems
    whose records hold no config are left out."""
    signatures: Signatures
    settings: EvaluationConfig


def compare_systems(
    evaluations: Sequence[Evaluation],
    baseline: str | None,
    config: EvaluationConfig,
    baselines: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare evaluations of one test set.

    Args:
        evaluations: in any order; it matters for one thing, the default of ``baseline``.
        baseline: name of the system the others are measured against; None for that of the first
            evaluation.
        config: buckets, resamples and their coverage.
        baselines: system -> the system that it is measured against, where that is another. Others
            may be measured against it, too.

    Raises:
        UserError: different test sets, two evaluations of one system and seed, or no such baseline.
    """
    for other in evaluations[1:]:
        require_same_test_set(evaluations[0], other)
    groups = group_by_system(evaluations)
    by_name = baseline_first(groups, baseline)
    against = compared_with(by_name, baselines or {})
    names = pairs_together(by_name, against)

    # Nothing below depends on the order of the evaluations.
    texts = evaluations[0].texts
    words = source_words(texts.sources)
    members = bucket_members(words, config.length_buckets)
    everything = np.ones(len(texts), dtype=bool)
    counts: dict[str, dict[int | None, Int[np.ndarray, "N 10"]]] = {}
    scores: dict[str, list[Scores]] = {}
    systems = []
    for name in names:
        logger.info("Scoring %s: %d evaluation(s)", name, len(groups[name]))
        counts[name] = {
            seed: bleu_counts(
                evaluation.texts.hypotheses, evaluation.texts.references, config.tokenize
            )
            for seed, evaluation in groups[name].items()
        }
        scores[name] = [evaluation.scored_with(config) for evaluation in groups[name].values()]
        stacked = np.stack(list(counts[name].values()))
        systems.append(
            System(
                name=name,
                seeds=list(groups[name]),
                evaluations=[str(evaluation.directory) for evaluation in groups[name].values()],
                overall=_row([s.overall for s in scores[name]], stacked, everything, config),
                buckets=[
                    _row([s.buckets[index] for s in scores[name]], stacked, chosen, config)
                    for index, chosen in enumerate(members.values())
                ],
                trend=trend(stacked, members, config),
            )
        )
    first = scores[names[0]][0]
    return Comparison(
        corpus=agreed(evaluations, "corpus"),
        test_set=agreed(evaluations, "test_set"),
        search=agreed(evaluations, "search"),
        sentences=len(texts),
        empty_sources=first.empty_sources,
        systems=systems,
        gaps=[
            _gap(against[name], name, counts, words, {**members, ALL: everything}, config)
            for name in names
            if name in against
        ],
        config_differences=_config_differences({name: groups[name] for name in names}),
        signatures=first.signatures,
        settings=config,
    )


def require_same_test_set(one: Evaluation, other: Evaluation) -> None:
    """Refuse to put evaluations of different texts side by side."""
    pairs = {
        "sources": (one.texts.sources, other.texts.sources),
        "references": (one.texts.references, other.texts.references),
    }
    for side, (ours, theirs) in pairs.items():
        if len(ours) != len(theirs):
            raise UserError(
                f"{one.directory} has {len(ours)} sentences and {other.directory} has "
                f"{len(theirs)}; compare evaluations of the same test set."
            )
        for number, (a, b) in enumerate(zip(ours, theirs, strict=True), start=1):
            if a != b:
                raise UserError(
                    f"The {side} of {one.directory} and {other.directory} differ, first at line "
                    f"{number}; compare evaluations of the same test set."
                )


def _row(
    scores: Sequence[LengthScore],
    counts: Int[np.ndarray, "K N 10"],
    members: Bool[np.ndarray, "N"],
    config: EvaluationConfig,
) -> SystemRow:
    def mean(field: str) -> float | None:
        values = [getattr(score, field) for score in scores]
        return None if None in values else float(np.mean(values))

    sentences = scores[0].sentences
    low, high = bleu_interval(counts[:, members], config) if sentences else (None, None)
    return SystemRow(
        words=scores[0].words,
        sentences=sentences,
        few=sentences < FEW,
        bleu=mean("bleu"),
        bleu_low=low,
        bleu_high=high,
        by_seed=[score.bleu for score in scores if score.bleu is not None],
        chrf=mean("chrf"),
        brevity_ratio=mean("brevity_ratio"),
        unpenalised=mean("unpenalised"),
        capped=mean("capped"),
        ter=mean("ter"),
    )


def _gap(
    baseline: str,
    system: str,
    counts: Mapping[str, dict[int | None, Int[np.ndarray, "N 10"]]],
    words: Int[np.ndarray, "N"],
    members: Mapping[str, Bool[np.ndarray, "N"]],
    config: EvaluationConfig,
) -> Gap:
    ours, theirs = (np.stack(list(counts[name].values())) for name in (system, baseline))
    rows = [
        GapRow(
            words=label,
            sentences=int(chosen.sum()),
            paired=compare_paired(theirs[:, chosen], ours[:, chosen], config)
            if chosen.any()
            else None,
        )
        for label, chosen in members.items()
    ]
    return Gap(
        system=system,
        baseline=baseline,
        overall=rows[-1],
        buckets=rows[:-1],
        difference_in_differences=difference_in_differences(
            counts[baseline], counts[system], words, config
        ),
    )


def _config_differences(
    groups: Mapping[str, Mapping[int | None, Evaluation]],
) -> dict[str, dict[str, list[Any]]]:
    evaluations = [one for group in groups.values() for one in group.values()]
    known = all(_precision(one) for one in evaluations if one.record.get("config"))
    flat = {
        name: settings
        for name, group in groups.items()
        if any(settings := [_settings(evaluation, known) for evaluation in group.values()])
    }
    keys = sorted({key for configs in flat.values() for config in configs for key in config})
    differences = {}
    for key in keys:
        values: dict[str, list[Any]] = {}
        for name, configs in flat.items():
            values[name] = []
            for config in configs:
                if config.get(key) not in values[name]:
                    values[name].append(config.get(key))
        if any(found != [first] for found in values.values() for first in values[next(iter(flat))]):
            differences[key] = values
    return differences


def _precision(evaluation: Evaluation) -> str | None:
    """What its model was trained in, where the config may say "auto"; of several that of one."""
    record = evaluation.record
    trainings = [record.get("training"), *(m.get("training") for m in record.get("members") or [])]
    return next((found for one in trainings if one and (found := one.get("precision"))), None)


def _settings(evaluation: Evaluation, precision_known: bool) -> dict[str, Any]:
    """What shaped the run, by dotted key; empty where the record does not say."""
    config = evaluation.record.get("config")
    with contextlib.suppress(UserError):  # a setting that is newer than the record had its default
        config = to_json(from_json(ExperimentConfig, config, str(evaluation.directory)))
    flat = flatten(config) if isinstance(config, dict) else {}
    if flat and precision_known:
        flat["training.precision"] = _precision(evaluation)
    return {
        key: value
        for key, value in flat.items()
        if key.partition(".")[0] not in BESIDE_THE_POINT and not WHEREABOUTS.match(f"{key}=")
    }
