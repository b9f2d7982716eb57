"""What all figures share: what can be read and told apart, on light ground and dark."""

import os
import subprocess
import sys
from functools import partial
from xml.dom import minidom

from helpers.contrast import contrast

from seq2seq import drawing
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
    svg = render(partial(map_figure, [text, "b"], ["a"], [[0.5, 0.5]], text))["svg"]
    assert "svg" in minidom.parseString(svg).documentElement.tagName


def test_a_backend_that_a_notebook_sets_is_not_needed():
    environment = {**os.environ, "MPLBACKEND": "nothing"}
    start = "import sys; sys.argv = ['', '--help']; from seq2seq.command import launch"
    program = f"{start}; launch('compare'); import seq2seq.report.compare"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_letters_that_no_font_has_stay_text_and_are_said_to_lack(caplog):
    drawing._warn.cache_clear()
    draw = partial(map_figure, ["猫", "the"], ["ไทย\U0001f408"], [[0.5, 0.5]], "Score")
    svg = render(draw, forms=("svg", "pdf"))["svg"].decode()
    for word in ("猫", "the", "ไทย\U0001f408"):
        assert f">{word}</text>" in svg
    (said,) = caplog.messages
    assert "fonts-noto" in said
