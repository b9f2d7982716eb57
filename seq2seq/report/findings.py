"""What a comparison says, in plain words. Each sentence is computed, and each can say "nothing"."""

from seq2seq.evaluation.lengths import FEW
from seq2seq.evaluation.significance import LONG_WORDS, SHORT_WORDS
from seq2seq.evaluation.systems import Comparison, Gap, System

NOTABLE_CAP_SHARE = 0.01


def findings(comparison: Comparison) -> list[str]:
    """The findings, one sentence or two each: every system, every gap, then what to beware of."""
    found = [curve_in_words(system) for system in comparison.systems]
    for gap in comparison.gaps:
        found += [
            gap_in_words(gap, comparison.settings.confidence),
            growth_in_words(gap, comparison.settings.confidence),
        ]
    for system in comparison.systems:
        if system.overall.capped > NOTABLE_CAP_SHARE * comparison.sentences:
            found.append(
                f"{system.name}: the search cut {system.overall.capped:.4g} of "
                f"{comparison.sentences:,} hypotheses at its length limit, which costs them BLEU."
            )
    return found


def curve_in_words(system: System) -> str:
    """From the shortest bucket to the longest that hold enough sentences to be believed."""
    rows = [row for row in system.buckets if not row.few]
    if len(rows) < 2:
        rows = [row for row in system.buckets if row.sentences]
    first, last = rows[0], rows[-1]
    for row in (first, last):
        assert row.bleu is not None and row.bleu_low is not None and row.bleu_high is not None
    if first is last:
        return (
            f"{system.name}: BLEU is {first.bleu:.1f}, and all sources have "
            f"{first.words} words, so there is no curve by length."
        )
    few = " (few sentences: read with care)" if first.few or last.few else ""
    start = f"{first.bleu:.1f} on sources of {first.words} words"
    end = f"{last.bleu:.1f} on {last.words} words{few}"
    if last.bleu_high < first.bleu_low:  # type: ignore[operator]
        return f"{system.name}: BLEU falls from {start} to {end}."
    if last.bleu_low > first.bleu_high:  # type: ignore[operator]
        return f"{system.name}: BLEU rises from {start} to {end}."
    return (
        f"{system.name}: BLEU is {start} and {end}; the intervals overlap, so this shows neither "
        "a fall nor a rise."
    )


def gap_in_words(gap: Gap, confidence: float) -> str:
    """The gap over the whole test set."""
    paired = gap.overall.paired
    assert paired is not None  # a test set has sentences
    interval = f"{confidence:.0%} interval {paired.gap_low:+.1f} to {paired.gap_high:+.1f}"
    if paired.gap_low <= 0 <= paired.gap_high:
        return (
            f"Over all {gap.overall.sentences:,} sentences {gap.system} and {gap.baseline} are "
            f"{paired.gap:+.1f} BLEU apart ({interval}): no difference that this test set can show."
        )
    side = "above" if paired.gap > 0 else "below"
    return (
        f"Over all {gap.overall.sentences:,} sentences {gap.system} is {abs(paired.gap):.1f} BLEU "
        f"{side} {gap.baseline} ({interval})."
    )


def growth_in_words(gap: Gap, confidence: float) -> str:
    """Whether the gap grows with source length: the claim under test."""
    found = gap.difference_in_differences
    if found is None:
        return (
            f"Whether {gap.system} gains more on long sources cannot be said: the test set lacks "
            f"sources of up to {SHORT_WORDS} words or of more than {LONG_WORDS}."
        )
    if found.low > 0:
        verdict = f"against {gap.baseline}, {gap.system} does better the longer the source"
    elif found.high < 0:
        verdict = f"against {gap.baseline}, {gap.system} does worse the longer the source"
    else:
        verdict = "the interval covers 0, so this does not show that the gap depends on length"
    few = min(found.long_sentences, found.short_sentences) < FEW
    seeds = ""
    if len(found.by_seed) > 1:
        low, high = min(found.by_seed.values()), max(found.by_seed.values())
        seeds = f"; {low:+.1f} to {high:+.1f} over {len(found.by_seed)} seeds"
    return (
        f"The gap of {gap.system} over {gap.baseline} is {found.short_gap:+.1f} BLEU up to "
        f"{SHORT_WORDS} source words (n = {found.short_sentences:,}) and {found.long_gap:+.1f} "
        f"above {LONG_WORDS} (n = {found.long_sentences:,}). Difference in differences "
        f"{found.value:+.1f} ({confidence:.0%} interval {found.low:+.1f} to {found.high:+.1f}"
        f"{seeds}): {verdict}{' (few sentences: read with care)' if few else ''}."
    )
