"""The page and the live page as a reader meets them. Skipped where there is no Chromium."""

import contextlib
import shutil

import numpy as np
import pytest
from helpers.word_models import rounded_translator, sentences, word_checkpoint

from seq2seq.checkpoint import save_checkpoint
from seq2seq.decoding.translator import Translator
from seq2seq.report.live import packed, render_live
from seq2seq.report.page import examples

pytest.importorskip("selenium")
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

CHROMIUM, *_ = (*filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM or not DRIVER, reason="there is no Chromium here"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # the driver's own sockets
]
FLAGS = ["headless=new", "no-sandbox", "disable-gpu", "no-first-run", "disable-component-update"]
FLAGS += ["disable-background-networking", "disable-sync", "window-size=1280,900"]
PHONE = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
SHOWN = """
return [...document.querySelectorAll(arguments[0])].filter(
  (e) => e.checkVisibility() && e.getBoundingClientRect().height > 0);
"""
SYSTEMS = {
    "additive": {"kind": "additive", "seed": 2},
    "fixed": {"kind": "fixed", "seed": 2},
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
const typed = arguments[0] ?? text.value; // elements are known by their id
return cards.getAttribute("aria-busy") === "false"
  && decodeURIComponent(link.hash) === "#text=" + typed.trim().replace(/\\s+/g, " ");
"""
TRANSLATIONS = """
return Object.fromEntries([...document.querySelectorAll(".card")].map((card) => [card.dataset.name,
  [...card.querySelectorAll(".said button:not(.end, .cut)")].map((word) => word.textContent)]));
"""
ENTER = 'text.value = arguments[0]; text.dispatchEvent(new Event("input"));'


def one(browser, selector: str):
    return browser.find_element("css selector", selector)


def shown(browser, selector: str) -> list:
    """Elements that take up room."""
    return browser.execute_script(SHOWN, selector)


def until(browser, condition) -> None:
    WebDriverWait(browser, 300, 0.02).until(lambda _: condition())


def translated(live, text=None) -> dict[str, list[str]]:
    """Wait until the text (by default the one in the box) is translated; the words of each card."""
    until(live, lambda: live.execute_script(TRANSLATED, text))
    return live.execute_script(TRANSLATIONS)


def enter(live, text) -> dict[str, list[str]]:
    live.execute_script(ENTER, text)
    return translated(live, text)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """The driver of a browser; it logs the warnings and errors of pages."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    with contextlib.suppress(OSError):
        driver.quit()


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
    content = {"source": "en", "target": "de", "systems": systems, "ready": ready}
    path.write_bytes(render_live(content))
    browser.get(path.as_uri())
    translated(browser)
    return browser


def test_a_bucket_shows_its_numbers_at_the_pointer(page, report):
    areas = shown(page, '.chart [id*="length-"]')
    for area, row in zip(areas, report[1].systems[0].buckets, strict=True):
        ActionChains(page, duration=0).move_to_element(area).perform()
        assert f"{row.words} words" in shown(page, ".tip")[0].text


def test_a_reader_walks_through_the_sentences_and_their_maps(page, report):
    _, comparison = report
    every = examples(comparison)
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


def test_the_page_fits_a_phone_and_on_paper_and_without_its_script_shows_all(page, report):
    line = report[1].systems[1].first.texts.maps[0].line + 1
    page.get(f"{page.current_url}#line-{line}")
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    assert shown(page, f"#line-{line}")
    assert page.execute_script("return document.documentElement.scrollWidth") <= PHONE["width"]
    folded = len(page.find_elements("css selector", ".p")) - len(shown(page, ".p"))
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert 0 < folded == len(shown(page, ".p"))
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    page.refresh()
    assert len(shown(page, ".sentence")) == len(examples(report[1]))


def test_the_live_page_translates_as_python_does_with_the_same_weights(live, translators):
    for text in [*sentences(6), "Old man\u0301. 🐕\u0301", " ".join([TEXT] * 4)]:
        said = enter(live, text)
        for name, translator in translators.items():
            found = translator.translate(text, beam=1)
            assert said[name] == [SPECIAL.get(piece, piece) for piece in found.pieces], (name, text)
            warned = one(live, "#warning").text
            assert not found.unknown or ", ".join(found.unknown) in warned
            assert ("20 of 28 words" in warned) == text.startswith(TEXT)
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


def test_the_map_has_the_weights_and_a_word_lights_what_it_looks_at(live, translators):
    found = translators["additive"].translate(TEXT, beam=1, attention=True)
    enter(live, TEXT)
    cells = shown(live, "[data-name=additive] .map tbody td")
    weights = [float(cell.get_attribute("textContent")) for cell in cells]
    np.testing.assert_allclose(weights, found.attention.flatten(), atol=0.0051)
    word = one(live, '.card[data-name="additive"] [data-place="1"]')
    ActionChains(live, duration=0).move_to_element(word).perform()
    most = found.source_pieces[found.attention[1].argmax()]
    assert one(live, "[data-name=additive] .most").text == SPECIAL.get(most, most)


def test_a_known_word_is_offered_and_a_clause_added_to_ones_own_sentence(live):
    enter(live, TEXT.replace("dog", "dig"))
    one(live, "#warning button").click()
    said = translated(live, TEXT)["fixed"]
    one(live, "#longer").click()
    translated(live, TEXT.replace(".", ", and the old man ."))
    assert f"of {len(said) - (said[-1] == '.') + 7} words kept" in one(live, "#cards").text


def test_a_ready_sentence_has_its_reference_and_a_link_leads_to_its_text(live):
    one(live, "#ready button").click()
    translated(live, "the old man .")
    assert one(live, "#meant").text == MEANT
    one(live, "#longer").click()
    translated(live, "the old man , and the old man .")
    assert one(live, "#meant").text == MEANT.replace(".", f", und {MEANT}")
    text = "Ein Satz: 100% #1 & <b>"
    enter(live, text)
    link = one(live, "#link").get_attribute("href")
    live.get("about:blank")
    live.get(link)
    translated(live, text)
