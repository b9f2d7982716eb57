"""The live page as a reader meets it. Skipped where there is no Chromium to look at it with."""

import pytest
import torch
from helpers.chromium import (
    MARKS,
    enter,
    one,
    require_contrast,
    require_printed,
    resize,
    shown,
    translations,
    wait,
)
from helpers.word_models import rounded_translator, sentences, word_checkpoint

from seq2seq.checkpoint import save_checkpoint
from seq2seq.data.vocabulary import BOS, EOS, PAD
from seq2seq.decoding.ensemble import forced_decode
from seq2seq.decoding.translator import Translator
from seq2seq.report.live import packed, render_live

pytest.importorskip("selenium")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

pytestmark = MARKS
SYSTEMS = {
    "additive": {"kind": "additive"},
    "fixed": {"kind": "fixed"},
    "paper": {"kind": "additive", "seed": 2, "query": "state", "tie_embedding": False},
}
READY = [
    {
        "length": "4 words",
        "pairs": [{"source": "the old  man\u00a0.", "reference": "der alte alte Mann ."}],
    }
]


@pytest.fixture(scope="module")
def html(tmp_path_factory) -> bytes:
    folder, systems = tmp_path_factory.mktemp("models"), []
    for name, colour in zip(SYSTEMS, ("#0072B2", "#D55E00", "#009E73"), strict=True):
        save_checkpoint(folder / name, word_checkpoint(**SYSTEMS[name]))
        model = packed(folder / name)
        systems.append({"name": name, "colour": [colour, colour], "model": model})
    return render_live(systems, ("en", "de"), READY)


@pytest.fixture(scope="module")
def translators():
    """In Python, with the weights that the page unpacks."""
    return {name: rounded_translator(word_checkpoint(**of)) for name, of in SYSTEMS.items()}


@pytest.fixture
def page(browser, html, tmp_path):
    """The page, freshly opened; at the end nothing has gone wrong."""
    (tmp_path / "live.html").write_bytes(html)
    browser.get_log("browser")
    resize(browser, 1280, 900)
    browser.get((tmp_path / "live.html").as_uri())
    wait(browser)
    yield browser
    assert browser.get_log("browser") == []


def test_the_page_translates_as_python_does_with_the_same_weights(page, translators):
    for text in [*sentences(6), "Old man\u0301. 🐕\u0301"]:
        said = enter(page, text)
        for name, translator in translators.items():
            found = translator.translate(text, beam=1)
            expected = [{"<unk>": "(unknown word)"}.get(piece, piece) for piece in found.pieces]
            assert said[name] == expected, (name, text)
            missing = ", ".join(found.unknown)
            card = one(page, f'.card[data-name="{name}"]').text
            assert not missing or f"does not know: {missing}" in card


def likeliest(translator: Translator, text: str, before: list[str]) -> list[tuple[str, float]]:
    """The five likeliest pieces after ``before``, with their probabilities."""
    pieces, start = translator.target.vocabulary.pieces, translator.target.vocabulary.encode(before)
    read = torch.tensor([[*translator.source.encode(text), EOS]] * len(pieces))
    target = torch.tensor([[*start, i] for i in range(len(pieces))])
    lengths = torch.full((len(pieces),), read.shape[1])
    found = (
        forced_decode(translator.model.eval(), read, lengths, target).log_probabilities[:, -1].exp()
    )
    found[[PAD, BOS]] = 0  # never written
    return [(pieces[i], float(found[i])) for i in found.topk(5).indices.tolist()]


def test_another_word_is_chosen_and_the_rest_is_translated_anew(page, translators):
    text = "the old man sees a dog ."
    said = enter(page, text)
    for name, translator in translators.items():
        pieces = said[name]
        place = min(1, len(pieces) - 1)
        listed = likeliest(translator, text, pieces[:place])
        word = one(page, f'.card[data-name="{name}"] [data-place="{place}"]')
        word.click()
        options = shown(page, ".choices button")
        for (piece, chance), option in zip(listed, options, strict=True):
            special = {"</s>": "(end)", "<unk>": "(unknown word)"}
            assert option.text.startswith(special.get(piece, piece))
            share = float(option.text.rpartition(" ")[2].strip("<%")) / 100
            assert share == pytest.approx(chance, abs=1e-3)
        number = next(n for n, (piece, _) in enumerate(listed[1:], 1) if not piece.startswith("<"))
        options[number].click()
        WebDriverWait(page, 300, 0.02).until(lambda driver: shown(driver, ".chosen"))
        wait(page)
        prefix = [*pieces[:place], listed[number][0]]
        found = translator.translate(text, beam=1, prefix=prefix)
        assert translations(page)[name] == found.pieces
        assert page.switch_to.active_element.text == listed[number][0]
        one(page, f'.card[data-name="{name}"] > button').click()  # undo
        wait(page)
        assert translations(page)[name] == pieces
        assert page.switch_to.active_element.get_attribute("data-place") == str(place)


def test_a_word_lights_what_it_looks_at_and_the_map_has_its_weights(page, translators):
    text = "the old man sees a dog ."
    found = translators["additive"].translate(text, beam=1, attention=True)
    enter(page, text)
    weights = page.execute_script(
        "return [...document.querySelectorAll('[data-name=additive] .map tbody tr')].map("
        "(row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.textContent)))"
    )
    for row, of_model in zip(weights, found.attention.tolist(), strict=True):
        assert row == pytest.approx(of_model, abs=0.0051)
    heads = shown(page, "[data-name=additive] .map thead th")
    assert [head.get_attribute("textContent") for head in heads][:-1] == found.source_pieces[:-1]
    most = found.source_pieces[found.attention[1].argmax()].replace("</s>", "(end)")
    word = one(page, '.card[data-name="additive"] [data-place="1"]')
    ActionChains(page, duration=0).move_to_element(word).perform()
    assert one(page, '.card[data-name="additive"] .most').text == most
    one(page, "h1").click()
    word.send_keys(Keys.ARROW_LEFT)
    assert page.switch_to.active_element.get_attribute("data-place") == "0"
    most = found.source_pieces[found.attention[0].argmax()].replace("</s>", "(end)")
    assert one(page, '.card[data-name="additive"] .most').text == most
    page.switch_to.active_element.send_keys(Keys.ENTER)
    assert len(shown(page, ".choices button")) == 5
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert shown(page, ".choices button") == []
    assert page.switch_to.active_element.get_attribute("data-place") == "0"


def test_a_ready_sentence_is_compared_with_its_reference(page, translators):
    one(page, "#ready button").click()
    wait(page, "the old man .")
    assert one(page, "#meant").text == "der alte alte Mann ."
    meant = ["der", "alte", "alte", "Mann", "."]
    for name, translator in translators.items():
        said = translator.translate("the old man .", beam=1).pieces
        card = one(page, f'.card[data-name="{name}"]')
        lost = [w for w in dict.fromkeys(meant) if meant.count(w) > said.count(w)]
        text = card.find_elements("css selector", ".lost")
        assert bool(text) == bool(lost)
        assert all(word in text[0].text for word in lost)
        wrong = [one.text for one in card.find_elements("css selector", ".wrong button")]
        right = [word for word in said if word in meant]
        assert len(said) - len(right) <= len(wrong) <= len(said)


def test_a_link_leads_to_its_sentence(page, tmp_path):
    text = "Ein Satz: 100% #1 & <b>"
    enter(page, text)
    link = one(page, "#link").get_attribute("href")
    assert page.execute_script("return location.href") == link
    page.execute_script("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    one(page, "#link").click()
    assert page.execute_script("return window.copied") == link
    page.get("about:blank")
    page.get(link)
    wait(page, text)
    assert one(page, "#text").get_attribute("value") == text
    page.execute_script("location.hash = '#text=a%20dog'")
    wait(page, "a dog")
    page.execute_script("document.getElementById('text').value = 'a dog \\ud83d';")
    page.execute_script("document.getElementById('text').dispatchEvent(new Event('input'))")
    wait(page, "a dog \ufffd")
    assert enter(page, "") == {}


def test_a_text_that_is_cut_is_said_to_be(page, translators):
    text = " ".join(["the old man sees a dog ."] * 4)
    said = enter(page, text)
    assert "28 words" in one(page, "#count").text
    for name, translator in translators.items():
        assert said[name] == translator.translate(text, beam=1).pieces
        assert "20 of 28 words" in one(page, f'.card[data-name="{name}"] .unknown').text
    enter(page, "the old man .")
    assert shown(page, ".unknown") == []


@pytest.mark.parametrize("selector", [".map tbody td", ".read span"])
def test_shades_that_mean_something_are_printed(page, selector):
    one(page, "#ready button").click()
    wait(page)
    require_printed(page, selector)


def test_everything_fits_a_phone_and_stands_out_in_both_themes(page):
    one(page, "#ready button").click()
    wait(page)
    shown(page, ".said button")[0].click()
    resize(page, 360, 740)
    assert page.execute_script("return document.documentElement.scrollWidth") <= 360
    grounds = set()
    for _ in range(2):
        one(page, "#theme").click()
        grounds |= require_contrast(page)
    assert len(grounds) >= 4  # both themes were seen
    theme = page.execute_script("return document.documentElement.dataset.theme")
    page.refresh()
    assert page.execute_script("return document.documentElement.dataset.theme") == theme


def test_each_language_is_named_to_screen_readers(page):
    enter(page, "the old man .")
    inside = (
        "return [...document.querySelectorAll(arguments[0])].map((e) => e.closest('[lang]').lang)"
    )
    for selector, lang in (("#text, .read", "en"), (".said, #spoken span", "de"), ("h1", "en")):
        found = page.execute_script(inside, selector)
        assert set(found) == {lang}
    heads = "[data-name=additive] .map tbody th"
    assert set(page.execute_script(inside, heads)) == {"de"}
    spoken = one(page, "#spoken").get_attribute("textContent")
    for name, words in translations(page).items():
        assert f"{name}: {' '.join(words)}" in spoken
