"""The maps of losses show the numbers of their tables, in shades that compare between systems."""

import numpy as np
import pytest
from page_material import SETTINGS
from synthetic_translations import evaluated, translated

from seq2seq.evaluation.systems import compare_systems
from seq2seq.report.position_figure import position_figure, render_positions
from seq2seq.report.positions import positions
from seq2seq.report.side_by_side import SideBySide


@pytest.fixture(scope="module")
def sides(evaluations) -> SideBySide:
    return SideBySide.of(compare_systems(evaluations, "fixed", SETTINGS), evaluations)


def test_each_system_has_a_map_of_its_losses_in_the_same_shades(sides):
    found = positions(sides)
    figure = position_figure(sides, found)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [arm.name for arm in sides.arms]
    for axes, table in zip(figure.axes, found.tables, strict=True):
        (image,) = axes.images
        assert image.get_clim() == (0, found.highest)
        written = {
            (int(text.get_position()[1]), int(text.get_position()[0])): text for text in axes.texts
        }
        for (row, column), value in np.ndenumerate(image.get_array().filled(np.nan)):
            cell = table.rows[row][1][column]
            assert (cell is None) == np.isnan(value) == ((row, column) not in written)
            if cell is not None:
                assert value == cell.loss
                assert written[row, column].get_text() == f"{cell.loss:.2f}"
                assert (written[row, column].get_fontstyle() == "italic") == cell.few


def test_losses_in_other_pieces_are_said_not_to_compare(tmp_path):
    """The study's systems of up to 30 and of up to 50 words learn subwords of their own."""

    def said_of(*trained):
        evaluations = [
            evaluated(tmp_path / str(n), translated({5: 9}, lambda n: 0.8), f"s{n}", config=one)
            for n, one in enumerate(trained)
        ]
        comparison = compare_systems(evaluations, "s0", SETTINGS)
        return SideBySide.of(comparison, evaluations).losses_apart

    fixed, additive = ({"model": {"attention": {"kind": kind}}} for kind in ("fixed", "additive"))
    short, long = ({"corpus": {"train_max_words": most, "mirror": "a"}} for most in (30, 50))
    assert said_of(fixed, additive) == ""
    assert said_of({**fixed, **short}, {**additive, **short}) == ""
    assert said_of({**fixed, **long}, {**additive, **short}).endswith("do not compare.")


def test_there_is_no_map_where_no_model_was_asked(tmp_path):
    evaluation = evaluated(tmp_path, translated({5: 10, 25: 5}, lambda n: 0.8), "given")
    comparison = compare_systems([evaluation], None, SETTINGS)
    assert render_positions(SideBySide.of(comparison, [evaluation])) == {}


def test_equal_evaluations_give_equal_bytes(sides):
    assert render_positions(sides) == render_positions(sides)
