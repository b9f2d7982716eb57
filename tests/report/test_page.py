"""The page as a parser reads it, and the sentences on it."""

import base64
import html
import html.parser
import json
import random
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest
import sacrebleu
from helpers.page_material import HOSTILE, page_of
from helpers.synthetic_translations import evaluated

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.comparison import compare_systems
from seq2seq.evaluation.translations import Translations
from seq2seq.report.page import examples, runs_of_words
from seq2seq.report.tables import conclusion, score_text, with_interval

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


@pytest.fixture
def page(attending_page) -> bytes:
    return attending_page


@pytest.fixture(autouse=True)
def undrawn(monkeypatch):
    """Other pages have no chart: drawing takes most of the time."""
    monkeypatch.setattr("seq2seq.report.page.render", lambda *_: {"svg": b"<svg></svg>"})


def test_the_page_says_the_comparisons_numbers(attending, page):
    words = " ".join(" ".join(read(page).texts).split())
    for system in attending.systems:
        for row in system.rows:
            assert score_text(row) in words
    for gap in attending.gaps:
        assert with_interval(gap.difference_in_differences.difference) in words
    assert conclusion(attending) in words
    assert "grammar · test · beam5" in words
    for place, name in enumerate(system.name for system in attending.systems):
        colour = re.search(rf"\.s{place} .*?(#\w+)", page.decode())[1]
        assert f"stroke: {colour.lower()}" in page.decode(), name  # its line in the chart
    (picture,) = [a for tag, a in read(page).tags if tag == "img"]
    assert picture["alt"] == "Another figure"
    svg = base64.b64decode(picture["src"].removeprefix("data:image/svg+xml;base64,"))
    assert svg == b"<svg></svg>"


@pytest.mark.parametrize("which", ["attending", "comparison"])
def test_sentences_are_those_on_which_the_systems_differ_most(request, which):
    """Of each bucket: a few by their sources alone, and the ends of the difference in BLEU."""
    compared = request.getfixturevalue(which)
    shown = examples(compared)
    by_name = {system.name: system.first.texts for system in compared.systems}
    gap = compared.gaps[0]
    for row, members in zip(compared.systems[0].buckets, compared.members, strict=True):
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
        median = sorted(zip(difference, lines, strict=True))[(len(lines) - 1) // 2][1]
        assert [one.line for one in here if one.median] == [median + 1]
        for one in here:
            assert one.length == len(one.source.split())
            for name, text, bleu in one.hypotheses:
                assert text == by_name[name].hypotheses[one.line - 1]
                assert bleu == pytest.approx(scores[name][place[one.line]])


def maps_of(page: bytes) -> dict[tuple[int, int], list]:
    """(line, system) -> source, translation and weights, as the page's script unpacks them."""
    (packed,) = [a["data-maps"] for _, a in read(page).tags if a.get("id") == "attention"]
    by_line = json.loads(zlib.decompress(base64.b64decode(packed)))
    return {(int(n), int(s)): drawn for n, of in by_line.items() for s, drawn in of.items()}


def test_each_sentence_shown_has_the_maps_that_are_known(attending, page):
    lines, found = {one.line for one in examples(attending)}, maps_of(page)
    stored = {
        (drawn.line + 1, place): drawn
        for place, system in enumerate(attending.systems)
        for drawn in system.first.texts.maps
        if drawn.line + 1 in lines and drawn.hypothesis
    }
    assert found.keys() == stored.keys()
    assert len({line for line, _ in found}) < len(lines)
    for key, drawn in stored.items():
        source, said, hundredths = found[key]
        assert (source, said) == (drawn.source, drawn.hypothesis)
        np.testing.assert_allclose(np.array(hundredths) / 100, drawn.weights, atol=0.00501)


def test_rows_and_columns_of_a_map_are_words_or_pieces(attending, page):
    def units(page: bytes) -> list[str]:
        (said,) = [text for text in read(page).texts if text.startswith("Each row is")]
        return re.findall(r"\b(word|piece) of the (?:translation|source)", said)

    assert units(page) == ["word", "word"]
    for settings, expected in (
        ({"length_unit": "characters"}, ["word", "piece"]),
        ({"tokenize": "zh"}, ["piece", "word"]),
    ):
        changed = replace(attending, settings=replace(attending.settings, **settings))
        assert units(page_of(changed)) == expected


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
                follows = tag == "a"  # only when the reader clicks
                assert follows or value.startswith(("#", "data:")), (tag, name, value)
        assert not any(name.startswith("on") for name in attributes)
        assert "url" not in attributes.get("style", "")
    code = "".join(reader.scripts)
    asks = r"https?:|@import|url\(|fetch\(|XMLHttpRequest|import\(|WebSocket|sendBeacon"
    assert not re.search(asks, code)


def test_the_page_has_names_for_everything(page):
    reader = read(page)
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in reader.tags:
        for name in ("aria-labelledby", "aria-controls", "for"):
            assert attributes.get(name) in (None, *ids)
        if tag == "nav" or attributes.get("role") in ("img", "group", "region"):
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
    assert b'id="attention"' not in page_of(alone)  # it does not attend
    shown = examples(alone)
    for bucket in {one.bucket for one in shown}:
        scores = [(one.hypotheses[0][2], one.reason) for one in shown if one.bucket == bucket]
        for end, rule in ((max, "one of the best"), (min, "one of the worst")):
            assert end(scores)[0] in [score for score, reason in scores if rule in reason]


def common(one, other):
    """Words of a longest common subsequence."""
    best = np.zeros((len(one) + 1, len(other) + 1), int)
    for i, word in enumerate(one):
        for j, as_well in enumerate(other):
            best[i + 1, j + 1] = max(best[i, j + 1], best[i + 1, j], best[i, j] + (word == as_well))
    return best[-1, -1]


@pytest.mark.parametrize("seed", range(30))
def test_unmarked_words_are_those_that_the_reference_has_in_this_order(seed):
    luck = random.Random(seed)
    reference, hypothesis = (luck.choices("abcde", k=luck.randrange(12)) for _ in range(2))
    far = " ".join(["x", *reference, "y"])
    runs = runs_of_words([" ".join(reference), far], " ".join(hypothesis))
    assert runs == runs_of_words(["".join(reference)], "".join(hypothesis), "characters")
    assert [word for written, _ in runs for word in written] == hypothesis
    assert [word for _, meant in runs for word in meant] == reference
    right = [word for written, meant in runs if written == meant for word in written]
    assert common(right, reference) == common(right, hypothesis) == len(right)
    for written, meant in runs:
        assert written == meant or not {*written} & {*meant}  # no word is marked without need


def test_errors_are_counted_in_the_whole_text(tmp_path):
    right = [f"w{n}" for n in range(999)]
    wrong = [*right[:-10], *(10 * ["no"])]
    texts = Translations(["s"], [" ".join(right)], [" ".join(wrong)], [])
    made = evaluated(tmp_path / "one", texts, "one", settings=EvaluationConfig(bootstrap=100))
    page = page_of(compare_systems([made], None, EvaluationConfig(bootstrap=100))).decode()
    assert "first error after 989 of 999" in page
    assert '<mark class="wrong first" title="w989' in page


def test_spaces_are_no_characters():
    assert runs_of_words(["iPad 很好"], "iPad很 好", "characters") == [([*"iPad很好"],) * 2]


@pytest.mark.parametrize(("tokenize", "language"), [("zh", "en"), ("13a", "zh")])
def test_a_page_shows_every_reference_and_compares_with_the_closest(tmp_path, tokenize, language):
    texts = Translations(["s"], ["九 八"], ["你们好"], [], more_references=[["你好"]])
    settings = EvaluationConfig(bootstrap=100, tokenize=tokenize)
    config = {"corpus": {"target": language}}
    scored = evaluated(tmp_path / "one", texts, "one", settings=settings, config=config)
    page = page_of(compare_systems([scored], None, EvaluationConfig(bootstrap=100))).decode()
    for reference in ("九 八", "你好"):
        assert f'<dd dir="auto" lang="{language}">{reference}</dd>' in page
    assert '<mark class="wrong first" title="">们</mark>' in page
    assert "first error after 1 of 2 characters" in page
