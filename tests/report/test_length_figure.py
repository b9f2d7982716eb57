"""The figure shows the comparison's numbers, whole and to be told apart."""

import re
from dataclasses import replace
from functools import partial

import matplotlib
import numpy as np
import sacrebleu
from matplotlib.collections import LineCollection, PolyCollection

from seq2seq.drawing import DARK, GROUND, INK, render
from seq2seq.report.figures import length_figure


def test_neither_time_nor_a_users_matplotlib_style_changes_a_byte(comparison):
    plain = render(partial(length_figure, comparison), forms=["svg", "pdf"])
    with matplotlib.rc_context({"lines.linewidth": 9, "axes.facecolor": "red", "font.size": 30}):
        styled = render(partial(length_figure, comparison), forms=["svg", "pdf"])
        assert matplotlib.rcParams["font.size"] == 30  # and is left as it was
    assert styled == plain
    assert b"<svg" in plain["svg"][:2000]
    assert b"dc:date" not in plain["svg"]


def test_the_figure_shows_the_comparisons_numbers(comparison):
    """Lines are BLEU, bands the intervals, whiskers from seed to seed; few sentences are hollow."""
    axes = length_figure(comparison).axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    bands = [one for one in axes.collections if isinstance(one, PolyCollection)]
    whiskers = [one for one in axes.collections if isinstance(one, LineCollection)]
    for system, band, whisker in zip(comparison.systems, bands, whiskers, strict=True):
        rows = [(place, row) for place, row in enumerate(system.buckets) if row.sentences]
        drawn = lines[system.name].get_xydata()
        np.testing.assert_allclose(drawn, [(place, row.bleu) for place, row in rows])
        (outline,) = band.get_paths()
        assert {tuple(vertex) for vertex in outline.vertices} == {
            (place, end) for place, row in rows for end in (row.bleu_low, row.bleu_high)
        }
        ranges = [[(place, end(row.by_seed)) for end in (min, max)] for place, row in rows]
        np.testing.assert_allclose(whisker.get_segments(), ranges)
    highest = max(
        row.bleu_high for system in comparison.systems for row in system.buckets if row.bleu
    )
    assert axes.get_ylim()[1] > highest
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == GROUND]
    assert [list(line.get_xdata()) for line in hollow] == [[2], [2]]


def test_copying_the_source_is_the_floor(attending):
    """BLEU of the sources as translations, by sacreBLEU itself."""
    axes = length_figure(attending).axes[0]
    (floor,) = [line for line in axes.lines if line.get_label() == "copying the source"]
    texts, expected = attending.systems[0].first.texts, {}
    for place, chosen in enumerate(attending.members):
        sides = [
            [side[i] for i in np.flatnonzero(chosen)] for side in (texts.sources, texts.references)
        ]
        if sides[0]:
            expected[place] = sacrebleu.corpus_bleu(sides[0], sides[1:], force=True).score
    assert max(expected.values()) > 0
    np.testing.assert_allclose(floor.get_xydata(), list(expected.items()), atol=1e-9)


def test_two_svgs_fit_into_one_page_and_have_an_area_for_each_length(comparison):
    seen = set()
    for prefix in ("", "chart-"):
        svg = render(partial(length_figure, comparison), prefix)["svg"].decode()
        ids = re.findall(r' id="([^"]*)"', svg)
        assert len({*ids}) == len(ids)
        assert not seen & {*ids}
        seen |= {*ids}
        assert {*re.findall(r'(?:href="|url\()#([^")]*)', svg)} <= {*ids}
        for place in range(len(comparison.systems[0].buckets)):
            assert f'id="{prefix}length-{place}"' in svg
        colours = {*re.findall(r"(?:fill|stroke): (#\w+)", svg.split("</style>")[1])}
        # Each has a dark counterpart.
        assert {INK.lower()} < colours < {colour.lower() for colour in DARK}


def changed(comparison, of_row, rows=slice(None)):
    """The comparison with other rows, the buckets of ``rows`` alone."""
    systems = [
        replace(s, rows=[*(of_row(row) for row in s.rows[:-1][rows]), s.overall])
        for s in comparison.systems
    ]
    return replace(comparison, systems=systems)


def test_odd_comparisons_can_be_drawn(comparison):
    zeros = {"scores": {"bleu": 0.0}, "bleu_low": 0.0, "bleu_high": 0.0, "by_seed": [0.0, 0.0]}
    nothing = changed(comparison, lambda row: replace(row, **zeros), slice(1))
    assert len(render(partial(length_figure, replace(nothing, gaps=[])))["svg"]) > 10_000
    hole = replace(comparison.systems[0].rows[-2], words="11-20")
    gapped = changed(comparison, lambda row: hole if row.words == "11-20" else row, slice(3))
    assert len(length_figure(gapped).axes[0].get_xticklabels()) == 3


def test_many_systems_with_long_names_are_named_in_the_order_of_their_ends(comparison):
    many = [
        replace(system, name=f"${place}{place} with a name of some forty characters")
        for place in range(5)
        for system in comparison.systems
    ]
    many = [replace(one, name=f"{number} {one.name}") for number, one in enumerate(many)]
    figure = length_figure(replace(comparison, systems=many, gaps=[]))
    figure.draw_without_rendering()
    axes, (legend,) = figure.axes[0], figure.legends
    assert axes.get_position().width > 0.4
    names = [text.get_text().replace("\n", " ") for text in legend.get_texts()]
    lines = {line.get_label(): line for line in axes.lines}
    ends = [lines[name].get_ydata()[-1] for name in names]
    assert ends == sorted(ends, reverse=True)
    assert len(names) == len({lines[name].get_color() + lines[name].get_marker() for name in names})
    assert legend.get_window_extent().x0 > axes.get_window_extent().x1
