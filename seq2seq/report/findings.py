"""What a comparison says, in plain words. Each sentence is computed, and each can say "nothing"."""

from seq2seq.evaluation.comparison import Comparison, Gap, System
from seq2seq.evaluation.lengths import FEW, ScoreRow
from seq2seq.evaluation.significance import LONG_WORDS, SHORT_WORDS, Trend
from seq2seq.report.tables import percent, with_interval

NOTABLE_CAP_SHARE = 0.01


def findings(comparison: Comparison) -> list[str]:
    """The findings, a sentence each: whether gaps grow, every gap, every curve, then caveats."""
    confidence = comparison.settings.confidence
    found = [growth_in_words(gap) for gap in comparison.gaps]
    found += [gap_in_words(gap, comparison.sentences, confidence) for gap in comparison.gaps]
    found += [curve_in_words(system, confidence) for system in comparison.systems]
    for system in comparison.systems:
        if (system.overall.capped or 0) > NOTABLE_CAP_SHARE * comparison.sentences:
            found.append(
                f"{system.name}: the search cut {system.overall.capped:,.0f} of "
                f"{comparison.sentences:,} hypotheses at its length limit."
            )
    return list(dict.fromkeys(found))


def growth_in_words(gap: Gap) -> str:
    """Whether the gap grows with source length: the claim under test."""
    found = gap.difference_in_differences
    if found is None:
        return (
            "Whether a gap grows with source length cannot be tested: it takes sources of up to "
            f"{SHORT_WORDS} words and of more than {LONG_WORDS}."
        )
    if min(found.long_sentences, found.short_sentences) < FEW:
        verdict = f"Fewer than {FEW} short or long sentences are too few to conclude from"
    elif found.difference.low > 0:
        verdict = f"{gap.system} helps more on long sentences"
    elif found.difference.high < 0:
        verdict = f"{gap.system} helps less on long sentences"
    else:
        verdict = "No significant change of the gap with length"
    return (
        f"{verdict}: {gap.system} minus {gap.baseline} is {with_interval(found.short)} BLEU up to "
        f"{SHORT_WORDS} source words (n = {found.short_sentences:,}) and "
        f"{with_interval(found.long)} above {LONG_WORDS} (n = {found.long_sentences:,}), a "
        f"difference of {with_interval(found.difference)}."
    )


def gap_in_words(gap: Gap, sentences: int, confidence: float) -> str:
    """The gap over the whole test set."""
    paired = gap.rows[-1]
    assert paired is not None  # a test set has sentences
    size = with_interval(paired.gap)
    said = f"Over all {sentences:,} sentences, {gap.system} minus {gap.baseline} is {size} BLEU"
    if sentences < FEW:
        return f"{said}: fewer than {FEW} sentences, too few to conclude from."
    if paired.gap.low <= 0 <= paired.gap.high or paired.p_randomization > 1 - confidence:
        return f"{said}: no significant difference (p = {paired.p_randomization:.2g})."
    return f"{said}."


def curve_in_words(system: System, confidence: float) -> str:
    """From the shortest bucket to the longest, among those of enough sentences."""
    found = system.trend
    if found is None:
        return f"{system.name}: no curve by length, as fewer than two lengths have {FEW} sentences."
    rows = {row.words: row for row in system.rows}
    start, end = _score(rows[found.first]), _score(rows[found.last])
    change = with_interval(found.change)
    if found.change.low <= 0 <= found.change.high:
        return f"{system.name}: BLEU {start} and {end}: no significant change ({change})."
    if found.change.value > 0:
        return f"{system.name}: BLEU rises from {start} to {end} ({change})."
    return f"{system.name}: BLEU falls from {start} to {end} ({change}){_half(found, confidence)}."


def _score(row: ScoreRow) -> str:
    return f"{row.bleu:.1f} at {row.words} words"


def _half(found: Trend, confidence: float) -> str:
    """Where BLEU is first less than half of what it was; nothing where it never is."""
    if found.half is None:
        return ""
    ends = " to ".join(words or "never" for words in (found.half_from, found.half_to))
    return f"; half is lost at {found.half} words ({percent(confidence)} interval {ends})"
