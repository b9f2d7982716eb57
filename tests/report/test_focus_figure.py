"""The measures of attention by source length: means of the right sentences, lines that attend."""

import numpy as np
import pytest
from page_material import SETTINGS, attended
from synthetic_translations import evaluated, translated

from seq2seq.evaluation.systems import compare_systems
from seq2seq.report.focus import focus
from seq2seq.report.focus_figure import focus_figure, render_focus
from seq2seq.report.side_by_side import SideBySide
from seq2seq.report.style import INK


def good(length: int) -> float:
    return 0.9


@pytest.fixture(scope="module")
def sides(evaluations) -> SideBySide:
    return SideBySide.of(compare_systems(evaluations, "fixed", SETTINGS), evaluations)


def test_means_are_over_the_sentences_of_a_bucket_that_have_the_measure(evaluations, sides):
    entropy, diagonal = focus(sides)
    assert list(entropy.means) == list(diagonal.means) == [1, 2]  # 0 does not attend
    said = {evaluation.system: evaluation.texts for evaluation in evaluations}
    texts = said[sides.arms[1].name + ", seed 1"]
    scores = texts.reference_scores
    for measure, values in ((entropy, scores.entropy), (diagonal, scores.off_diagonal)):
        for place, words in ((0, range(11)), (1, range(11, 21))):
            chosen = [
                value
                for source, value in zip(texts.sources, values, strict=True)
                if len(source.split()) in words and value is not None
            ]
            assert measure.means[1][place] == pytest.approx(sum(chosen) / len(chosen))


def test_means_are_then_taken_over_seeds(tmp_path):
    evaluations = [
        evaluated(tmp_path / str(seed), attended(translated({5: 4, 25: 3}, good), seed), "a", seed)
        for seed in (1, 2)
    ]
    of_both, *of_each = (
        focus(SideBySide.of(compare_systems(some, None, SETTINGS), some))
        for some in (evaluations, evaluations[:1], evaluations[1:])
    )
    for place, measure in enumerate(of_both):
        first, second = (measures[place].means[0] for measures in of_each)
        known = [index for index, mean in enumerate(first) if mean is not None]
        assert len(known) == 2
        for index in known:
            assert first[index] != pytest.approx(second[index])
            expected = (first[index] + second[index]) / 2
            assert measure.means[0][index] == pytest.approx(expected)


def test_a_line_for_each_system_that_attends_through_its_means(sides):
    measures = focus(sides)
    panels = focus_figure(sides, measures).axes
    assert [axes.get_ylabel() for axes in panels] == ["Entropy (nats)", "Distance"]
    for axes, measure in zip(panels, measures, strict=True):
        lines = [line for line in axes.lines if len(line.get_xdata()) > 1]
        assert [line.get_label() for line in lines] == [arm.name for arm in sides.arms[1:]]
        for line, means in zip(lines, measure.means.values(), strict=True):
            known = [mean for mean in means if mean is not None]
            np.testing.assert_allclose(line.get_ydata(), known)
        labels = axes.get_xticklabels()
        assert [label.get_text() for label in labels][:2] == ["1–10", "11–20"]
        assert [label.get_color() == INK for label in labels] == [not row.few for row in sides.rows]
        assert axes.get_ylim()[1] > measure.highest


def test_there_is_no_figure_where_nobody_attends(tmp_path):
    evaluation = evaluated(tmp_path, translated({5: 10, 25: 5}, lambda n: 0.8), "given")
    comparison = compare_systems([evaluation], None, SETTINGS)
    assert render_focus(SideBySide.of(comparison, [evaluation])) == {}


def test_equal_evaluations_give_equal_bytes(sides):
    assert render_focus(sides) == render_focus(sides)
