"""The pictures: what stands where, that it can be read, and that the bytes are the same."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from test_example import EVERY

from seq2seq.explain.pictures import HIGH, WIDE, picture


@pytest.mark.parametrize("compute", EVERY)
def test_each_heatmap_has_its_name_labels_and_numbers(compute):
    example = compute()
    (sheet,) = picture(example).axes
    steps = [example.steps[step] for row in example.picture for step in row]
    texts = {text.get_position(): text.get_text() for text in sheet.texts}
    assert len(texts) == len(sheet.texts)  # no two in one place
    for step, mesh in zip(steps, sheet.collections, strict=True):
        x, y = mesh.get_coordinates()[0, 0]
        np.testing.assert_array_equal(mesh.get_array(), step.values)
        assert mesh.get_clim() == pytest.approx(step.scale, nan_ok=True)
        assert texts[x, y - 0.29] == step.name
        for column, label in enumerate(step.columns):
            middle = x + WIDE * (column + 0.5)
            assert texts[middle, y - 0.07] == label
            for row, numbers in enumerate(step.numbers(min(step.decimals, 3))):
                assert texts[middle, y + HIGH * (row + 0.5)] == numbers[column]
    assert {example.heading, example.caption, *steps[0].rows} <= set(texts.values())


@pytest.mark.parametrize("compute", EVERY)
def test_nothing_is_cut_off_and_nothing_covers_anything(compute):
    figure = picture(compute())
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
