from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection, PolyCollection

from seq2seq.report.length_figure import (
    bleu_matrix,
    heatmap,
    length_figure,
    look,
    render_heatmap,
    render_length_figure,
    spread,
)


def test_the_same_comparison_makes_the_same_bytes(comparison):
    first, second = render_length_figure(comparison), render_length_figure(comparison)
    assert first == second
    assert first["png"].startswith(b"\x89PNG")
    assert len(first["png"]) > 20_000
    assert b"<svg" in first["svg"][:2000]
    assert b"dc:date" not in first["svg"]


def test_a_users_matplotlib_style_changes_nothing(comparison):
    plain = render_length_figure(comparison)["svg"]
    with matplotlib.rc_context({"lines.linewidth": 9, "axes.facecolor": "red", "font.size": 30}):
        styled = render_length_figure(comparison)["svg"]
        assert matplotlib.rcParams["font.size"] == 30  # and is left as it was
    assert styled == plain


def test_the_figure_shows_the_comparisons_numbers(comparison):
    axes = length_figure(comparison).axes[0]
    drawn = {
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))
        for line in axes.lines
        if line.get_marker() in ("o", "s") and len(line.get_xdata()) == 1
    }
    for system in comparison.systems:
        for place, row in enumerate(system.buckets):
            if row.sentences:
                assert (place, row.bleu) in drawn


def test_bands_are_the_intervals_and_whiskers_reach_from_seed_to_seed(comparison):
    axes = length_figure(comparison).axes[0]
    bands = [one for one in axes.collections if isinstance(one, PolyCollection)]
    whiskers = [one for one in axes.collections if isinstance(one, LineCollection)]
    ranges = []
    for system, band in zip(comparison.systems, bands, strict=True):
        rows = [(place, row) for place, row in enumerate(system.buckets) if row.sentences]
        (outline,) = band.get_paths()
        assert {tuple(vertex) for vertex in outline.vertices} == {
            (place, end) for place, row in rows for end in (row.bleu_low, row.bleu_high)
        }
        ranges += [[(place, end(row.by_seed)) for end in (min, max)] for place, row in rows]
    drawn = [segment for one in whiskers for segment in one.get_segments()]
    np.testing.assert_allclose(drawn, ranges)


def test_buckets_of_few_sentences_are_hollow(comparison):
    axes = length_figure(comparison).axes[0]
    hollow = {
        float(line.get_xdata()[0])
        for line in axes.lines
        if line.get_marker() in ("o", "s") and line.get_markerfacecolor() == "white"
    }
    assert hollow == {2.0}


def test_nothing_is_cut_off_with_long_names(comparison):
    named = [
        replace(system, name=f"{system.name} with a name of some forty characters")
        for system in comparison.systems
    ]
    figure = length_figure(replace(comparison, systems=named))
    figure.draw_without_rendering()  # labels of axes find their places only then
    renderer = figure.canvas.get_renderer()
    axes = figure.axes[0]
    assert axes.get_position().width > 0.4
    for text in (*axes.texts, *figure.texts, axes.xaxis.label, axes.yaxis.label):
        box = text.get_window_extent(renderer)
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y0 >= 0
        assert box.y1 <= figure.bbox.height


def changed(comparison, of_row, rows=slice(None)):
    """The comparison with other rows, the buckets of ``rows`` alone."""
    systems = [
        replace(s, rows=[*(of_row(row) for row in s.rows[:-1][rows]), s.overall])
        for s in comparison.systems
    ]
    return replace(comparison, systems=systems)


def test_intervals_of_few_sentences_do_not_set_the_axis(comparison):
    wild = changed(comparison, lambda row: replace(row, bleu_high=99.0) if row.few else row)
    assert any(row.few and row.bleu for row in comparison.systems[0].buckets)
    axes = [length_figure(one).axes[0] for one in (comparison, wild)]
    assert axes[0].get_ylim() == axes[1].get_ylim()


def test_odd_comparisons_can_be_drawn(comparison):
    zeros = {"bleu": 0.0, "bleu_low": 0.0, "bleu_high": 0.0, "by_seed": [0.0, 0.0]}
    nothing = changed(comparison, lambda row: replace(row, **zeros), slice(1))
    assert len(render_length_figure(replace(nothing, gaps=[]))["png"]) > 10_000
    hole = replace(comparison.systems[0].rows[-2], words="11-20")
    gapped = changed(comparison, lambda row: hole if row.words == "11-20" else row, slice(3))
    assert len(length_figure(gapped).axes[0].get_xticklabels()) == 3


def test_more_systems_than_colours_can_be_told_apart_at_their_names(comparison):
    many = [replace(comparison.systems[0], name=f"${i}") for i in range(9)]
    figure = length_figure(replace(comparison, systems=many))
    figure.draw_without_rendering()
    axes = figure.axes[0]
    names = {text.xy[1]: text for text in axes.texts if text.get_text().startswith("$")}
    samples = [line for line in axes.lines if len(line.get_xdata()) == 3]
    assert len(samples) == len(names) == 9
    looks = set()
    for sample in samples:
        name = names[sample.get_ydata()[0]]  # at its height, and left of it
        assert sample.get_window_extent().x1 < name.get_window_extent().x0
        assert sample.get_window_extent().x0 > axes.get_window_extent().x1
        assert sample.get_color() == name.get_color()
        looks.add((sample.get_color(), sample.get_marker()))
    assert len(looks) == 9


@given(st.lists(st.floats(0, 100), max_size=8), st.floats(0.1, 20))
def test_spread_keeps_order_and_makes_room(heights, room):
    moved = np.array(spread(heights, room))
    order = np.argsort(heights, kind="stable")
    assert (np.diff(moved[order]) >= room - 1e-6).all()
    assert moved.sum() == pytest.approx(sum(heights))


def test_spread_leaves_what_has_room():
    assert spread([50.0, 10.0], 5.0) == [50.0, 10.0]
    assert spread([10.0, 10.0], 4.0) == [8.0, 12.0]


def test_many_systems_look_different():
    assert len({look(index) for index in range(49)}) == 49


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
        for column, bucket in enumerate(system.buckets):
            shown = written.get((column, row))
            assert shown == (None if bucket.bleu is None else f"{bucket.bleu:.1f}")
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["1–10\nn = 110", "11–20\nn = 0", "21–30\nn = 30", "31–40\nn = 110"]


def test_the_same_comparison_makes_the_same_heatmap(widths):
    assert render_heatmap(widths) == render_heatmap(widths)
