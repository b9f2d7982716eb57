"""Chromium, in which tests open pages as a reader does."""

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.contrast import contrast

CHROMIUM, *_ = (*filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
DRIVER = shutil.which("chromedriver")
MARKS = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM or not DRIVER, reason="there is no Chromium here"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # the driver's own sockets
]
FLAGS = ["headless=new", "no-sandbox", "disable-gpu", "no-first-run", "disable-component-update"]
FLAGS += ["disable-background-networking", "disable-sync", "window-size=1280,900"]
SHOWN = """
return [...document.querySelectorAll(arguments[0])].filter(
  (e) => e.checkVisibility() && e.getBoundingClientRect().height > 0);
"""
COLOURS = """
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
    for flag in (*FLAGS, f"user-data-dir={profile}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    with contextlib.suppress(OSError):
        driver.quit()


def one(browser, selector: str):
    return browser.find_element("css selector", selector)


def shown(browser, selector: str) -> list:
    """Elements that take up room."""
    return browser.execute_script(SHOWN, selector)


def until(browser, condition: Callable[[], object]) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, 300, 0.02).until(lambda _: condition())


def require_legible(browser, *shades: str) -> None:
    """Require that a phone shows all, that text stands out, and that shades are printed.

    Text stands out from its background in both themes; browsers leave out most backgrounds.
    """
    phone = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
    found = set()
    for _ in range(2):
        one(browser, "#theme").click()
        for name, *colours in browser.execute_script(COLOURS):
            assert contrast(*map(_shares, colours)) >= 4.5, (name, colours)
            found.add(colours[1])
    assert len(found) >= 4  # both themes were seen
    for selector in shades:
        assert one(browser, selector).value_of_css_property("print-color-adjust") == "exact"


def _shares(colour: str) -> list[float]:
    most = 1 if colour.startswith("color(srgb ") else 255
    return [float(part) / most for part in re.findall(r"[\d.]+", colour)[:3]]
