"""BLEU by source length as curves, like Bahdanau, Cho & Bengio 2014."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seq2seq.drawing import ZONE, draw_line, name_lines, new_figure
from seq2seq.evaluation.comparison import Comparison, System
from seq2seq.evaluation.lengths import FEW, ScoreRow
from seq2seq.evaluation.scores import bleu, bleu_counts
from seq2seq.looks import FAINT, GRID, INK, Look
from seq2seq.report.findings import conclusion
from seq2seq.report.tables import percent, title

HEIGHT = 5.4
"""Height in inches; the figure is 16 to 9, like a slide."""


def length_figure(comparison: Comparison, narrow: bool = False, bare: bool = False) -> Figure:
    """Draw BLEU by source length: points at buckets, bands for intervals, n below each bucket.

    An invisible area over each bucket (``ZONE``) lets a page show details of the bucket.
    ``narrow``, for a phone, leaves out n. ``bare``, for a page with its own title, leaves out the
    title.
    """
    settings, buckets = comparison.settings, comparison.systems[0].buckets
    notes = [f"Bands: {percent(settings.confidence)} bootstrap intervals."]
    if any(len(system.seeds) > 1 for system in comparison.systems):
        notes.append("Points: means over seeds; whiskers: lowest and highest seed.")
    if any(row.few for row in buckets):
        notes.append(f"Hollow: fewer than {FEW} sentences.")
    texts = ("", "") if bare else (title(comparison), conclusion(comparison))
    height = 4.4 + 0.2 * len(comparison.systems) + 0.6 * bare if narrow else HEIGHT
    figure = new_figure(height, *texts, " ".join(notes), narrow)
    axes = figure.add_subplot()
    for system, look in zip(comparison.systems, comparison.looks, strict=True):
        _draw_system(axes, system, look)
    highest = _draw_copying(axes, comparison)
    for place in range(len(buckets)):
        ends = place - 0.5, place + 0.5
        axes.axvspan(*ends, alpha=0, linewidth=0, zorder=9, gid=f"{ZONE}{place}")
    label_lengths(axes, buckets, settings.unit, count=not narrow)
    if narrow:
        axes.tick_params(labelsize=9)
    drawn = [1.0]
    for row in (row for system in comparison.systems for row in system.buckets):
        drawn += [row.bleu or 0.0, row.bleu_high or 0.0, *row.by_seed]
    top = 102.0 if max(drawn) > 88 else max(drawn) * 1.08
    axes.set_ylim(0, max(top, 1.08 * highest))
    axes.set_ylabel("BLEU" if narrow else "BLEU (0 to 100)")
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    name_lines(figure, axes)
    return figure


def _draw_system(axes: Axes, system: System, look: Look) -> None:
    rows = system.buckets
    band = [row.bleu_low for row in rows], [row.bleu_high for row in rows]
    draw_line(axes, look, system.name, [row.bleu for row in rows], [row.few for row in rows], band)
    if len(system.seeds) > 1:
        scored = [(place, row.by_seed) for place, row in enumerate(rows) if row.sentences]
        low, high = ([end(of_seeds) for _, of_seeds in scored] for end in (min, max))
        axes.vlines([place for place, _ in scored], low, high, color=look[0], linewidth=1.1)


def _draw_copying(axes: Axes, comparison: Comparison) -> float:
    """Draw the BLEU of copied sources as a dotted line; return its highest value."""
    texts = comparison.systems[0].first.texts
    tokenize = comparison.settings.tokenize
    counts = bleu_counts(texts.sources, *texts.all_references, tokenize=tokenize)
    known = {i: bleu(counts[of].sum(axis=0)) for i, of in enumerate(comparison.members) if of.any()}
    axes.plot(*zip(*known.items(), strict=True), ":", color=FAINT, label="copying the source")
    return float(max(known.values()))


def label_lengths(axes: Axes, rows: Sequence[ScoreRow], unit: str, count: bool = False) -> None:
    """Write the source lengths of ``rows`` below the axes, faint where sentences are few."""
    counts = [f"\nn = {row.sentences:,}" if count else "" for row in rows]
    lengths = [row.words.replace("-", "–") for row in rows]
    labels = [label + number for label, number in zip(lengths, counts, strict=True)]
    axes.set_xticks(range(len(rows)), labels)
    for label, row in zip(axes.get_xticklabels(), rows, strict=True):
        label.set_color(FAINT if row.few else INK)
    axes.set_xlim(-0.35, len(rows) - 0.65)
    axes.set_xlabel(f"Source length ({unit})")
    axes.tick_params(length=0)
