"""What all figures share: what can be read and told apart, on light ground and dark."""

import os
import subprocess
import sys
import warnings
from functools import partial
from types import SimpleNamespace
from xml.dom import minidom

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from helpers.contrast import contrast
from matplotlib import font_manager as fonts

from seq2seq import drawing
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.drawing import (
    ATTENDS,
    DARK,
    DOES_NOT,
    FAINT,
    GROUND,
    INK,
    map_figure,
    render,
    styled,
    styles,
)


def test_lines_and_text_stand_out_from_light_and_dark_ground():
    for colour in (*ATTENDS, *DOES_NOT, FAINT, INK):
        least = 4.5 if colour in (FAINT, INK) else 3
        assert contrast(colour, GROUND) >= least
        assert contrast(DARK[colour], DARK[GROUND]) >= least


def config(kind, words=None):
    return {"model": {"attention": {"kind": kind}}, "corpus": {"train_max_words": words}}


def test_the_hue_says_attention_and_the_dash_the_most_words():
    short, long, plain_long, plain_short = styles(
        [config("dot", 30), config("dot", 50), config("fixed", 50), config("fixed", 30)]
    )
    assert short[0] == long[0] != plain_long[0] == plain_short[0]
    assert short[1] == plain_short[1] != plain_long[1] == long[1]
    kinds = list(ATTENTION_KINDS) + ["additive"] * 2  # as many as an experiment has
    drawn = styles([config(kind) for kind in kinds])
    assert len(set(drawn)) == len(kinds)
    for kind, (colour, _, _) in zip(kinds, drawn, strict=True):
        assert (colour in ATTENDS) == (kind not in ("fixed", "init_only", "none", "uniform"))
    assert len(set(styles([None, config("dot"), None, config("fixed"), None]))) == 5


def test_an_svg_can_be_read_whatever_characters_its_text_has(caplog):
    text = "".join(map(chr, [*range(1, 32), 127, 133, 0xFFFE, 0xFFFF])) + "<&>"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        svg = render(partial(map_figure, [text, "b"], ["a"], [[0.5, 0.5]], text))["svg"]
    assert "svg" in minidom.parseString(svg).documentElement.tagName


def test_a_backend_that_a_notebook_sets_is_not_needed():
    environment = {**os.environ, "MPLBACKEND": "module://not_installed_here.backend"}
    command = [sys.executable, "-c", "import seq2seq.report.compare"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_font_of_bitmaps_is_left_out(monkeypatch):
    """As of emoji: matplotlib cannot draw with it."""
    emoji = SimpleNamespace(scalable=False, get_charmap=lambda: {ord("\N{CAT FACE}"): 1})
    monkeypatch.setattr(drawing, "FT2Font", lambda path: emoji)
    assert drawing._letters_of("emoji.ttf") == set()


def test_letters_that_the_usual_font_lacks_are_drawn_in_one_that_has_them(
    tmp_path, monkeypatch, caplog
):
    """Any warning of matplotlib would be an error here."""
    monkeypatch.setattr(fonts.fontManager, "ttflist", [*fonts.fontManager.ttflist])
    draw = partial(map_figure, ["猫", "the"], ["ไทย"], [[0.5, 0.5]], "Score")
    cat = FontBuilder(1000)
    pen = TTGlyphPen(None)
    for corner in ((0, 0), (0, 700), (700, 0)):
        (pen.lineTo if corner != (0, 0) else pen.moveTo)(corner)
    pen.closePath()
    cat.setupGlyphOrder([".notdef", "cat"])
    cat.setupCharacterMap({ord("猫"): "cat"})
    cat.setupGlyf(dict.fromkeys((".notdef", "cat"), pen.glyph()))
    cat.setupHorizontalMetrics(dict.fromkeys((".notdef", "cat"), (700, 0)))
    cat.setupHorizontalHeader(ascent=800, descent=-200)
    cat.setupNameTable({"familyName": "Only Cats", "styleName": "Regular"})
    cat.setupOS2()
    cat.setupPost()
    cat.save(tmp_path / "cat.ttf")
    (tmp_path / "damaged.ttf").write_text("no font")
    for found, lacking in (([], "CJK, THAI"), (["cat", "damaged"], "THAI")):
        files = [str(tmp_path / f"{name}.ttf") for name in found]
        monkeypatch.setattr(fonts, "findSystemFonts", lambda files=files: files)
        caplog.clear()
        svg = render(draw)["svg"].decode()
        for word in ("猫", "the", "ไทย"):
            assert f">{word}</text>" in svg
        assert ("'Only Cats'" in svg) == bool(found)
        assert "sans-serif" in svg
        (said,) = caplog.messages
        assert f"lack {lacking} letters" in said
        assert "fonts-noto" in said
    with styled():
        figure = draw()
    figure.savefig(tmp_path / "later.png")
