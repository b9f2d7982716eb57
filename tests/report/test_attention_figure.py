from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.page_material import SETTINGS
from helpers.synthetic_translations import evaluated, translated
from matplotlib.colors import to_rgba

from seq2seq.evaluation.comparison import compare_systems
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.translations import AttentionMap
from seq2seq.report.figures import LONGEST, attention_figure, choose_maps


def square(line: int, source: int, hypothesis: int) -> AttentionMap:
    generator = np.random.default_rng(line)
    weights = generator.dirichlet(np.ones(source), hypothesis)
    return AttentionMap(
        line,
        [f"s{line}.{place}" for place in range(source)],
        [f"h{line}.{place}" for place in range(hypothesis)],
        weights.tolist(),
    )


def with_maps(folder: Path, drawn: list[AttentionMap], **record: object) -> Evaluation:
    texts = replace(translated({5: 30}, lambda length: 0.9, 1), maps=drawn)
    return evaluated(folder, texts, "additive", 1, **record)


def test_each_square_shows_the_weights_between_the_words(tmp_path):
    maps = [square(3, 4, 6), square(7, 9, 2), square(8, 1, 1)]
    evaluations = [with_maps(tmp_path / "a", maps, maps=[4, 8, 9])]
    evaluations.append(with_maps(tmp_path / "b", maps, experiment="other"))
    system = compare_systems(evaluations, None, SETTINGS).systems[0]
    figure = attention_figure(system, "#009E73")
    assert any(text.get_text().startswith(system.name) for text in figure.texts)
    figure.draw_without_rendering()
    boxes = []
    for axes, one in zip(figure.axes, maps, strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), np.array(one.weights))
        assert axes.images[0].get_clim() == (0, 1)
        ends = axes.images[0].to_rgba(np.array([0.0, 1.0]))
        np.testing.assert_allclose(ends, [to_rgba("#009E73", 0), to_rgba("#009E73", 1)])
        assert [label.get_text() for label in axes.get_xticklabels()] == one.source
        assert [label.get_text() for label in axes.get_yticklabels()] == one.hypothesis
        assert axes.get_xlabel() == f"line {one.line + 1}"
        box = axes.get_window_extent()  # of cells that are squares
        cells = box.width / len(one.source), box.height / len(one.hypothesis)
        assert cells[0] == pytest.approx(cells[1])
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width
        assert 0 <= box.y0 < box.y1 <= figure.bbox.height
        assert not any(box.overlaps(other) for other in boxes)
        boxes.append(box)


def test_without_lines_of_choice_a_few_are_shown_that_can_be_read(tmp_path):
    sizes = {1: 3, 2: 80, 4: LONGEST, 9: 10, 11: 5, 12: 7, 13: 12, 20: LONGEST + 1}
    evaluation = with_maps(tmp_path, [square(line, size, 3) for line, size in sizes.items()])
    chosen = [one.line for one in choose_maps(evaluation)]
    assert len(chosen) == 4
    assert [sizes[line] for line in chosen] == sorted(sizes[line] for line in chosen)
    assert (chosen[0], chosen[-1]) == (1, 4)
    asked = with_maps(tmp_path / "asked", evaluation.texts.maps, maps=[21, 3])
    assert [one.line for one in choose_maps(asked)] == [2, 20]
    blank = with_maps(tmp_path / "blank", evaluation.texts.maps, maps=[99])  # a line without a map
    assert choose_maps(blank) == choose_maps(evaluation)
    # Where all are long, one is better than none.
    long = with_maps(tmp_path / "long", [square(2, 80, 3), square(3, 90, 3)])
    assert [one.line for one in choose_maps(long)] == [2]
