import dataclasses
import html.parser
import json
import re

import pytest
from page_material import HOSTILE, attended, content_of
from synthetic_translations import evaluated, translated

from seq2seq.report.page.render import render_page
from seq2seq.report.tables import interval_text

VOID = {"meta", "link", "br", "input", "circle", "rect", "path", "polygon"}


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


@pytest.fixture(scope="module")
def page(built):
    return render_page(built[1])


def test_the_page_says_the_comparisons_numbers(built, page):
    comparison, content = built
    words = " ".join(" ".join(read(page).texts).split())
    for system in comparison.systems:
        for row in system.rows:
            assert interval_text(row) in words
    for gap in comparison.gaps:
        for row in gap.rows:
            if row.paired:
                assert f"{row.paired.gap:+.1f} [{row.paired.gap_low:+.1f}, " in words
        assert f"{gap.difference_in_differences.value:+.1f} [" in words
    for finding in content.findings:
        assert finding in words
    assert "Sentences and maps are those of each system's first seed, seed 1." in words
    assert "trial · grammar · test · beam5" in words


def test_maps_hold_the_weights_of_all_systems_that_attend(evaluations, built, page):
    _, content = built
    script = re.search(rb'<script type="application/json" id="map-data">(.*?)</script>', page)
    data = json.loads(script.group(1))
    assert b"<" not in script.group(1)
    assert [one["line"] for one in data] == [one.line for one in content.maps.lines]
    maps = {one.line + 1: one for one in evaluations[2].texts.maps}
    assert maps.keys() == {one["line"] for one in data}
    for one in data:
        fixed, additive = one["systems"][0], one["systems"][2]
        assert fixed["reason"] == "This system does not attend: there is no map of it."
        assert "weights" not in fixed
        wanted = maps[one["line"]]
        assert (additive["sourceWords"], additive["words"]) == (wanted.source, wanted.hypothesis)
        for row, weights in zip(additive["weights"], wanted.weights, strict=True):
            assert row == [round(1000 * weight) for weight in weights]
    words = [one.words for one in content.maps.lines]
    assert words == sorted(words)


def test_text_of_the_test_set_stays_text(evaluations, page):
    reader = read(page)
    scripts = [attributes for tag, attributes in reader.tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "map-data"}, {}]
    assert not any(tag == "b" for tag, _ in reader.tags)
    assert b"<script>alert" not in page
    words = "".join(reader.texts)
    for text in HOSTILE[1:]:
        assert text in words
    assert "</title>&\"dot'" in words
    assert all(line.strip() != "49" for line in reader.texts)


def test_the_page_asks_nobody_for_anything(page):
    reader = read(page)
    for tag, attributes in reader.tags:
        for name in ("src", "href", "action", "data", "srcset", "xlink:href", "poster"):
            if (value := attributes.get(name)) is not None:
                assert value.startswith("#") or value == "data:,", (tag, name, value)
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    code = "".join(reader.scripts)
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttpRequest|import\(", code)
    policy = next(a["content"] for _, a in reader.tags if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


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


def test_the_same_evaluations_in_any_order_make_the_same_bytes(evaluations, page):
    assert render_page(content_of(evaluations[::-1], "fixed")[1]) == page


def test_evaluations_of_earlier_versions_lack_parts_and_say_so(tmp_path):
    texts = translated({5: 3, 25: 2}, lambda n: 0.8)
    old = evaluated(tmp_path / "old", texts, "old")
    given = evaluated(tmp_path / "given", texts, "given", None, search="given")
    _, content = content_of([old, given])
    words = " ".join(" ".join(read(render_page(content)).texts).split())
    assert "There are no attention maps to show." in words
    assert "This evaluation was made by a version that kept no attention maps." in words
    assert "These translations were given; there is no model to look into." in words
    assert "No system of this comparison attends, or the evaluations are of a version" in words
    assert "The evaluations hold no loss of single pieces" in words
    assert "no run folder of this training with validations was found: old, seed 1 ." in words
    assert content.positions is None
    assert (content.focus, content.maps.data, content.curves.charts) == ([], [], [])


def test_one_system_of_one_sentence_has_a_page(tmp_path):
    texts = attended(translated({3: 1}, lambda n: 0.0), 1)
    texts = dataclasses.replace(texts, hypotheses=[""], maps=[])
    _, content = content_of([evaluated(tmp_path / "one", texts, "one")])
    words = " ".join(" ".join(read(render_page(content)).texts).split())
    assert "(nothing)" in words
    assert content.growth is None
