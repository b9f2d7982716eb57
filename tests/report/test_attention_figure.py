from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic_translations import evaluated, translated

from seq2seq.errors import UserError
from seq2seq.evaluation.folder import Evaluation, write_evaluation
from seq2seq.evaluation.scores import AttentionMap
from seq2seq.report.attention_figure import (
    LONGEST,
    attention_figure,
    choose_maps,
    render_attention,
)


def square(line: int, source: int, hypothesis: int) -> AttentionMap:
    generator = np.random.default_rng(line)
    weights = generator.dirichlet(np.ones(source), hypothesis)
    return AttentionMap(
        line,
        [f"s{line}.{place}" for place in range(source)],
        [f"h{line}.{place}" for place in range(hypothesis)],
        weights.tolist(),
    )


def with_maps(folder: Path, maps: list[AttentionMap]) -> Evaluation:
    texts = replace(translated({5: 30}, lambda length: 0.9, 1), maps=maps)
    made = evaluated(folder, texts, "additive", 1)
    return write_evaluation(folder, texts, made.scores.settings, made.record)


def test_each_square_shows_the_weights_between_the_words(tmp_path):
    maps = [square(3, 4, 6), square(7, 9, 2), square(8, 1, 1)]
    figure = attention_figure(maps, "a title")
    assert len(figure.axes) == 3
    for axes, one in zip(figure.axes, maps, strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), np.array(one.weights))
        assert axes.images[0].get_clim() == (0, 1)
        assert [label.get_text() for label in axes.get_xticklabels()] == one.source
        assert [label.get_text() for label in axes.get_yticklabels()] == one.hypothesis
        assert f"line {one.line + 1}" in [text.get_text() for text in axes.texts]
        # Every cell is a square.
        box = axes.get_window_extent()
        cells = box.width / len(one.source), box.height / len(one.hypothesis)
        assert cells[0] == pytest.approx(cells[1])
    boxes = [axes.get_window_extent() for axes in figure.axes]
    canvas = figure.bbox
    for place, box in enumerate(boxes):
        assert 0 <= box.x0 < box.x1 <= canvas.width
        assert 0 <= box.y0 < box.y1 <= canvas.height
        assert not any(box.overlaps(other) for other in boxes[:place])


def test_without_lines_of_choice_a_few_are_shown_that_can_be_read(tmp_path):
    sizes = {1: 3, 2: 80, 4: LONGEST, 9: 10, 11: 5, 12: 7, 13: 12, 20: LONGEST + 1}
    evaluation = with_maps(tmp_path, [square(line, size, 3) for line, size in sizes.items()])
    chosen = [one.line for one in choose_maps(evaluation)]
    assert len(chosen) == 4
    assert [sizes[line] for line in chosen] == sorted(sizes[line] for line in chosen)
    assert (chosen[0], chosen[-1]) == (1, 4)
    assert [one.line for one in choose_maps(evaluation, [21, 3])] == [20, 2]
    # Where all are long, one is better than none.
    long = with_maps(tmp_path / "long", [square(2, 80, 3), square(3, 90, 3)])
    assert [one.line for one in choose_maps(long)] == [2]
    pictures = render_attention(evaluation)
    assert pictures["png"].startswith(b"\x89PNG")
    assert pictures == render_attention(evaluation)


def test_what_is_not_there_is_named_with_the_way_to_get_it(tmp_path):
    with pytest.raises(UserError, match="holds no attention to draw; evaluate a model that attend"):
        choose_maps(with_maps(tmp_path / "none", []))
    evaluation = with_maps(tmp_path / "one", [square(3, 4, 6)])
    with pytest.raises(UserError, match=r"no attention of line 9; evaluate with maps=\[9\]"):
        choose_maps(evaluation, [4, 9])
