"""The page as a reader meets it. Skipped where there is no Chromium to look at it with."""

import contextlib
import json
import shutil

import pytest
from test_page import page_of

selenium = pytest.importorskip("selenium")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.select import Select  # noqa: E402

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="there is no Chromium here"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # the driver's own sockets
]
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--window-size=1280,900",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    with contextlib.suppress(OSError):
        driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory, attending):
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_bytes(page_of(attending))
    return file.as_uri()


@pytest.fixture
def page(browser, address):
    """The page, freshly opened; at the end nothing has gone wrong and nobody was asked."""
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(address)
    yield browser
    assert browser.get_log("browser") == []
    messages = [json.loads(line["message"])["message"] for line in browser.get_log("performance")]
    asked = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
        and not message["params"]["documentURL"].startswith("chrome:")  # its own first tab
    ]
    assert address in asked  # the log does log
    assert all(url == address or url.startswith("data:") for url in asked)


def one(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def shown(browser, selector):
    """Elements that take up room."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].filter("
        "e => e.checkVisibility() && e.getBoundingClientRect().height > 0)",
        selector,
    )


def test_sentences_are_filtered_by_length_with_the_keyboard(page):
    everything = len(shown(page, ".sentence"))
    one(page, "#bucket").send_keys(Keys.ARROW_DOWN)
    assert {s.get_attribute("data-bucket") for s in shown(page, ".sentence")} == {"1-10"}
    count = len(shown(page, ".sentence"))
    assert one(page, "#shown").text == f"{count} sentences"
    Select(one(page, "#bucket")).select_by_value("")
    assert len(shown(page, ".sentence")) == everything > count


def test_without_its_script_the_page_has_everything(browser, address):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(address)
        assert shown(browser, ".script-only") == []
        assert len(shown(browser, ".sentence")) > 10
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
