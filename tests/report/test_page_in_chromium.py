"""The page as a reader meets it. Skipped where there is no Chromium to look at it with."""

import contextlib
import json
import shutil

import pytest
from page_material import HOSTILE, SETTINGS, material

from seq2seq.evaluation.systems import compare_systems
from seq2seq.report.findings import findings
from seq2seq.report.page.content import page_content
from seq2seq.report.page.render import render_page
from seq2seq.report.side_by_side import SideBySide

selenium = pytest.importorskip("selenium")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
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
def address(tmp_path_factory):
    root = tmp_path_factory.mktemp("page")
    evaluations = material(root / "material")
    comparison = compare_systems(evaluations, "fixed", SETTINGS)
    content = page_content(SideBySide.of(comparison, evaluations), findings(comparison))
    (root / "page.html").write_bytes(render_page(content))
    return (root / "page.html").as_uri()


@pytest.fixture
def page(browser, address):
    """The page, freshly opened; at the end nothing has gone wrong and nobody was asked."""
    for log in ("browser", "performance"):
        browser.get_log(log)
    look(browser)
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
    assert {url for url in asked if url != address} <= {"data:,"}


def look(browser, width=1280, scheme="light", medium=""):
    """Set the width of the window, the reader's theme, and screen or paper."""
    wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wishes.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium, "features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def one(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def shown(browser, selector):
    """Elements that take up room; the driver's own answer knows nothing of paper."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].filter("
        "e => e.checkVisibility() && e.getBoundingClientRect().height > 0)",
        selector,
    )


def background(browser):
    return browser.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_a_pointer_on_a_mark_opens_its_sentences(page):
    assert [panel.get_attribute("id") for panel in shown(page, ".bucket")] == ["bucket-s0-b0"]
    mark = one(page, "[data-key='s1-b2'] .shape")
    ActionChains(page).move_to_element(mark).perform()
    (panel,) = shown(page, ".bucket")
    assert panel.get_attribute("id") == "bucket-s1-b2"
    assert "sources of 21-30 words" in panel.text
    for word in ("BLEU", "interval", "loss", "perplexity", "Best sentences", "Worst sentences"):
        assert word in panel.text
    assert len(shown(page, ".bucket li")) == 6


def test_a_click_keeps_a_mark_until_another_one_lets_go(page):
    def point(key, click=False):
        actions = ActionChains(page).move_to_element(one(page, f"[data-key='{key}'] .shape"))
        (actions.click() if click else actions).perform()
        (panel,) = shown(page, ".bucket")
        return panel.get_attribute("id").removeprefix("bucket-")

    assert point("s1-b2", click=True) == "s1-b2"
    assert point("s0-b1") == "s1-b2"  # on the way to the sentences
    assert point("s0-b1", click=True) == "s0-b1"
    assert point("s0-b1", click=True) == "s0-b1"  # lets go
    assert point("s1-b2") == "s1-b2"


def test_the_keyboard_reaches_every_mark(page):
    marks = page.find_elements(By.CSS_SELECTOR, "#chart-bleu .mark[data-key]")
    assert sum(mark.get_attribute("tabindex") == "0" for mark in marks) == 1
    page.execute_script("document.querySelector('#lengths .scroll').focus()")
    keys = ActionChains(page)
    keys.send_keys(Keys.TAB).perform()
    focused = page.switch_to.active_element
    assert focused.get_attribute("data-key") == "s0-b0"
    assert focused.get_attribute("role") == "button"
    assert "n = " in focused.get_attribute("aria-label")
    visited = []
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_UP):
        ActionChains(page).send_keys(key).perform()
        visited.append(page.switch_to.active_element.get_attribute("data-key"))
        assert [p.get_attribute("id") for p in shown(page, ".bucket")] == [f"bucket-{visited[-1]}"]
    assert visited == ["s0-b1", "s1-b1", "s1-b0", "s1-b0", "s0-b0"]
    assert focused.get_attribute("aria-label").startswith("fixed, 1-10 words: ")
    assert "sentences are shown below" in one(page, "#point-said").get_attribute("textContent")


def test_maps_are_browsed_by_button_key_and_choice(page):
    choice = Select(one(page, "#map-line"))
    assert len(shown(page, "table.map")) == 2
    assert "This system does not attend" in one(page, "#map-systems").text
    first = one(page, "#map-source").text
    one(page, "#map-next").click()
    assert one(page, "#map-source").text != first
    assert one(page, "#map-said").get_attribute("textContent").startswith("Sentence 2 of ")
    one(page, "#map-next").send_keys(Keys.ARROW_LEFT)
    assert one(page, "#map-source").text == first
    assert one(page, "#map-previous").get_attribute("aria-disabled") == "true"
    one(page, "#map-previous").click()  # there is none before the first
    assert one(page, "#map-source").text == first
    choice.select_by_index(len(choice.options) - 1)
    data = json.loads(one(page, "#map-data").get_attribute("textContent"))[-1]
    system = data["systems"][1]
    cells = page.execute_script(
        "return [...document.querySelector('table.map').tBodies[0].rows].map("
        "row => [...row.cells].slice(1).map(cell => cell.textContent))"
    )
    assert cells == [[f"{weight / 1000:.3f}" for weight in row] for row in system["weights"]]
    words = page.execute_script(
        "return [...document.querySelectorAll('table.map')].map(t => t.caption.textContent)"
    )
    assert words == [f"BLEU {one['bleu']:.1f}" for one in data["systems"][1:]]


def test_a_weight_is_read_under_the_pointer(page):
    cell = one(page, "table.map tbody td")
    ActionChains(page).move_to_element(cell).perform()
    said = one(page, "#map-weight").text
    assert cell.get_attribute("title") in said
    assert "←" in said
    grey = page.execute_script("return arguments[0].style.backgroundColor", cell)
    level = round(255 * float(cell.get_attribute("textContent")))
    assert grey == f"rgb({level}, {level}, {level})"


def test_weights_are_read_by_the_keyboard_too(page):
    """Arrows in the box of a map go from cell to cell, and no farther than its edges."""
    system = json.loads(one(page, "#map-data").get_attribute("textContent"))[0]["systems"][1]
    page.execute_script("document.querySelector('#map-systems .scroll').focus()")
    place = (0, 0)
    moves = [
        *((Keys.ARROW_DOWN, (0, 0)), (Keys.ARROW_RIGHT, (0, 1)), (Keys.ARROW_DOWN, (1, 0))),
        *((Keys.ARROW_UP, (-1, 0)), (Keys.ARROW_UP, (0, 0)), (Keys.ARROW_LEFT, (0, -1))),
        (Keys.ARROW_LEFT, (0, 0)),
    ]  # the first key enters at the corner
    for key, (down, right) in moves:
        ActionChains(page).send_keys(key).perform()
        place = (place[0] + down, place[1] + right)
        words = system["words"][place[0]], system["sourceWords"][place[1]]
        weight = f"{system['weights'][place[0]][place[1]] / 1000:.3f}"
        expected = f"{system['name']}: {words[0]} ← {words[1]}: {weight}"
        assert one(page, "#map-weight").text == expected
        assert one(page, "#map-said").get_attribute("textContent") == expected


def test_colours_that_are_numbers_stay_where_the_system_picks_colours(page):
    features = [{"name": "forced-colors", "value": "active"}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    for cells in (".map tbody td", ".heat td[class]"):
        colours = page.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map("
            "cell => getComputedStyle(cell).backgroundColor)",
            cells,
        )
        assert len(set(colours)) > 3, cells


def test_samples_are_filtered_by_length(page):
    everything = len(shown(page, ".sample"))
    Select(one(page, "#sample-bucket")).select_by_value("11-20")
    assert {s.get_attribute("data-bucket") for s in shown(page, ".sample")} == {"11-20"}
    assert one(page, "#said").get_attribute("textContent") == "3 samples are shown."
    Select(one(page, "#sample-bucket")).select_by_value("")
    assert len(shown(page, ".sample")) == everything == 12


def test_the_theme_follows_the_reader_and_the_button(page):
    button = one(page, "#theme")
    assert (background(page), button.get_attribute("aria-pressed")) == (
        "rgb(255, 255, 255)",
        "false",
    )
    button.click()
    assert (background(page), button.get_attribute("aria-pressed")) == ("rgb(20, 22, 26)", "true")
    assert one(page, "#said").get_attribute("textContent") == "The page is dark now."
    button.click()
    assert background(page) == "rgb(255, 255, 255)"
    look(page, scheme="dark")
    page.refresh()
    assert background(page) == "rgb(20, 22, 26)"
    assert one(page, "#theme").get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(page, scheme):
    look(page, scheme=scheme)
    page.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    worst = page.execute_script(
        """
        const canvas = document.createElement("canvas")
          .getContext("2d", {willReadFrequently: true});
        const paint = (colours) => {
          canvas.clearRect(0, 0, 1, 1);
          for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
          return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
        };
        const light = (rgb) => rgb.map((c) => c / 255)
          .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
          .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
        const found = [];
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
          const element = walker.currentNode.parentElement;
          if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
          if (element.closest("script, .map tbody td, option")) continue;
          const behind = [];
          for (let e = element; e; e = e.parentElement) {
            behind.unshift(getComputedStyle(e).backgroundColor);
          }
          const style = getComputedStyle(element);
          const ink = element.closest("svg") ? style.fill : style.color;
          const [a, b] = [light(paint(behind)), light(paint([...behind, ink]))];
          const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          found.push([ratio, walker.currentNode.data.trim().slice(0, 30)]);
        }
        return found.sort((a, b) => a[0] - b[0])[0];
        """
    )
    assert worst[0] >= 4.5, worst


def test_a_narrow_screen_scrolls_in_boxes_only(page):
    look(page, width=360)
    page.refresh()
    Select(one(page, "#map-line")).select_by_index(11)
    page.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    width = page.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert width[0] <= width[1] <= 360
    boxes = page.find_elements(By.CSS_SELECTOR, ".scroll")
    assert all(box.get_attribute("tabindex") == "0" for box in boxes)
    wide = [box for box in boxes if int(box.get_property("scrollWidth")) > 360]
    assert wide


def test_paper_shows_everything_and_no_controls(page):
    Select(one(page, "#sample-bucket")).select_by_value("1-10")
    Select(one(page, "#map-line")).select_by_index(11)  # of 64 words
    look(page, width=800, medium="print", scheme="dark")
    assert page.execute_script("return document.documentElement.scrollWidth") <= 800
    for selector in ("button", "select", "nav", ".hint", "#buckets > summary"):
        assert shown(page, selector) == []
    assert "Other scores" in [summary.text for summary in shown(page, "summary")]
    for selector in (".bucket", ".sample", "details table"):
        every = page.find_elements(By.CSS_SELECTOR, selector)
        assert len(shown(page, selector)) == len(every) > 0
    assert background(page) == "rgb(255, 255, 255)"


def test_printing_opens_what_is_folded_and_folds_it_again(page):
    folded = "return [...document.querySelectorAll('details')].map(one => one.open)"
    before = page.execute_script(folded)
    page.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert all(page.execute_script(folded))
    page.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert page.execute_script(folded) == before
    assert not all(before)


def test_hostile_text_is_shown_as_it_is(page):
    texts = page.execute_script("return document.body.textContent")
    assert all(text in texts for text in HOSTILE)
    assert page.execute_script("return document.querySelectorAll('b').length") == 0


def test_without_its_script_the_page_has_all_but_the_maps(browser, address):
    look(browser)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(address)
        assert shown(browser, ".script-only") == []
        assert shown(browser, "#chart-bleu .mark") != []
        assert "The maps are drawn by the page's script" in one(browser, "noscript").text
        one(browser, "#buckets > summary").click()
        assert len(shown(browser, ".bucket")) == 12
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
