"""The page that the server sends, as a reader meets it. Skipped where there is no Chromium."""

import re
import signal
import subprocess

import pytest
from helpers.chromium import MARKS, chromium, one, shown
from helpers.commands import ROOT, quick
from helpers.tiny_translator import SENTENCES, save_tiny

from seq2seq.decoding.translator import Translator

pytest.importorskip("selenium")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
from selenium.webdriver.support.wait import WebDriverWait

pytestmark = MARKS
PIECES = """
return [...document.querySelectorAll(".card")].map((card) =>
  [...card.querySelectorAll(".said button:not(.end, .cut)")].map((piece) => piece.textContent));
"""


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


def enter(browser, text) -> list[list[str]]:
    change = (
        "const box = document.getElementById('text'); box.value = arguments[0];"
        "box.dispatchEvent(new Event('input'));"
    )
    browser.execute_script(change, text)
    done = """
    return document.getElementById("cards").getAttribute("aria-busy") === "false"
      && decodeURIComponent(document.getElementById("link").hash) === "#text=" + arguments[0];
    """
    WebDriverWait(browser, 300, 0.02).until(lambda _: browser.execute_script(done, text))
    return browser.execute_script(PIECES)


def test_the_page_shows_the_servers_answers_until_it_is_gone(browser, server, folders):
    process, address = server
    translators = [Translator.load(folder, precision="fp32") for folder in folders]
    browser.get_log("browser")
    browser.get(address)
    for text in SENTENCES:
        found = [translator.translate(text) for translator in translators]
        expected = [[piece.replace("▁", "") for piece in one.pieces] for one in found]
        assert enter(browser, text) == expected
    listed = translators[1].translate(text, choices=5).choices[2]
    browser.find_elements("css selector", ".card")[1].find_element(
        "css selector", '[data-place="2"]'
    ).click()
    number = next(n for n, (piece, _) in enumerate(listed[1:], 1) if piece[0] not in "<")
    shown(browser, ".choices button")[number].click()
    WebDriverWait(browser, 300, 0.02).until(lambda _: shown(browser, ".chosen"))
    prefix = [*found[1].pieces[:2], listed[number][0]]
    again = translators[1].translate(text, prefix=prefix)
    assert browser.execute_script(PIECES)[1] == [piece.replace("▁", "") for piece in again.pieces]
    assert browser.get_log("browser") == []
    enter(browser, "a" * 3_000)
    assert "text" in one(browser, "#note").text
    process.send_signal(signal.SIGINT)
    assert process.wait(300) == 0
    enter(browser, "a dog")
    assert one(browser, "#note").text.endswith("start it again.")
