from dataclasses import replace

import numpy as np
import pytest
from synthetic_translations import evaluated, translated

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.systems import Comparison, compare_systems
from seq2seq.report.heatmap import bleu_matrix, heatmap, render_heatmap
from seq2seq.report.numbers import p_text
from seq2seq.report.tables import bleu_table, gap_table


@pytest.fixture(scope="module")
def widths(tmp_path_factory) -> Comparison:
    """Six systems: the wider, the longer the sentences that they keep."""
    root = tmp_path_factory.mktemp("widths")
    lengths = {5: 110, 25: 30, 31: 110}
    evaluations = [
        evaluated(
            root / f"{width}-{seed}",
            translated(lengths, lambda n, width=width: min(0.95, width / n / 20), seed),
            f"width-{width}",
            seed,
        )
        for width in (32, 64, 128, 256, 512, 1024)
        for seed in ((1, 2) if width == 64 else (1,))
    ]
    return compare_systems(evaluations, "width-32", EvaluationConfig(bootstrap=100))


def test_the_map_shows_each_systems_bleu_at_each_length(widths):
    values = bleu_matrix(widths)
    # Buckets beyond the longest source are left out, and one in between without sentences is empty.
    assert values.shape == (6, 4)
    assert np.isnan(values[:, 1]).all()
    axes = heatmap(widths).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "width-32", "width-64 (2 seeds)", "width-128", "width-256", "width-512", "width-1024",
    ]  # fmt: skip
    written = {text.get_position(): text.get_text() for text in axes.texts}
    for row, system in enumerate(widths.systems):
        for column, bucket in enumerate(system.buckets[:4]):
            shown = written.get((column, row))
            assert shown == (None if bucket.bleu is None else f"{bucket.bleu:.1f}")
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["1–10\nn = 110", "11–20\nn = 0", "21–30\nn = 30", "31–40\nn = 110"]


def test_the_same_comparison_makes_the_same_map(widths):
    first = render_heatmap(widths)
    assert first == render_heatmap(widths)
    assert first["png"].startswith(b"\x89PNG")
    assert b"<svg" in first["svg"][:2000]


def test_many_gaps_have_a_table_of_their_own(widths, comparison):
    assert "gap" not in bleu_table(widths)
    rows = gap_table(widths).splitlines()[2:]
    assert len(rows) == len(widths.gaps) == 5
    for row, gap in zip(rows, widths.gaps, strict=True):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        paired, growth = gap.overall.paired, gap.difference_in_differences
        assert cells == [
            gap.system,
            "width-32",
            f"{paired.gap:+.1f} [{paired.gap_low:+.1f}, {paired.gap_high:+.1f}]",
            p_text(paired.p_bootstrap, 100),
            p_text(paired.p_randomization, 100),
            f"{growth.short_gap:+.1f} [{growth.short_low:+.1f}, {growth.short_high:+.1f}]",
            f"{growth.long_gap:+.1f} [{growth.long_low:+.1f}, {growth.long_high:+.1f}]",
            f"{growth.value:+.1f} [{growth.low:+.1f}, {growth.high:+.1f}]",
        ]
    assert gap_table(comparison) == ""
    assert "gap additive" in bleu_table(comparison)


@pytest.mark.parametrize(
    ("short", "long", "marked"), [(100, 99, [6, 7]), (99, 100, [5, 7]), (100, 100, [])]
)
def test_a_gap_over_few_sentences_is_marked(widths, short, long, marked):
    growth = widths.gaps[0].difference_in_differences
    growth = replace(growth, short_sentences=short, long_sentences=long)
    gaps = [replace(widths.gaps[0], difference_in_differences=growth), *widths.gaps[1:]]
    cells = gap_table(replace(widths, gaps=gaps)).splitlines()[2].strip("|").split("|")
    assert [place for place, cell in enumerate(cells) if "†" in cell] == marked


def test_without_long_sentences_a_gap_has_no_growth(widths):
    gaps = [replace(gap, difference_in_differences=None) for gap in widths.gaps]
    rows = gap_table(replace(widths, gaps=gaps)).splitlines()[2:]
    assert all(row.replace(" ", "").endswith("|–|–|–|") for row in rows)
