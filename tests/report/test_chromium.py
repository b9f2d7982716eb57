"""The page and the live page as a reader meets them. Skipped where there is no Chromium."""

import shutil

import numpy as np
import pytest
from helpers.chromium import MARKS, chromium, one, require_legible, shown, until
from helpers.word_models import rounded_translator, sentences, word_checkpoint

from seq2seq.checkpoint import save_checkpoint
from seq2seq.decoding.translator import Translator
from seq2seq.report.live import packed, render_live
from seq2seq.report.page import examples

pytest.importorskip("selenium")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

pytestmark = MARKS
SYSTEMS = {
    "additive": {"kind": "additive"},
    "fixed": {"kind": "fixed"},
    "paper": {"kind": "additive", "seed": 2, "query": "state", "tie_embedding": False},
}
TEXT, READY, MEANT = "the old man sees a dog .", "the old  man\u00a0.", "der alte alte Mann ."
SPECIAL = {"</s>": "(end)", "<unk>": "(unknown word)"}
WALK = """
const slider = document.getElementById("example"), found = [];
const visible = (selector) =>
  [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
const words = (part) => visible(`.map ${part} th`).map((word) => word.textContent);
for (slider.value = 0; found.length <= slider.max; slider.value = found.length) {
  slider.dispatchEvent(new Event("input"));
  const bleu = visible(".translation").map((one) => Number(one.dataset.bleu));
  const map = visible("#no-map").length ? null : [visible(".map caption")[0].textContent,
    words("thead"), words("tbody"), visible(".map [aria-label]").map((one) => one.ariaLabel)];
  found.push([Number(visible(".sentence")[0].id.replace("line-", "")), bleu[1] - bleu[0], map]);
}
return found;
"""
"""Shows each sentence; its line, the gap in its BLEU, and the map: system, words, weights."""
TRANSLATED = """
const link = document.getElementById("link");
const text = arguments[0] ?? document.getElementById("text").value;
return document.getElementById("cards").getAttribute("aria-busy") === "false"
  && decodeURIComponent(link.hash) === "#text=" + text.trim().replace(/\\s+/g, " ");
"""
TRANSLATIONS = """
return Object.fromEntries([...document.querySelectorAll(".card")].map((card) => [card.dataset.name,
  [...card.querySelectorAll(".said button:not(.end, .cut)")].map((word) => word.textContent)]));
"""
ENTER = """
document.getElementById("text").value = arguments[0];
document.getElementById("text").dispatchEvent(new Event("input"));
"""


def translated(live, text=None) -> dict[str, list[str]]:
    """Wait until the text (by default the one in the box) is translated; the words of each card."""
    until(live, lambda: live.execute_script(TRANSLATED, text))
    return live.execute_script(TRANSLATIONS)


def enter(live, text) -> dict[str, list[str]]:
    live.execute_script(ENTER, text)
    return translated(live, text)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def browser(driver):
    """The browser; at the end nothing has gone wrong."""
    driver.get_log("browser")
    yield driver
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert driver.get_log("browser") == []


@pytest.fixture
def page(browser, report, tmp_path):
    browser.get(shutil.copy(report[0] / "page.html", tmp_path / "page.html").as_uri())
    until(browser, lambda: shown(browser, "#looked, #no-map"))  # the maps are unpacked
    return browser


@pytest.fixture(scope="module")
def translators() -> dict[str, Translator]:
    """In Python, with the weights that the live page unpacks."""
    return {name: rounded_translator(word_checkpoint(**of)) for name, of in SYSTEMS.items()}


@pytest.fixture
def live(browser, tmp_path):
    systems = []
    for name, of in SYSTEMS.items():
        save_checkpoint(tmp_path / name, word_checkpoint(**of))
        model = packed(tmp_path / name)
        systems.append({"name": name, "colour": ["#0072B2", "#56B4E9"], "model": model})
    ready = [{"length": "4 words", "pairs": [{"source": READY, "reference": MEANT}]}]
    path = tmp_path / "live.html"
    path.write_bytes(render_live(systems, ("en", "de"), ready))
    browser.get(path.as_uri())
    translated(browser)
    return browser


def test_a_bucket_shows_its_numbers_at_the_pointer_and_by_the_keys(page, report):
    areas = shown(page, '.chart [id*="length-"]')
    page.execute_script("arguments[0].focus()", areas[0])
    for area, row in zip(areas, report[1].systems[0].buckets, strict=True):
        assert f"{row.words} words" in shown(page, ".tip")[0].text
        ActionChains(page, duration=0).move_to_element(area).perform()
        (tip,) = shown(page, ".tip")
        assert f"{row.words} words" in tip.text
        page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)


def test_a_reader_walks_through_the_sentences_and_their_maps(page, report):
    _, comparison = report
    every = examples(comparison)
    usual = [row.words for row in comparison.systems[0].buckets if not row.few][-1]
    (median,) = (example.line for example in every if example.median and example.bucket == usual)
    assert shown(page, f"#line-{median}")
    one(page, "#next").click()
    assert page.current_url.endswith("#" + shown(page, ".sentence")[0].get_attribute("id"))
    assert not shown(page, f"#line-{median}")
    for place, system in enumerate(comparison.systems[1:], start=1):
        Select(one(page, "#system")).select_by_value(str(place))
        Select(one(page, "#order")).select_by_value("bleu")
        lines, gaps, maps = zip(*page.execute_script(WALK), strict=True)
        scores = [[bleu for _, _, bleu in example.hypotheses] for example in every]
        assert [*gaps] == sorted(of[place] - of[0] for of in scores)
        known = {}
        for drawn in system.first.texts.maps:
            weights = [f"{weight:.2f}" for row in drawn.weights for weight in row]
            known[drawn.line + 1] = [system.name, drawn.source, drawn.hypothesis, weights]
        assert [*maps] == [known.get(line) for line in lines]
        assert 0 < maps.count(None) < len(maps)


def test_an_address_names_its_sentence_and_a_cell_its_words(page, report):
    maps = report[1].systems[1].first.texts.maps
    drawn = next(one for one in maps if len(one.source) == 25)
    page.get(f"{page.current_url}#line-{drawn.line + 1}")
    cell = one(page, ".map tbody tr:nth-child(4) td:nth-child(4)")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", cell)
    ActionChains(page, duration=0).move_to_element(cell).perform()
    for key, row, column in ((None, 3, 2), (Keys.ARROW_DOWN, 4, 2), (Keys.ARROW_LEFT, 4, 1)):
        if key:
            one(page, ".map").send_keys(key)
        marked = {word.text for word in page.find_elements("css selector", ".map th.on")}
        assert marked == {drawn.source[column], drawn.hypothesis[row]}
        assert f"{drawn.weights[row][column]:.2f}" in one(page, "#weight").text


def test_the_page_is_legible_on_a_phone_on_paper_and_without_its_script(page, report):
    line = report[1].systems[1].first.texts.maps[0].line + 1
    page.get(f"{page.current_url}#line-{line}")
    require_legible(page, ".map tbody td", ".first")
    everything = len(page.find_elements("css selector", "details table"))
    assert everything > len(shown(page, "details table"))
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert len(shown(page, "details table")) == everything
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    page.refresh()
    assert len(shown(page, ".sentence")) == len(examples(report[1]))


def test_the_live_page_translates_as_python_does_with_the_same_weights(live, translators):
    for text in [*sentences(6), "Old man\u0301. 🐕\u0301", " ".join([TEXT] * 4)]:
        said = enter(live, text)
        for name, translator in translators.items():
            found = translator.translate(text, beam=1)
            assert said[name] == [SPECIAL.get(piece, piece) for piece in found.pieces], (name, text)
            card = one(live, f'.card[data-name="{name}"]').text
            assert not found.unknown or ", ".join(found.unknown) in card
            assert ("20 of 28 words" in card) == text.startswith(TEXT)
    assert enter(live, "") == {}


@pytest.mark.parametrize("name", SYSTEMS)
def test_another_word_is_chosen_and_the_rest_is_translated_anew(live, translators, name):
    pieces, card = enter(live, TEXT)[name], f'.card[data-name="{name}"]'
    place = min(1, len(pieces) - 1)
    one(live, f'{card} [data-place="{place}"]').click()
    options = [option.text.rpartition(" ") for option in shown(live, ".choices button")]
    words, _, chances = zip(*options, strict=True)
    shares = [float(chance.strip("<%")) for chance in chances]
    assert (words[0], shares) == (pieces[place], sorted(shares, reverse=True))
    assert 1 < sum(shares) <= 100.5
    chosen = next(word for word in words[1:] if word not in SPECIAL.values())
    shown(live, ".choices button")[words.index(chosen)].click()
    until(live, lambda: shown(live, ".chosen"))
    found = translators[name].translate(TEXT, beam=1, prefix=[*pieces[:place], chosen])
    assert translated(live)[name] == found.pieces
    assert live.switch_to.active_element.text == chosen
    one(live, f"{card} > button").click()  # undo
    assert translated(live)[name] == pieces


def test_a_word_lights_what_it_looks_at_and_the_map_has_its_weights(live, translators):
    found = translators["additive"].translate(TEXT, beam=1, attention=True)
    enter(live, TEXT)
    cells = shown(live, "[data-name=additive] .map tbody td")
    weights = [float(cell.get_attribute("textContent")) for cell in cells]
    np.testing.assert_allclose(weights, found.attention.flatten(), atol=0.0051)
    word = one(live, '.card[data-name="additive"] [data-place="1"]')
    ActionChains(live, duration=0).move_to_element(word).perform()
    for row in (1, 0):
        most = found.source_pieces[found.attention[row].argmax()]
        assert one(live, "[data-name=additive] .most").text == SPECIAL.get(most, most)
        one(live, "h1").click()
        word.send_keys(Keys.ARROW_LEFT)
    live.switch_to.active_element.send_keys(Keys.ENTER)
    assert len(shown(live, ".choices button")) == 5
    live.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert shown(live, ".choices button") == []
    assert live.switch_to.active_element.get_attribute("data-place") == "0"


def test_a_ready_sentence_is_compared_with_its_reference_and_legible(live, translators):
    one(live, "#ready button").click()
    translated(live, "the old man .")
    assert one(live, "#meant").text == MEANT
    for name, translator in translators.items():
        said, meant = translator.translate("the old man .", beam=1).pieces, MEANT.split()
        card = one(live, f'.card[data-name="{name}"]')
        told = " ".join(part.text for part in card.find_elements("css selector", ".lost"))
        lost = {word for word in meant if meant.count(word) > said.count(word)}
        assert {word for word in meant if word in told.split()} == lost
    shown(live, ".said button")[0].click()  # other words are offered
    require_legible(live, ".map tbody td", ".read span")


def test_a_link_leads_to_its_sentence(live):
    text = "Ein Satz: 100% #1 & <b>"
    enter(live, text)
    link = one(live, "#link").get_attribute("href")
    assert live.current_url == link
    live.get("about:blank")
    live.get(link)
    translated(live, text)
    live.execute_script("location.hash = '#text=a%20dog'")
    translated(live, "a dog")
