"""What all figures share: what can be read and told apart, on light ground and dark."""

import os
import sys
from functools import partial
from xml.etree import ElementTree

from helpers.contrast import contrast

from seq2seq import drawing
from seq2seq.command import launch
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.drawing import ATTENDS, DARK, DOES_NOT, FAINT, GROUND, INK, map_figure, render, styles


def test_lines_and_text_stand_out_from_light_and_dark_ground():
    for colour in (*ATTENDS, *DOES_NOT, FAINT, INK):
        least = 4.5 if colour in (FAINT, INK) else 3
        assert contrast(colour, GROUND) >= least
        assert contrast(DARK[colour], DARK[GROUND]) >= least


def config(kind, words=None):
    return {"model": {"attention": {"kind": kind}}, "corpus": {"train_max_words": words}}


def test_the_hue_says_attention_and_the_dash_the_most_words():
    short, long, without = styles([config("dot", 30), config("dot", 50), config("fixed", 50)])
    assert short.color == long.color != without.color
    assert short.linestyle != long.linestyle == without.linestyle
    kinds = [*ATTENTION_KINDS, "additive", "additive"]  # as many as an experiment has
    drawn = styles([config(kind) for kind in kinds])
    assert len({*drawn}) == len(kinds)
    for kind, style in zip(kinds, drawn, strict=True):
        attends = kind not in ("fixed", "init_only", "none", "uniform")
        assert style.color in (ATTENDS if attends else DOES_NOT)


def test_an_svg_can_be_read_and_searched_whatever_characters_its_text_has(caplog):
    drawing._warn.cache_clear()
    text = "".join(map(chr, [*range(1, 32), 127, 133, 0xFFFE, 0xFFFF])) + "<&>"
    draw = partial(map_figure, [text, "猫"], ["ไทย\U0001f408"], [[0.5, 0.5]], text)
    svg = render(draw, forms=("svg", "pdf"))["svg"]
    assert {"猫", "ไทย\U0001f408"} <= {*ElementTree.fromstring(svg).itertext()}
    (said,) = caplog.messages  # these have no font here
    assert "fonts-noto" in said


def test_a_backend_that_a_notebook_sets_is_not_needed(monkeypatch, capsys):
    monkeypatch.setenv("MPLBACKEND", "nothing")
    monkeypatch.setattr(sys, "argv", ["", "--help"])
    launch("compare")
    assert "MPLBACKEND" not in os.environ
