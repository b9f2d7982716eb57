"""The page as a parser reads it, and the sentences on it."""

import html.parser
import random
import re

import numpy as np
import pytest
import sacrebleu
from helpers.page_material import HOSTILE, LABELS, SETTINGS, write_report
from helpers.synthetic_translations import evaluated

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.comparison import compare_systems
from seq2seq.evaluation.translations import Translations
from seq2seq.report.page import examples, runs_of_words

ASKS = r"https?:|@import|url\((?!#)|fetch\(|XMLHttpRequest|import\(|WebSocket|sendBeacon"


class Reader(html.parser.HTMLParser):
    """Elements and texts of a page; scripts and styles are the code."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.texts, self.code = [], "", ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        code = self.cdata_elem is not None
        self.code, self.texts = self.code + data * code, self.texts + data * (not code)


@pytest.fixture(scope="module")
def page(report) -> Reader:
    return Reader((report[0] / "page.html").read_text(encoding="utf-8"))


def test_text_of_the_test_set_stays_text_and_the_page_asks_nobody_for_anything(page):
    tags = [tag for tag, _ in page.tags]
    assert (tags.count("script"), tags.count("title"), tags.count("b")) == (1, 1, 0)
    for text in (*HOSTILE, *LABELS.values(), "(nothing)"):
        assert text in page.texts
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "action", "data", "srcset", "xlink:href", "poster"):
                assert tag == "a" or value.startswith(("#", "data:"))  # links wait for a click
    assert not re.search(ASKS, page.code)


@pytest.mark.parametrize("which", ["report", "pair", "alone"])
def test_sentences_are_those_on_which_the_systems_differ_most(which, request):
    """Of each bucket the ends and the median of a gap in BLEU, or of the only system's BLEU."""
    _, compared = request.getfixturevalue("pair" if which == "alone" else which)
    if which == "alone":
        compared = compare_systems(compared.evaluations[:1], None, SETTINGS)
    gap = compared.gaps[0] if compared.gaps else None
    best, worst = ("gains", "loses") if gap else ("best", "worst")
    texts, shown = [system.first.texts for system in compared.systems], examples(compared)
    for row, members in zip(compared.systems[0].buckets, compared.members, strict=True):
        lines = np.flatnonzero(members).tolist()
        bleu = {
            n: [sacrebleu.sentence_bleu(of.hypotheses[n], [of.references[n]]).score for of in texts]
            for n in lines
        }
        value = {n: bleu[n][1] - bleu[n][0] if gap else bleu[n][0] for n in lines}
        order, half = sorted(lines, key=lambda n: (value[n], n)), len(lines) // 2
        ends = {best: order[max(half, len(lines) - 3) :], worst: order[: min(3, half)]}
        here = {one.line - 1: one for one in shown if one.bucket == row.words}
        for rule, sign in ((best, 1), (worst, -1)):
            found = [value[n] for n in ends[rule] if not gap or sign * value[n] > 0]
            told = [value[n] for n, one in here.items() if rule in one.reason]
            assert sorted(told) == pytest.approx(found)
        assert [n for n, one in here.items() if one.median] == order[(len(lines) - 1) // 2 :][:1]
        for n, one in here.items():
            assert one.source == texts[0].sources[n]
            _, said, scores = zip(*one.hypotheses, strict=True)
            assert said == tuple(of.hypotheses[n] for of in texts)
            assert scores == pytest.approx(bleu[n])


@pytest.mark.parametrize("most", [*range(1, 21), 500])
def test_unmarked_words_are_those_that_the_reference_has_in_this_order(most):
    luck = random.Random(most)
    reference, hypothesis = (
        luck.choices("abcde", k=luck.randint(most // 2, most)) for _ in range(2)
    )
    far = " ".join(["x", *reference, "y"])
    runs = runs_of_words([" ".join(reference), far], " ".join(hypothesis))
    assert runs == runs_of_words(["".join(reference)], "".join(hypothesis), "characters")
    assert [word for written, _ in runs for word in written] == hypothesis
    assert [word for _, meant in runs for word in meant] == reference
    for written, meant in runs:
        assert written == meant or not {*written} & {*meant}  # no word is marked without need


@pytest.mark.parametrize(("tokenize", "language"), [("zh", "en"), ("13a", "zh")])
def test_a_page_shows_every_reference_and_compares_with_the_closest(tmp_path, tokenize, language):
    texts = Translations(["s"], ["九 八"], ["你们 好"], [], more_references=[["你好"]])
    settings = EvaluationConfig(bootstrap=100, tokenize=tokenize)
    config = {"corpus": {"target": language}}
    evaluated(tmp_path / "one", texts, "one", settings=settings, config=config)
    folder, _ = write_report([f"{tmp_path}/one"], tmp_path / "report", None)
    page = (folder / "page.html").read_text(encoding="utf-8")
    for reference in ("九 八", "你好"):
        assert f'<dd dir="auto" lang="{language}">{reference}</dd>' in page
    assert '<mark class="wrong first" title="">们</mark>' in page
    assert "first error after 1 of 2 characters" in page
