"""Findings of a comparison in plain words, also where there is no significant effect."""

import math
from collections.abc import Mapping, Sequence

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.comparison import Comparison, Gap, System
from seq2seq.evaluation.lengths import FEW
from seq2seq.evaluation.significance import (
    DifferenceInDifferences,
    Interval,
    PairedComparison,
    Trend,
)
from seq2seq.report.sentences import longest_bucket
from seq2seq.report.tables import interval_text, percent, signed, with_interval

NOTABLE_CAP_SHARE = 0.01


def headline(comparison: Comparison) -> str:
    """Result as a title: a few words, without a full stop.

    For one gap: BLEU of both systems on the longest bucket, or the gap over all sentences if there
    are too few short or long ones, or too few in each bucket. For several gaps: the best system.
    For a single system: its score.
    """
    systems = comparison.systems
    if len(comparison.gaps) != 1:
        best = max(systems, key=lambda system: system.overall.bleu or 0.0)
        rank = f", best of {len(systems)} systems" if len(systems) > 1 else ""
        few = f" ({comparison.sentences} sentences are too few)" * best.overall.few
        return f"{best.name}: {best.overall.bleu:.1f} BLEU{rank}{few}"
    (gap,) = comparison.gaps
    longest = longest_bucket(comparison)
    if longest.few or not _visible_growth(gap):
        return _overall(comparison, gap)[0]
    place = systems[0].rows.index(longest)
    scores = {system.name: system.rows[place].bleu for system in systems}
    label = longest.words
    length = f"Above {int(label[:-1]) - 1}" if label.endswith("+") else label
    return (
        f"{length} {comparison.settings.unit}: {gap.system} {scores[gap.system]:.1f} BLEU, "
        f"{gap.baseline} {scores[gap.baseline]:.1f}"
    )


def conclusion(comparison: Comparison) -> str:
    """Result as one sentence, with its interval if it is a difference."""
    if len(comparison.gaps) != 1:
        return f"{headline(comparison)}."
    (gap,) = comparison.gaps
    text, interval = _overall(comparison, gap)
    if growth := _visible_growth(gap):
        short, long = comparison.settings.ends
        interval = growth.difference
        text = (
            f"{gap.system} minus {gap.baseline} is {signed(growth.long.value)} BLEU above "
            f"{long} {comparison.settings.unit} and {signed(growth.short.value)} up to {short}"
        )
        if interval.low <= 0 <= interval.high:
            text += ": no significant change with length"
        else:
            side = "more" if interval.value > 0 else "less"
            text += f": {signed(abs(interval.value))[1:]} {side} on long sentences"
    if interval is None:
        return f"{text}."
    share = percent(comparison.settings.confidence)
    return f"{text} ({share} interval {signed(interval.low)} to {signed(interval.high)})."


def _visible_growth(gap: Gap) -> DifferenceInDifferences | None:
    """Growth of the gap with length; None if there are too few short or long sentences."""
    growth = gap.difference_in_differences
    return None if growth is None or growth.few else growth


def _overall(comparison: Comparison, gap: Gap) -> tuple[str, Interval | None]:
    """Describe the gap over all sentences; also return its interval, or None if they are few."""
    paired = gap.rows[-1]
    assert paired is not None  # a test set has sentences
    if comparison.sentences < FEW:
        return f"{gap.system}: fewer than {FEW} sentences, too few to conclude", None
    if not _significant(paired, comparison.settings.confidence):
        return f"{gap.system} and {gap.baseline}: no significant difference", paired.gap
    side = "higher" if paired.gap.low > 0 else "lower"
    size = signed(abs(paired.gap.value))[1:]
    return f"{gap.system} scores {size} BLEU {side} than {gap.baseline}", paired.gap


def _significant(paired: PairedComparison, confidence: float) -> bool:
    """Whether the interval of a gap excludes 0 and the randomisation test agrees."""
    return not paired.gap.low <= 0 <= paired.gap.high and paired.p_randomization <= 1 - confidence


def findings(comparison: Comparison) -> list[str]:
    """List the findings, one sentence each.

    Their order: growth of gaps with length; gaps over all sentences; BLEU by length; growth that
    cannot be tested; recall; hypotheses and sources that were cut.
    """
    config, gaps = comparison.settings, comparison.gaps
    sentences = [growth_in_words(gap, config) for gap in gaps if gap.difference_in_differences]
    sentences += [gap_in_words(gap, comparison.sentences, config.confidence) for gap in gaps]
    sentences += [curve_in_words(system, config) for system in comparison.systems]
    sentences += [growth_in_words(gap, config) for gap in gaps if not gap.difference_in_differences]
    sentences += [recall_in_words(comparison, gap) for gap in gaps if comparison.recall]
    for system in comparison.systems:
        if (system.overall.capped or 0) > NOTABLE_CAP_SHARE * comparison.sentences:
            sentences.append(
                f"{system.name}: the search cut {system.overall.capped:,.0f} of "
                f"{comparison.sentences:,} hypotheses at its length limit (decoding.max_ratio)."
            )
    cut = {s.name: max(e.record.cut_sources for e in s.evaluations) for s in comparison.systems}
    for count in sorted({*cut.values()} - {0}):
        names = ", ".join(name for name, of_system in cut.items() if of_system == count)
        sentences.append(
            f"{names}: {count:,} of {comparison.sentences:,} sources have more pieces than "
            "tokenization.max_pieces allows; only their beginning was translated."
        )
    return list(dict.fromkeys(sentences))


def recall_in_words(comparison: Comparison, gap: Gap) -> str:
    """Describe what the gap in recall varies with most: length, place or frequency."""
    names = {
        "length": "the length of the source",
        "place": "the place in the reference",
        "training": "how often training showed the word",
    }
    found = comparison.recall
    spread = {names[key]: found[key].spread[gap.system] for key in names if key in found}
    ordered = sorted(spread, key=lambda name: -spread[name].value)
    values = ", ".join(f"{interval_text(spread[name], 3)} with {name}" for name in ordered)
    return (
        f"{gap.system} minus {gap.baseline}: the gap in recall of content words varies most with "
        f"{ordered[0]} (standard deviation {values})."
    )


def growth_in_words(gap: Gap, config: EvaluationConfig) -> str:
    """Describe whether the gap grows with source length."""
    growth, (short, long) = gap.difference_in_differences, config.ends
    if growth is None:
        return (
            "Whether a gap grows with source length cannot be tested: it takes sources of up to "
            f"{short} {config.unit} and of more than {long}."
        )
    ahead = min(growth.short.value, growth.long.value) >= 0
    if growth.few:
        verdict = f"Fewer than {FEW} short or long sentences, too few to conclude"
    elif growth.difference.low > 0:
        verdict = f"{gap.system} {'helps more' if ahead else 'compares better'} on long sentences"
    elif growth.difference.high < 0:
        verdict = f"{gap.system} {'helps less' if ahead else 'compares worse'} on long sentences"
    else:
        verdict = "No significant change of the gap with length"
    return (
        f"{verdict}: {gap.system} minus {gap.baseline} is {with_interval(growth.short)} BLEU up to "
        f"{short} source {config.unit} (n = {growth.short_sentences:,}) and "
        f"{with_interval(growth.long)} above {long} (n = {growth.long_sentences:,}), a "
        f"difference of {with_interval(growth.difference)}."
    )


def gap_in_words(gap: Gap, sentences: int, confidence: float) -> str:
    """Describe the gap over the whole test set.

    If the gap is not significant, add its p-value, unless this alone would call it significant.
    """
    paired = gap.rows[-1]
    assert paired is not None  # a test set has sentences
    size = with_interval(paired.gap)
    gain = f"Over all {sentences:,} sentences, {gap.system} minus {gap.baseline} is {size} BLEU"
    if sentences < FEW:
        return f"{gain}: fewer than {FEW} sentences, too few to conclude from."
    if not _significant(paired, confidence):
        p = paired.p_randomization
        test = f" (p = {p:.2g})" if p > 1 - confidence else ""
        return f"{gain}: no significant difference{test}."
    return f"{gain}."


def curve_in_words(system: System, config: EvaluationConfig) -> str:
    """Describe how BLEU changes from the shortest to the longest bucket with enough sentences."""
    trend = system.trend
    if trend is None:
        return f"{system.name}: no curve by length, as fewer than two lengths have {FEW} sentences."
    rows = {row.words: row for row in system.rows}
    start, end = (
        f"{rows[label].bleu:.1f} at {label} {config.unit}" for label in (trend.first, trend.last)
    )
    change = with_interval(trend.change)
    if trend.change.low <= 0 <= trend.change.high:
        return f"{system.name}: BLEU {start} and {end}: no significant change ({change})."
    if trend.change.value > 0:
        return f"{system.name}: BLEU rises from {start} to {end} ({change})."
    return f"{system.name}: BLEU falls from {start} to {end} ({change}){_half(trend, config)}."


def change_in_words(what: str, values: Mapping[str, Sequence[float | None]]) -> str:
    """Describe the first and the last known value of each system that has values."""
    known = {name: [v for v in column if v is not None] for name, column in values.items()}
    ends = [f"{name} {v[0]:.2f} to {v[-1]:.2f}" for name, v in known.items() if v]
    return f"{what}: {'; '.join(ends)}."


def _half(trend: Trend, config: EvaluationConfig) -> str:
    """Describe the length at which half of BLEU is left; empty if BLEU never falls to half."""
    half = trend.half_length
    if math.isinf(half.value):
        return ""
    ends = " to ".join("never" if math.isinf(n) else f"{n:.0f}" for n in (half.low, half.high))
    share = percent(config.confidence)
    return f"; half is left at {half.value:.0f} {config.unit} ({share} interval {ends})"
