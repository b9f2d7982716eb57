"""What a comparison says, in plain words. Each sentence is computed, and each can say "nothing"."""

from seq2seq.evaluation.lengths import FEW
from seq2seq.evaluation.significance import LONG_WORDS, SHORT_WORDS
from seq2seq.evaluation.systems import Comparison, Gap, System
from seq2seq.evaluation.trend import Trend
from seq2seq.report.numbers import between, percent, signed, with_interval

NOTABLE_CAP_SHARE = 0.01
NO_GROWTH = (
    "Whether a gap grows with the length of the source cannot be said: that takes sources of up to "
    f"{SHORT_WORDS} words and of more than {LONG_WORDS}, and one of the two is missing in the test "
    "set."
)


def findings(comparison: Comparison) -> list[str]:
    """The findings, one sentence or two each: every system, every gap, then what to beware of."""
    confidence = comparison.settings.confidence
    found = [curve_in_words(system, confidence) for system in comparison.systems]
    for gap in comparison.gaps:
        found.append(gap_in_words(gap, confidence))
        if gap.difference_in_differences is not None:
            found.append(growth_in_words(gap, confidence))
    if any(gap.difference_in_differences is None for gap in comparison.gaps):
        found.append(NO_GROWTH)  # once, as it is the test set's lack
    for system in comparison.systems:
        if (system.overall.capped or 0) > NOTABLE_CAP_SHARE * comparison.sentences:
            found.append(
                f"{system.name}: the search cut {_mean_count(system)} of "
                f"{comparison.sentences:,} hypotheses at its length limit."
            )
    return found


def _mean_count(system: System) -> str:
    """How many hypotheses were cut; of several seeds their mean."""
    count = f"{system.overall.capped:,.1f}".removesuffix(".0")
    return count if len(system.seeds) == 1 else f"{count} (the mean over seeds)"


def curve_in_words(system: System, confidence: float) -> str:
    """From the shortest bucket to the longest, among those of enough sentences to be believed."""
    rows = [row for row in system.buckets if not row.few]
    believable = len(rows) > 1
    if not believable:
        rows = [row for row in system.buckets if row.sentences]
    first, last = rows[0], rows[-1]
    start = f"{first.bleu:.1f} on sources of {first.words} words"
    end = f"{last.bleu:.1f} on sources of {last.words} words"
    if first is last:
        return f"{system.name}: BLEU is {start}, which are all of them: no curve by length."
    if not believable:
        return (
            f"{system.name}: BLEU is {start} and {end}, but only one length at most has {FEW} "
            "sentences: too few to see a curve."
        )
    found = system.trend
    assert found is not None  # there are two buckets to be believed
    interval = f"{percent(confidence)} interval {between(found.low, found.high)}"
    change = f"{signed(found.change)}, {interval}"
    # Rows with sentences have intervals; the type does not say so.
    if (last.bleu_high or 0.0) < (first.bleu_low or 0.0):
        lost = _half_in_words(system, found, confidence)
        return f"{system.name}: BLEU falls from {start} to {end} ({change}){lost}."
    if (last.bleu_low or 0.0) > (first.bleu_high or 0.0):
        return f"{system.name}: BLEU rises from {start} to {end} ({change})."
    return (
        f"{system.name}: BLEU is {start} and {end} ({change}); the intervals of the two scores "
        "overlap, which counts as neither a fall nor a rise."
    )


def _half_in_words(system: System, found: Trend, confidence: float) -> str:
    """Where BLEU is first less than half of what it was; nothing where it never is."""
    if found.half is None:
        return ""
    ends = [words or "never" for words in (found.half_from, found.half_to)]
    luck = f"in {percent(confidence)} of resamples, too"
    if ends != [found.half] * 2:
        luck = f"{percent(confidence)} interval {ends[0]} to {ends[1]}"
    words = [row.words for row in system.buckets]
    passed = system.buckets[words.index(found.first) : words.index(found.half)]
    among = ""
    if any(row.few and row.sentences for row in passed):
        among = f"among the lengths of at least {FEW} sentences "
    return f"; {among}it is first less than half of that at {found.half} words ({luck})"


def gap_in_words(gap: Gap, confidence: float) -> str:
    """The gap over the whole test set."""
    paired = gap.overall.paired
    assert paired is not None  # a test set has sentences
    interval = f"{percent(confidence)} interval {between(paired.gap_low, paired.gap_high)}"
    over_all = f'Over all {gap.overall.sentences:,} sentences "{gap.system}"'
    by = f'{over_all} differs from "{gap.baseline}" by {signed(paired.gap)} BLEU ({interval})'
    if gap.overall.sentences < FEW:
        return f"{by}: fewer than {FEW} sentences, too few to conclude from."
    if paired.gap_low <= 0 <= paired.gap_high:
        return f"{by}: no difference that this test set can show."
    if paired.p_randomization > 1 - confidence:
        return (
            f"{by}, yet p is {paired.p_randomization:.3g} by approximate randomisation: where the "
            "two tests disagree, no difference is claimed."
        )
    side = "above" if paired.gap > 0 else "below"
    size = signed(abs(paired.gap)).removeprefix("+")
    return f'{over_all} is {size} BLEU {side} "{gap.baseline}" ({interval}).'


def growth_in_words(gap: Gap, confidence: float) -> str:
    """Whether the gap grows with source length: the claim under test."""
    found = gap.difference_in_differences
    if found is None:
        return NO_GROWTH
    sides = f'against "{gap.baseline}" on long sources than on short ones'
    if min(found.long_sentences, found.short_sentences) < FEW:
        verdict = f"with fewer than {FEW} sentences on a side, too few to conclude from"
    elif found.low > 0:
        verdict = f'"{gap.system}" stands better {sides}'
    elif found.high < 0:
        verdict = f'"{gap.system}" stands worse {sides}'
    else:
        verdict = "the interval covers 0, so this does not show that the gap depends on length"
    seeds = ""
    if len(found.by_seed) > 1:
        low, high = min(found.by_seed.values()), max(found.by_seed.values())
        seeds = f"; {between(low, high)} over {len(found.by_seed)} seeds"
    short = with_interval(found.short_gap, found.short_low, found.short_high)
    long = with_interval(found.long_gap, found.long_low, found.long_high)
    return (
        f'"{gap.system}" minus "{gap.baseline}" is {short} BLEU up to '
        f"{SHORT_WORDS} source words (n = {found.short_sentences:,}) and {long} "
        f"above {LONG_WORDS} (n = {found.long_sentences:,}): difference in differences "
        f"{signed(found.value)} ({percent(confidence)} interval {between(found.low, found.high)}"
        f"{seeds}); {verdict}."
    )
