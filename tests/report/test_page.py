"""The page as a parser reads it, and the sentences on it."""

import base64
import html.parser
import re

import numpy as np
import pytest
import sacrebleu
from page_material import HOSTILE
from test_style import luminance

from seq2seq.evaluation.comparison import compare_systems
from seq2seq.report.findings import findings
from seq2seq.report.page import TEMPLATE, render_page
from seq2seq.report.sentences import examples
from seq2seq.report.tables import (
    Table,
    bleu_table,
    growth_table,
    interval_text,
    notes,
    with_interval,
)

VOID = {"meta", "link", "br", "input", "img"}


class Reader(html.parser.HTMLParser):
    """Elements, texts and scripts of a page; refuses tags that do not match."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.texts, self.scripts = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.scripts if self.open[-1:] in (["script"], ["style"]) else self.texts).append(data)


def read(page: bytes) -> Reader:
    reader = Reader()
    reader.feed(page.decode())
    assert not reader.open
    return reader


def page_of(comparison) -> bytes:
    figures = {"BLEU by source length": b"<svg></svg>"}
    tables = [bleu_table(comparison)]
    tables += [growth_table(comparison)] if comparison.gaps else []
    said = findings(comparison)
    return render_page(comparison, said, figures, tables, notes(comparison), examples(comparison))


@pytest.fixture(scope="module")
def page(attending) -> bytes:
    return page_of(attending)


def test_the_page_says_the_comparisons_numbers(attending, page):
    words = " ".join(" ".join(read(page).texts).split())
    for system in attending.systems:
        for row in system.rows:
            assert interval_text(row) in words
    for gap in attending.gaps:
        assert with_interval(gap.difference_in_differences.difference) in words
    for finding in findings(attending):
        assert finding in words
    assert "BLEU by source length: grammar · test · beam5" in words
    (picture,) = [a for tag, a in read(page).tags if tag == "img"]
    assert picture["alt"] == "BLEU by source length"
    svg = base64.b64decode(picture["src"].removeprefix("data:image/svg+xml;base64,"))
    assert svg == b"<svg></svg>"


def test_sentences_are_those_on_which_the_systems_differ_most(attending):
    """Of each bucket: a few by their sources alone, and the ends of the difference in BLEU."""
    shown = examples(attending)
    by_name = {system.name: system.first.texts for system in attending.systems}
    gap = attending.gaps[0]
    for row, members in zip(attending.systems[0].buckets, attending.members, strict=True):
        lines = np.flatnonzero(members)
        if not len(lines):
            continue
        scores = {
            name: [
                sacrebleu.sentence_bleu(texts.hypotheses[i], [texts.references[i]]).score
                for i in lines
            ]
            for name, texts in by_name.items()
        }
        difference = np.subtract(scores[gap.system], scores[gap.baseline])
        here = [one for one in shown if one.bucket == row.words]
        place = {line + 1: index for index, line in enumerate(lines)}
        gains = sorted(difference[place[o.line]] for o in here if "gains" in o.reason)
        loses = sorted(difference[place[o.line]] for o in here if "loses" in o.reason)
        count = min(3, (len(lines) + 1) // 2)
        up = sorted(difference)
        assert gains == pytest.approx([one for one in up[-count:] if one > 0])
        assert loses == pytest.approx([one for one in up[: min(3, len(lines) // 2)] if one < 0])
        for one in here:
            assert one.words == len(one.source.split())
            for name, text, bleu in one.hypotheses:
                assert text == by_name[name].hypotheses[one.line - 1]
                assert bleu == pytest.approx(scores[name][place[one.line]])


def test_text_of_the_test_set_stays_text(page):
    reader = read(page)
    assert [tag for tag, _ in reader.tags].count("script") == 1
    assert not any(tag == "b" for tag, _ in reader.tags)
    assert b"<script>alert" not in page
    words = "".join(reader.texts)
    for text in (*HOSTILE, "</title>&\"dot'", "(nothing)"):
        assert text in words


def test_the_page_asks_nobody_for_anything(page):
    reader = read(page)
    for tag, attributes in reader.tags:
        for name in ("src", "href", "action", "data", "srcset", "xlink:href", "poster"):
            if (value := attributes.get(name)) is not None:
                assert value.startswith(("#", "data:")), (tag, name, value)
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    code = "".join(reader.scripts)
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttpRequest|import\(", code)


def test_text_stands_out_from_its_background_in_both_themes():
    colours = re.findall(r"--(\w+): light-dark\(#(\w+), #(\w+)\)", TEMPLATE.read_text())
    for theme in (1, 2):
        light = {
            one[0]: luminance(bytes.fromhex(one[theme])[i] / 255 for i in range(3))
            for one in colours
        }
        for ink in ("ink", "soft", "link"):
            for ground in ("page", "raised"):
                darker, lighter = sorted((light[ink], light[ground]))
                assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (ink, ground, theme)


def test_the_page_has_names_for_everything(page):
    reader = read(page)
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in reader.tags:
        for name in ("aria-labelledby", "aria-controls", "for"):
            assert attributes.get(name) in (None, *ids)
        if tag in ("nav", "svg") and "aria-hidden" not in attributes:
            assert attributes.get("aria-label"), (tag, attributes)
        if (attributes.get("href") or "").startswith("#"):
            assert attributes["href"][1:] in ids
        if tag == "th":
            assert attributes["scope"] in ("row", "col")
    tags = [tag for tag, _ in reader.tags]
    assert tags.count("caption") == tags.count("table")
    assert tags.count("main") == tags.count("h1") == tags.count("header") == 1


def test_one_system_has_a_page(evaluations, attending):
    alone = compare_systems(evaluations[:1], None, attending.settings)
    assert {one.reason for one in examples(alone)} <= {"best", "worst", "a sample"}
    assert b"best" in page_of(alone)
    empty = render_page(alone, [], {"x": b""}, [Table("a", ["b"], [])], ["`c <`"], [])
    assert b"<code>c &lt;</code>" in empty
