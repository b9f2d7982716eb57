"""The pictures: what stands where, that it can be read, and that the bytes are the same."""

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg

from seq2seq.config import EXAMPLES
from seq2seq.explain.explain import walk_through
from seq2seq.explain.pictures import (
    COLOUR_MAP,
    HIGH,
    WIDE,
    picture,
    render_walkthrough,
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_heatmap_has_its_name_labels_and_numbers(name):
    walkthrough = walk_through(name)
    (sheet,) = picture(walkthrough).axes
    steps = [walkthrough.step(step) for row in walkthrough.picture for step in row]
    texts = {text.get_position(): text for text in sheet.texts}
    assert len(texts) == len(sheet.texts)  # no two in one place
    for step, mesh in zip(steps, sheet.collections, strict=True):
        x, y = mesh.get_coordinates()[0, 0]
        np.testing.assert_array_equal(mesh.get_array(), step.values)
        assert texts[x, y - 0.29].get_text() == step.name
        for column, label in enumerate(step.labels.columns):
            middle = x + WIDE * (column + 0.5)
            assert texts[middle, y - 0.07].get_text() == label
            for row, numbers in enumerate(step.written(3)):
                assert texts[middle, y + HIGH * (row + 0.5)].get_text() == numbers[column]
    written = [text.get_text() for text in sheet.texts]
    assert written.count(walkthrough.heading) == written.count(walkthrough.caption) == 1
    for label in steps[0].labels.rows:
        assert label in written


@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_is_cut_off_and_nothing_covers_anything(name):
    figure = picture(walk_through(name))
    renderer = FigureCanvasAgg(figure).get_renderer()
    (sheet,) = figure.axes
    boxes = [text.get_window_extent(renderer) for text in sheet.texts]
    edge = 0.1 * figure.dpi
    for box in boxes:
        assert edge < box.x0 < box.x1 < figure.bbox.width - edge
        assert edge < box.y0 < box.y1 < figure.bbox.height - edge
    corners = np.array([[box.x0, box.y0, box.x1, box.y1] for box in boxes])
    apart = (corners[:, None, :2] >= corners[None, :, 2:]).any(axis=2)
    assert (apart | apart.T | np.eye(len(boxes), dtype=bool)).all()
    for mesh in sheet.collections:
        points = mesh.get_coordinates()
        across = points[0, -1, 0] - points[0, 0, 0]
        assert across == pytest.approx(WIDE * mesh.get_array().shape[1])


def test_larger_numbers_are_lighter_in_grey_print():
    colours = colormaps[COLOUR_MAP](np.linspace(0, 1, 501))[:, :3]
    lightness = colours @ np.array([0.299, 0.587, 0.114])  # luma, ITU-R BT.601
    assert np.diff(lightness).min() > -1e-3
    assert (lightness[0], lightness[-1]) == pytest.approx((0.114, 0.856), abs=1e-3)


def test_a_scale_of_its_own_sets_the_darkest_and_the_lightest():
    walkthrough = walk_through("additive")
    annotations, scores, weights, *_ = picture(walkthrough).axes[0].collections
    smallest, largest = walkthrough["annotations"].min(), walkthrough["annotations"].max()
    assert annotations.get_clim() == (smallest, largest)
    assert scores.get_clim() == (walkthrough["scores"].min(), walkthrough["scores"].max())
    assert weights.get_clim() == (0, 1)


def test_the_same_walkthrough_makes_the_same_picture():
    first = render_walkthrough(walk_through("dot"))
    assert first == render_walkthrough(walk_through("dot"))
    assert first["png"].startswith(b"\x89PNG")
    assert b"<svg" in first["svg"][:2000]
