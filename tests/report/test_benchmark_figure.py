"""The picture of a benchmark shows the numbers of its file, whole and legible."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from synthetic_benchmark import synthetic_benchmark

from seq2seq.benchmark import shares
from seq2seq.errors import UserError
from seq2seq.report.benchmark_figure import (
    STAGES,
    Panel,
    benchmark_figure,
    read_panel,
    render_benchmark_figure,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return synthetic_benchmark().write(tmp_path).with_suffix(".json")


@pytest.fixture
def panel(file: Path) -> Panel:
    panel = read_panel(file)
    assert panel
    return panel


def bars(axes: Axes) -> dict[float, list[tuple[float, float]]]:
    """Row -> start and length of its parts."""
    rows: dict[float, list[tuple[float, float]]] = {}
    for patch in axes.patches:
        row = patch.get_y() + patch.get_height() / 2
        rows.setdefault(row, []).append((patch.get_x(), patch.get_width()))
    return rows


def test_bars_are_as_long_as_the_file_says(file, panel):
    content = json.loads(file.read_text())
    drawn = bars(benchmark_figure([panel]).axes[0])
    assert len(drawn) == len(content["paths"])
    for row, path in enumerate(content["paths"]):
        reached = 0.0
        for (start, length), share in zip(drawn[row], path["shares"].values(), strict=True):
            assert start == pytest.approx(reached)
            assert length == pytest.approx(1e3 * path["median_seconds"] * share)
            reached += length
        assert reached == pytest.approx(1e3 * path["median_seconds"])


def test_each_stage_of_a_benchmark_has_its_colour(panel):
    stages = {getattr(shares, name) for name in ("ENCODER", "RECURRENCE", "OUTPUT", "LOOP")}
    assert set(STAGES) == stages | {shares.OPTIMIZER}
    looks = {(look.colour, look.stripes) for look in STAGES.values()}
    assert len(looks) == len(STAGES)
    legend = benchmark_figure([panel]).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == [
        look.label for look in STAGES.values()
    ]
    naive = benchmark_figure([replace(panel, bars=panel.bars[:1])]).legends[0]
    assert len(naive.get_texts()) == 3  # and none that does not occur


def test_the_words_say_what_was_measured(panel):
    figure = benchmark_figure([panel])
    words = {text.get_text() for text in figure.axes[0].texts}
    assert words == {
        *("naive", "fp32, torch kernels", "500.0 ms"),
        *("fast", "bf16, native kernels", "100.0 ms", "5.00×"),
    }
    detail = next(text.get_text() for text in figure.texts if "Abacus" in text.get_text())
    assert "8 sentences of 7 source and 6 target pieces; Abacus 3, 2 threads" in detail
    assert figure.axes[-1].get_xlabel() == "ms per update"


def test_the_same_benchmarks_make_the_same_bytes(panel):
    first = render_benchmark_figure([panel])
    assert first == render_benchmark_figure([panel])
    assert first["png"].startswith(b"\x89PNG")
    assert b"dc:date" not in first["svg"]


@pytest.mark.parametrize("sizes", [1, 3])
def test_nothing_is_cut_off_and_no_words_overlap(panel, sizes):
    long = replace(panel.bars[1], name="a path with a long name", milliseconds=12_345.6)
    detail = panel.detail.replace("Abacus 3", "an abacus of a rather long name " * 2)
    many = Panel("a-size-cuda", detail, [panel.bars[0], long, *panel.bars])
    one = replace(panel, bars=panel.bars[:1])
    figure = benchmark_figure([many, one, panel][:sizes])
    figure.draw_without_rendering()  # labels of axes find their places only then
    renderer = figure.canvas.get_renderer()
    texts = [*figure.texts, *figure.legends[0].get_texts()]
    for axes in figure.axes:
        assert axes.get_position().width > 0.4
        texts += [*axes.texts, *axes.get_xticklabels(), axes.xaxis.label]
    boxes = [text.get_window_extent(renderer) for text in texts if text.get_text()]
    for index, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y0 >= 0
        assert box.y1 <= figure.bbox.height
        for other in boxes[index + 1 :]:
            assert not box.overlaps(other)


@pytest.mark.parametrize("change", [{"paths": []}, {"paths": [{"name": "x"}]}, {"size": None}])
def test_a_file_of_another_form_is_one_sentence(file, change):
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | change))
    with pytest.raises(UserError, match=r"tiny\.json is damaged or of another version; run"):
        read_panel(file)


def test_a_missing_or_broken_file_is_one_sentence(tmp_path, file):
    file.write_text(file.read_text().replace("optimizer", "coffee"))
    with pytest.raises(UserError, match="is damaged or of another version"):
        read_panel(file)
    file.write_text("{")
    with pytest.raises(UserError, match="is damaged or of another version"):
        read_panel(file)
    with pytest.raises(UserError, match=r"There is no .*l\.json for the picture; run scripts/b"):
        read_panel(tmp_path / "l.json")
