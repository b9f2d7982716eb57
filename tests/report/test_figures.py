"""The figures show the numbers, and draw the same bytes at any time."""

from dataclasses import replace
from functools import partial

import matplotlib
import numpy as np
import pytest
import sacrebleu
from helpers.synthetic_translations import evaluated, translated
from matplotlib.collections import LineCollection, PolyCollection

from seq2seq.drawing import GROUND, render
from seq2seq.evaluation.translations import AttentionMap
from seq2seq.record import Progress, TrainingRecord
from seq2seq.report import figures
from seq2seq.report.figures import LONGEST, choose_maps, length_figure
from seq2seq.report.training_runs import TrainingRun, Validation


@pytest.mark.slow
def test_neither_time_nor_a_users_matplotlib_style_changes_a_byte(comparison):
    plain = render(partial(length_figure, comparison), forms=["svg", "pdf"])
    with matplotlib.rc_context({"lines.linewidth": 9, "axes.facecolor": "red", "font.size": 30}):
        assert render(partial(length_figure, comparison), forms=["svg", "pdf"]) == plain
        assert matplotlib.rcParams["font.size"] == 30  # and is left as it was
    assert plain["pdf"].startswith(b"%PDF")
    assert b"dc:date" not in plain["svg"]


def test_the_figure_shows_the_comparisons_numbers(comparison):
    """Lines are BLEU, bands the intervals, whiskers from seed to seed; few sentences are hollow."""
    axes = length_figure(comparison).axes[0]
    lines = {line.get_label(): line.get_xydata() for line in axes.lines}
    bands = [one.get_paths()[0] for one in axes.collections if isinstance(one, PolyCollection)]
    whiskers = [one for one in axes.collections if isinstance(one, LineCollection)]
    for system, band, whisker in zip(comparison.systems, bands, whiskers, strict=True):
        rows = [(place, row) for place, row in enumerate(system.buckets) if row.sentences]
        np.testing.assert_allclose(lines[system.name], [(place, row.bleu) for place, row in rows])
        corners = {(place, end) for place, row in rows for end in (row.bleu_low, row.bleu_high)}
        assert {tuple(vertex) for vertex in band.vertices} == corners
        ranges = [[(place, end(row.by_seed)) for end in (min, max)] for place, row in rows]
        np.testing.assert_allclose(whisker.get_segments(), ranges)
        assert axes.get_ylim()[1] > max(height for _, height in corners)
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == GROUND]
    assert [list(line.get_xdata()) for line in hollow] == [[2], [2]]


def test_copying_the_source_is_the_floor(report):
    """BLEU of the sources as translations, by sacreBLEU itself."""
    _, comparison = report
    (axes,), texts, expected = length_figure(comparison).axes, comparison.systems[0].first.texts, []
    for place, chosen in enumerate(comparison.members):
        if chosen.any():
            said, meant = (np.array(s)[chosen].tolist() for s in (texts.sources, texts.references))
            score = sacrebleu.corpus_bleu(said, [meant], force=True).score
            expected.append([place, score])
    (floor,) = [line for line in axes.lines if line.get_label() == "copying the source"]
    assert any(score for _, score in expected)
    np.testing.assert_allclose(floor.get_xydata(), expected, atol=1e-9)


def test_each_square_of_a_map_shows_the_weight_between_two_words(report):
    system = report[1].systems[1]
    figure = figures.attention_figure(system, "#009E73")
    assert any(text.get_text().startswith(system.name) for text in figure.texts)
    for axes, drawn in zip(figure.axes, choose_maps(system.first), strict=True):
        (image,) = axes.images
        np.testing.assert_array_equal(image.get_array(), np.array(drawn.weights))
        assert image.get_clim() == (0, 1)
        assert [label.get_text() for label in axes.get_xticklabels()] == drawn.source
        assert [label.get_text() for label in axes.get_yticklabels()] == drawn.hypothesis
        assert axes.get_xlabel() == f"line {drawn.line + 1}"


def test_the_maps_are_those_of_choice_or_a_few_that_can_be_read(tmp_path):
    sizes = {1: 3, 2: 80, 4: LONGEST, 9: 10, 11: 5, 12: 7, 13: 12, 20: LONGEST + 1}
    maps = [AttentionMap(n, ["s"] * size, ["h"], [[0.5] * size]) for n, size in sizes.items()]
    texts = replace(translated({5: 30}, lambda n: 0.9), maps=maps)
    for asked, lines in (([], [1, 12, 9, 4]), ([21, 3], [2, 20])):
        chosen = choose_maps(evaluated(tmp_path, texts, "a", maps=asked))
        assert [drawn.line for drawn in chosen] == lines


def test_each_validation_is_a_point_and_the_best_checkpoint_is_marked():
    def run(*validations: tuple[float, float | None], best: int = 0) -> TrainingRun:
        record = TrainingRecord(system="a", progress=Progress(best_update=best))
        found = [Validation(500 * n, *each) for n, each in enumerate(validations, start=1)]
        return TrainingRun(record, validations=found)

    one = run((9.0, 1.0), (3.0, 5.0), (2.0, 8.0), (2.5, 9.0), best=1500)
    loss, bleu = figures.learning_curves([one, run(), run((3.0, None), best=500)]).axes
    lines = [line.get_xydata().tolist() for line in (*loss.lines, *bleu.lines)]
    curve = [[500, 9.0], [1000, 3.0], [1500, 2.0], [2000, 2.5]]
    assert lines[:4] == [curve, [[1500, 2.0]], [[500, 3.0]], [[500, 3.0]]]
    assert lines[4:6] == [[[500, 1.0], [1000, 5.0], [1500, 8.0], [2000, 9.0]], [[1500, 8.0]]]
    assert loss.get_ylim()[1] < 4.0  # the first validations do not flatten the rest
