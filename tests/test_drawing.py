"""What all figures share: lines that can be told apart, and files that can be read."""

from functools import partial
from xml.etree import ElementTree

import pytest

from seq2seq import drawing
from seq2seq.config.settings import ATTENTION_KINDS
from seq2seq.drawing import ATTENDS, DOES_NOT, map_figure, render, styles


def config(kind, words=None):
    return {"model": {"attention": {"kind": kind}}, "corpus": {"train_max_words": words}}


def test_the_hue_says_attention_and_the_dash_the_most_words():
    short, long, without = styles([config("dot", 30), config("dot", 50), config("fixed", 50)])
    assert short.color == long.color != without.color
    assert short.linestyle != long.linestyle == without.linestyle
    kinds = [*ATTENTION_KINDS, "additive", "additive"]  # the number of an experiment
    drawn = styles([config(kind) for kind in kinds])
    assert len({*drawn}) == len(kinds)
    for kind, style in zip(kinds, drawn, strict=True):
        attends = kind not in ("fixed", "init_only", "none", "uniform")
        assert style.color in (ATTENDS if attends else DOES_NOT)


@pytest.mark.slow
def test_an_svg_can_be_read_and_searched_whatever_characters_its_text_has(caplog):
    drawing._warn.cache_clear()
    text = "".join(map(chr, [*range(1, 32), 127, 133, 0xFFFE, 0xFFFF])) + "<&>"
    draw = partial(map_figure, [text, "猫"], ["ไทย\U0001f408"], [[0.5, 0.5]], text)
    svg = render(draw, forms=("svg", "pdf"))["svg"]
    assert {"猫", "ไทย\U0001f408"} <= {*ElementTree.fromstring(svg).itertext()}
    (said,) = caplog.messages  # these have no font here
    assert "fonts-noto" in said
