"""The result of a comparison as one sentence, also where no difference is significant."""

from seq2seq.evaluation.comparison import Comparison, Gap
from seq2seq.evaluation.lengths import FEW
from seq2seq.evaluation.significance import Interval
from seq2seq.report.tables import signed


def conclusion(comparison: Comparison) -> str:
    """Result as one sentence: of one gap, its growth with source length; else the best system.

    If short or long sentences are too few, the gap over all sentences takes the place of growth.
    """
    systems = comparison.systems
    if len(comparison.gaps) != 1:
        best = max(systems, key=lambda system: system.overall.bleu or 0.0)
        rank = f", best of {len(systems)} systems" if len(systems) > 1 else ""
        few = f" ({comparison.sentences} sentences are too few)" * best.overall.few
        return f"{best.name}: {best.overall.bleu:.1f} BLEU{rank}{few}."
    (gap,) = comparison.gaps
    growth = gap.difference_in_differences
    if growth is None or growth.few:
        return _overall(comparison, gap)
    (short, long), found = comparison.settings.ends, growth.difference
    change = "no significant change with length"
    if not found.low <= 0 <= found.high:
        side = "more" if found.value > 0 else "less"
        change = f"{signed(abs(found.value))[1:]} {side} on long sentences"
    return (
        f"{gap.system} minus {gap.baseline} is {signed(growth.long.value)} BLEU above {long} "
        f"{comparison.settings.unit} and {signed(growth.short.value)} up to {short}: {change}"
        f"{_within(comparison, found)}."
    )


def _overall(comparison: Comparison, gap: Gap) -> str:
    """Sentence on the gap over all sentences; it also needs the randomisation test to agree."""
    paired = gap.rows[-1]
    if paired is None or comparison.sentences < FEW:
        return f"{gap.system}: fewer than {FEW} sentences, too few to conclude."
    interval, highest_p = _within(comparison, paired.gap), 1 - comparison.settings.confidence
    if paired.gap.low <= 0 <= paired.gap.high or paired.p_randomization > highest_p:
        return f"{gap.system} and {gap.baseline}: no significant difference{interval}."
    side = "higher" if paired.gap.low > 0 else "lower"
    size = signed(abs(paired.gap.value))[1:]
    return f"{gap.system} scores {size} BLEU {side} than {gap.baseline}{interval}."


def _within(comparison: Comparison, interval: Interval) -> str:
    share = f"{comparison.settings.confidence:.0%}"
    return f" ({share} interval {signed(interval.low)} to {signed(interval.high)})"
