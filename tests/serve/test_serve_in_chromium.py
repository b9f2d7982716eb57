"""The page that the server sends, as a reader meets it. Skipped where there is no Chromium."""

import re
import signal
import subprocess

import pytest
from helpers.chromium import MARKS, chromium, enter, one, shown, translations, type_text
from helpers.commands import ROOT, quick
from helpers.tiny_translator import SENTENCES, save_tiny

from seq2seq.decoding.translator import Translator
from seq2seq.report.live.page import render_live

pytest.importorskip("selenium")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

pytestmark = MARKS


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    return [save_tiny(root / kind, kind) for kind in ("additive", "fixed")]


@pytest.fixture(scope="module")
def server(folders):
    """The process and its address."""
    listed = f"checkpoint=[{folders[0]},{folders[1]}]"
    arguments = quick("serve", listed, "port=0", "precision=fp32")
    with subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, re.search(r"http://\S+/", process.stderr.readline())[0]
        finally:
            process.kill()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def test_the_page_shows_the_servers_answers_until_it_is_gone(browser, server, folders):
    process, address = server
    translators = [Translator.load(folder, precision="fp32") for folder in folders]
    browser.get_log("browser")
    browser.get(address)
    for text in SENTENCES:
        found = [translator.translate(text) for translator in translators]
        expected = [[piece.replace("▁", "") for piece in one.pieces] for one in found]
        assert [*enter(browser, text).values()] == expected
    listed = translators[1].translate(text, choices=5).choices[2]
    browser.find_elements("css selector", ".card")[1].find_element(
        "css selector", '[data-place="2"]'
    ).click()
    number = next(n for n, (piece, _) in enumerate(listed[1:], 1) if piece[0] not in "<")
    shown(browser, ".choices button")[number].click()
    WebDriverWait(browser, 300, 0.02).until(lambda _: shown(browser, ".chosen"))
    prefix = [*found[1].pieces[:2], listed[number][0]]
    again = translators[1].translate(text, prefix=prefix)
    _, of_fixed = translations(browser).values()
    assert of_fixed == [piece.replace("▁", "") for piece in again.pieces]
    assert browser.get_log("browser") == []
    enter(browser, "a" * 3_000)
    assert "text" in one(browser, "#note").text
    process.send_signal(signal.SIGINT)
    assert process.wait(300) == 0
    enter(browser, "a dog")
    assert one(browser, "#note").text.endswith("start it again.")


HELD = """
window.asked = [];
window.fetch = (_, { body, signal }) => new Promise((go, fail) => {
  if (signal.aborted) return fail(signal.reason);
  signal.addEventListener("abort", () => fail(signal.reason));
  asked.push({ ...JSON.parse(body), reply: (status, answer) => go(
    { ok: status === 200, status, json: async () => answer }) });
});
"""
READY = [{"length": "2 words", "pairs": [{"source": "the dog", "reference": "THE CAT"}]}]


@pytest.fixture
def held(browser, tmp_path):
    """Function that opens a server's page; its requests wait until the test replies."""
    browser.get_log("browser")
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": HELD})

    def opened(systems=None, target="de", ready=READY):
        usual = {"kind": "additive", "attends": True, "tokenization": "whitespace"}
        systems = systems or [{"name": "A"}, {"name": "B"}]
        systems = [usual | {"colour": ["#0072B2", "#56B4E9"]} | one for one in systems]
        (tmp_path / "page.html").write_bytes(render_live(systems, ("en", target), ready))
        browser.get((tmp_path / "page.html").as_uri())
        return browser

    yield opened
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    assert browser.get_log("browser") == []


def question(browser, number):
    """Wait for the request of this number, from 0, and return it."""
    found = f"const {{ text, systems, prefix }} = asked[{number}] ?? {{}};"
    find = found + "return text && { text, systems, prefix }"
    return WebDriverWait(browser, 300, 0.02).until(lambda _: browser.execute_script(find))


def reply(browser, number, status=200, **changes):
    """Answer a request: a translation is the source in capitals."""
    asked = question(browser, number)
    systems = []
    for name in asked["systems"]:
        written = asked["text"].upper().split()
        answer = {"name": name, "pieces": [*asked["prefix"], *written[len(asked["prefix"]) :]]}
        answer |= {"source_pieces": [*asked["text"].split(), "</s>"], "capped": False}
        answer |= {"source_length": 2, "source_read": 2, "unknown": [], "milliseconds": 1} | changes
        answer |= {"text": changes.get("text", " ".join(answer["pieces"]))}
        columns = [1 / len(answer["source_pieces"])] * len(answer["source_pieces"])
        answer["attention"] = [columns] * len(answer["pieces"])
        positions = len(answer["pieces"]) + (not answer["capped"])
        answer["choices"] = [[["ONE", 0.5], ["</s>", 0.3]]] * positions
        systems.append(answer)
    told = {"systems": systems} if status == 200 else {"error": "It failed."}
    browser.execute_script("asked[arguments[0]].reply(...arguments[1])", number, [status, told])
    browser.execute_async_script("setTimeout(arguments[0])")


def choose(browser, name, place, number=0):
    """Press a word of a system, and the choice of this number."""
    card = one(browser, f'.card[data-name="{name}"]')
    card.find_element("css selector", f'[data-place="{place}"]').click()
    card.find_elements("css selector", ".choices button")[number].click()


def undone(browser) -> int:
    """Number of cards that offer to undo a choice."""
    return len(shown(browser, ".card > button"))


def test_two_choices_at_once_both_count(held):
    page = held()
    reply(page, 0)
    choose(page, "A", 0)
    choose(page, "B", 1)
    assert [question(page, n)["systems"] for n in (1, 2)] == [["A"], ["B"]]
    reply(page, 2)
    reply(page, 1)
    assert translations(page) == {"A": ["ONE", "DOG"], "B": ["THE", "ONE"]}
    assert (undone(page), len(shown(page, ".chosen"))) == (2, 2)
    choose(page, "A", 1)
    shown(page, ".choices button")[1].click()  # the translation ends here
    reply(page, 3)
    assert translations(page)["A"] == ["ONE"]
    one(page, ".card > button").click()
    reply(page, 4)
    assert (translations(page)["A"], undone(page)) == (["THE", "DOG"], 1)


def test_the_end_of_a_cut_translation_without_choices_cannot_be_pressed(held):
    page = held()
    reply(page, 0, capped=True)
    ends = [card.find_element("css selector", ".end") for card in shown(page, ".card")]
    assert [end.is_enabled() for end in ends] == [False, False]


@pytest.mark.parametrize("number", [0, 1])
def test_a_choice_in_an_older_translation_asks_for_the_new_text(held, number):
    page = held()
    reply(page, 0)
    type_text(page, "a new text")
    question(page, 1)
    choose(page, "A", 0, number)
    assert question(page, 2) == {"text": "a new text", "systems": ["A", "B"], "prefix": []}
    reply(page, 1)
    reply(page, 2)
    assert [*translations(page).values()] == [["A", "NEW", "TEXT"]] * 2
    assert undone(page) == 0


def test_a_choice_leaves_the_keyboard_to_a_reader_who_types(held):
    page = held()
    reply(page, 0)
    choose(page, "A", 1)
    one(page, "#text").click()
    reply(page, 1)
    assert page.switch_to.active_element.get_attribute("id") == "text"
    choose(page, "B", 1)
    reply(page, 2)
    assert page.switch_to.active_element.get_attribute("data-place") == "1"


def test_after_a_failure_no_older_translation_is_compared(held):
    page = held()
    reply(page, 0)
    choose(page, "A", 0)
    reply(page, 1, 500)
    assert "failed" in one(page, "#note").text
    assert [*translations(page).values()] == [["THE", "DOG"]] * 2
    assert undone(page) == 0
    page.execute_script("location.hash = '#text=a%20cat'")
    reply(page, 2, 500)
    assert translations(page) == {}
    one(page, "#ready button").click()
    reply(page, 3, 429)
    reply(page, 4)  # asked again
    assert [*translations(page).values()] == [["THE", "DOG"]] * 2
    assert one(page, "#note").text == ""


@pytest.mark.parametrize(
    ("kind", "target", "reference", "text", "pieces", "right", "wrong"),
    [
        ("moses", "de", "Da, sagte er.", "Da, sagte er.", "Da , sagte er .", "3 of 3", ""),
        ("moses", "de", "Da, sagte er.", "Da. sagte er.", "Da . sagte er .", "2 of 3", "Da ."),
        ("sentencepiece", "de", "wir alle.", "wir aus.", "▁wir ▁ aus .", "1 of 2", "aus ."),
        ("sentencepiece", "zh", "我们喜欢狗。", "我们喜欢猫。", "▁我们 喜欢 猫 。", "5 of 6", "猫"),
        ("whitespace", "zh", "我们 喜欢 狗", "我们 喜欢 狗", "我们 喜欢 狗", "5 of 5", ""),
    ],
)
def test_words_of_the_text_are_compared(held, kind, target, reference, text, pieces, right, wrong):
    ready = [{"length": "1 word", "pairs": [{"source": "a", "reference": reference}]}]
    # An ensemble whose first model has no attention.
    page = held([{"name": "A", "kind": "fixed", "tokenization": kind}], target, ready)
    reply(page, 0, text=text, pieces=pieces.split(), source_length=401, source_read=250)
    card = one(page, ".card")
    assert f" {right} " in f" {card.text.replace(chr(10), ' ')} "
    marked = [one.text for one in card.find_elements("css selector", ".wrong button")]
    assert [word for word in marked if word] == wrong.split()
    assert ("Not in this translation" in card.text) == bool(wrong)
    assert "vector" not in card.text
    assert "250 of 401" in card.text


@pytest.mark.parametrize(
    ("target", "text", "key"), [("de", "ein Hund", "ARROW_RIGHT"), ("ar", "يرى كلبا", "ARROW_LEFT")]
)
def test_words_stand_in_the_order_of_their_script(held, target, text, key):
    page = held(target=target)
    reply(page, 0, text=text, pieces=text.split())
    words = page.find_elements("css selector", '.card[data-name="A"] [data-place]')
    places = [word.location["x"] for word in words]
    assert places == sorted(places, reverse=target == "ar")
    assert len(set(places)) == 3
    words[0].send_keys(getattr(Keys, key))
    assert page.switch_to.active_element.text == text.split()[1]
    page.execute_script("document.getElementById('text').value = arguments[0]", text)
    direction = "return getComputedStyle(document.getElementById('text')).direction"
    assert page.execute_script(direction) == ("rtl" if target == "ar" else "ltr")
