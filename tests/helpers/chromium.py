"""Chromium, in which tests open pages as a reader does."""

import base64
import contextlib
import re
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.contrast import contrast

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
DRIVER = shutil.which("chromedriver")
MARKS = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="there is no Chromium here"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # the driver's own sockets
]
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--window-size=1280,900",
)
CONTRAST = """
const grounds = (e) => { for (; e; e = e.parentElement) {
  const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } };
return [...document.querySelectorAll("body *:not(svg *)")].filter((e) => e.checkVisibility()
  && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
  .map((e) => [e.tagName + "." + e.className, getComputedStyle(e).color, grounds(e)]);
"""


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator:
    """Start a browser; yield its driver, which logs the warnings and errors of pages."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    with contextlib.suppress(OSError):
        driver.quit()


def one(browser, selector):
    return browser.find_element("css selector", selector)


def shown(browser, selector):
    """Elements that take up room."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].filter("
        "e => e.checkVisibility() && e.getBoundingClientRect().height > 0)",
        selector,
    )


def resize(browser, width, height):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


TRANSLATED = """
const link = document.getElementById("link");
const text = arguments[0] ?? document.getElementById("text").value;
return document.getElementById("cards").getAttribute("aria-busy") === "false"
  && decodeURIComponent(link.hash) === "#text=" + text.trim().replace(/\\s+/g, " ");
"""


def wait(browser, text=None):
    """Wait until the text (by default the one in the box) is translated."""
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, 300, 0.02).until(lambda _: browser.execute_script(TRANSLATED, text))


def type_text(browser, text):
    change = "const box = document.getElementById('text'); box.value = arguments[0];"
    browser.execute_script(change + "box.dispatchEvent(new Event('input'));", text)


def translations(browser) -> dict[str, list[str]]:
    """The words or pieces of each system's translation."""
    read = """return [...document.querySelectorAll(".card")].map((card) => [card.dataset.name,
      [...card.querySelectorAll(".said button:not(.end, .cut)")].map((word) => word.textContent)]);
    """
    return dict(browser.execute_script(read))


def enter(browser, text) -> dict[str, list[str]]:
    """Enter a text, and return its translations."""
    type_text(browser, text)
    wait(browser, text)
    return translations(browser)


def require_printed(browser, selector):
    """Require that the elements' backgrounds are printed; browsers leave out most backgrounds."""
    names = ("accent", "page", "raised", "first")
    rules = "".join(f"--{name}: rgb(51, 102, 153) !important;" for name in names)
    add = "document.head.append(document.createElement('style')); "
    add += "document.head.lastElementChild.textContent = arguments[0]"
    browser.execute_script(add, f"{selector} {{ {rules} }}")
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    fills = b""
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", printed, re.DOTALL):
        with contextlib.suppress(zlib.error):
            fills += zlib.decompress(stream)
    assert b".2 .4 .6 rg" in fills, selector


def require_contrast(browser) -> set[str]:
    """Require that all text stands out from its background; return the backgrounds' colours."""

    def shares(colour):
        most = 1 if colour.startswith("color(srgb ") else 255
        return [float(part) / most for part in re.findall(r"[\d.]+", colour)[:3]]

    found = set()
    for name, ink, ground in browser.execute_script(CONTRAST):
        assert contrast(shares(ink), shares(ground)) >= 4.5, (name, ink, ground)
        found.add(ground)
    return found
