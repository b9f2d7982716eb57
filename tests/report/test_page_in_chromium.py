"""The page as a reader meets it. Skipped where there is no Chromium to look at it with."""

import pytest
from helpers.chromium import MARKS, one, require_contrast, require_printed, resize, shown

from seq2seq.report.page import examples
from seq2seq.report.tables import score_text

pytest.importorskip("selenium")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

pytestmark = MARKS
WALK = """
const slider = document.getElementById("example"), found = [];
const visible = (selector) =>
  [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
const words = (part) => visible(`.map ${part} th`).map((word) => word.textContent);
for (slider.value = 0; found.length <= slider.max; slider.value = found.length) {
  slider.dispatchEvent(new Event("input"));
  const [known] = visible("#looked, #no-map");
  found.push({
    line: Number(visible(".sentence")[0].id.replace("line-", "")),
    bleu: visible(".translation").map((one) => Number(one.dataset.bleu)),
    map: known.id === "no-map" ? null
      : [visible(".map caption")[0].textContent, words("thead"), words("tbody")],
  });
}
return found;
"""
"""Shows each sentence: its line, the scores of both systems, and the map's system and words."""


@pytest.fixture
def page(browser, attending_page, tmp_path):
    """The page, freshly opened; at the end nothing has gone wrong."""
    (tmp_path / "page.html").write_bytes(attending_page)
    browser.get_log("browser")
    browser.get((tmp_path / "page.html").as_uri())
    WebDriverWait(browser, 30, 0.02).until(lambda _: shown(browser, "#looked, #no-map"))  # unpacked
    yield browser
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("window", [(1440, 900), (390, 844)], ids=["desk", "phone"])
def test_the_result_is_seen_without_scrolling(page, window):
    width, height = window
    resize(page, width, height)
    for selector in ("h1", ".chart svg"):
        (element,) = shown(page, selector)
        box = element.rect
        assert 0 <= box["x"] <= width - box["width"], selector
        assert 0 < box["y"] + box["height"] <= height, selector
    assert page.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_bucket_says_the_numbers_of_the_comparison(page, attending):
    areas = shown(page, '.chart [id*="length-"]')
    page.execute_script("arguments[0].focus()", areas[0])
    for place, row in enumerate(attending.systems[0].buckets):
        for by_pointer in (False, True):
            if by_pointer:
                ActionChains(page, duration=0).move_to_element(areas[place]).perform()
            (tip,) = shown(page, ".tip")
            text = " ".join(tip.text.split())
            assert f"{row.words} words, n = {row.sentences:,}" in text
            for system in attending.systems:
                assert score_text(system.rows[place]) in text
        page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)


def test_sentences_begin_with_a_median_and_are_shown_in_the_order_chosen(page, attending):
    every = examples(attending)
    words = [row.words for row in attending.systems[0].buckets if not row.few]
    (median,) = (one for one in every if one.median and one.bucket == words[-1])
    assert median.source in shown(page, ".sentence")[0].text
    Select(one(page, "#system")).select_by_value("2")
    Select(one(page, "#order")).select_by_value("bleu")
    differences = [
        right - left for left, right in (seen["bleu"] for seen in page.execute_script(WALK))
    ]
    assert differences == sorted(e.hypotheses[2][2] - e.hypotheses[0][2] for e in every)


def test_an_address_names_its_sentence(page):
    address = page.current_url
    one(page, "#next").click()
    chosen, linked = shown(page, ".sentence")[0].get_attribute("id"), page.current_url
    assert linked == f"{address}#{chosen}"
    page.get("about:blank")
    page.get(linked)
    assert [s.get_attribute("id") for s in shown(page, ".sentence")] == [chosen]


def test_the_map_follows_the_sentence_and_the_systems(page, attending):
    stored = {
        (system.name, drawn.line + 1): [system.name, drawn.source, drawn.hypothesis]
        for system in attending.systems
        for drawn in system.first.texts.maps
    }
    for place in ("1", "2"):
        Select(one(page, "#system")).select_by_value(place)
        name, known = attending.systems[int(place)].name, set()
        for seen in page.execute_script(WALK):
            assert seen["map"] == stored.get((name, seen["line"]))
            known.add(seen["map"] is not None)
        assert known == {True, False}


@pytest.mark.parametrize("selector", [".map tbody td", ".first"])
def test_shades_that_mean_something_are_printed(page, attending, selector):
    drawn = attending.systems[1].first.texts.maps[0]
    page.get(f"{page.current_url}#line-{drawn.line + 1}")
    require_printed(page, selector)


def test_a_weight_of_attention_names_its_words(page, attending):
    maps = attending.systems[1].first.texts.maps
    drawn = min(maps, key=lambda one: abs(len(one.source) - 20))
    page.get(f"{page.current_url}#line-{drawn.line + 1}")
    row, column = 3, 2
    cell = page.find_elements("css selector", ".map td[aria-label]")[
        row * len(drawn.source) + column
    ]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", cell)
    ActionChains(page, duration=0).move_to_element(cell).perform()
    for key, step in ((None, (0, 0)), (Keys.ARROW_DOWN, (1, 0)), (Keys.ARROW_LEFT, (0, -1))):
        row, column = row + step[0], column + step[1]
        if key:
            one(page, ".map").send_keys(key)
        marked = [element.text for element in page.find_elements("css selector", ".map th.on")]
        assert sorted(marked) == sorted([drawn.source[column], drawn.hypothesis[row]])
        assert f"{drawn.weights[row][column]:.2f}" in one(page, "#weight").text


def test_text_stands_out_in_both_themes(page):
    grounds = set()
    for _ in range(2):
        one(page, "#theme").click()
        grounds |= require_contrast(page)
    assert len(grounds) >= 4  # both themes were seen


def test_paper_shows_what_is_folded(page):
    everything = len(page.find_elements("css selector", "details table"))
    assert everything > len(shown(page, "details table"))
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert len(shown(page, "details table")) == everything
    assert shown(page, "nav, .controls") == []


def test_without_its_script_the_page_has_everything(page):
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    page.refresh()
    assert shown(page, ".script-only") == []
    assert len(shown(page, ".sentence")) > 10
