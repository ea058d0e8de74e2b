"""The live page, in a real browser."""

import json
import os
import random
import re
import statistics
import subprocess
import sys
import threading
import types
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from oddarm.options import OPTIONS
from oddarm.service import Client
from oddarm.service.page import FILES
from oddarm.service.tokens import ROLES
from support.chromium_browser import ChromiumMissingError, start_chromium
from support.serving import serving

TOKEN = "0123456789abcdef"
RATES = {f"host-{i:02}": 0.05 for i in range(20)} | {"host-07": 0.9, "host-13": 0.95}
PATIENCE = 30
HEAD, ROW = 24, 20  # of the chart, in pixels


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """A headless browser; tests skip without one."""
    try:
        driver = start_chromium(tmp_path_factory.mktemp("profile"))
    except ChromiumMissingError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """The path of the database behind the service."""
    return tmp_path_factory.mktemp("studies") / "studies.db"


@pytest.fixture(scope="module")
def url(database):
    """The address of a service without a token."""
    with serving("--storage", database) as (_, address):
        yield address


class Page:
    """What a person does with the page."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address):
        """Load a page anew."""
        self.driver.get("about:blank")
        self.driver.get(address)

    def find(self, selector):
        """Return the first element that a CSS selector names."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        """Return what an element shows, at one moment."""
        script = "const e = document.querySelector(arguments[0]);"
        script += "return e?.checkVisibility() ? e.innerText : ''"
        return self.driver.execute_script(script, selector)

    def wait(self, condition, what):
        """Wait until something holds."""
        WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05).until(
            lambda _: condition(), f"waited for {what}"
        )

    def wait_for(self, selector, words):
        """Wait until an element shows some words."""
        self.wait(lambda: words in self.text(selector), f"{words!r} in {selector}")

    def create(self, name, arms, **fields):
        """Fill in the form and send it."""
        self.wait_for("#studies-title", "Studies")
        self.find("#new-study").click()
        self.wait(lambda: self.find("[name=delta]").get_attribute("value"), "the form's choices")
        self.driver.execute_script("document.getElementById('more-fields').open = true")
        for key, value in {"name": name, "arms": arms, **fields}.items():
            if key == "rule":
                self.find(f"#create [value={value}]").send_keys(Keys.SPACE)
                continue
            field = self.find(f"#create [name={key}]")
            if field.tag_name != "select":
                field.clear()
            field.send_keys(value)
        if "until" not in fields:
            assert self.find("#create [name=until]").get_attribute("value") == ""
        self.find("#create [type=submit]").click()

    def at_width(self, width, height=1200, **more):
        """Have the browser show pages as wide as a phone, or a screen."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False, **more}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def focused(self):
        """Return the id of the element that has the focus, or its value."""
        element = self.driver.switch_to.active_element
        return element.get_attribute("id") or element.get_attribute("value")

    def press(self, *keys):
        """Press keys where the focus is."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def picture(self):
        """Return the canvas as data, once what the page knows is drawn."""
        drawn = "const done = arguments[0];"
        drawn += "requestAnimationFrame(() => requestAnimationFrame(() => done("
        drawn += "document.getElementById('chart').toDataURL())))"
        return self.driver.execute_async_script(drawn)

    def move_pointer_away(self):
        """Move the pointer to the corner of the window, where nothing is."""
        actions = ActionBuilder(self.driver)
        actions.pointer_action.move_to_location(0, 0)
        actions.perform()

    def point_at(self, place):
        """Move the pointer onto the row of a place in the chart."""
        chart = self.find("#chart")
        middle = chart.rect["height"] / 2
        y = round(HEAD + ROW * (place + 0.5) - middle)
        ActionChains(self.driver).move_to_element_with_offset(chart, 0, y).perform()

    def pulls(self):
        """Return the pulls that the page shows."""
        return int(self.text("#facts dd").splitlines()[0].replace(",", ""))

    def gaps(self):
        """Return how wide the certain gaps of the chart are, as its legend says."""
        found = re.search("certain, (.+)", self.text("#legend"))
        return found[1].split(" and ") if found else []

    def shaded(self):
        """Return from where to where the chart is shaded, as shares of its axis."""
        first, last, width = self.driver.execute_async_script(SHADED)
        left, right = 160, width - 176  # where the axis lies between names and pulls
        return (first - left) / (right - left), (last - left) / (right - left)

    def certified(self):
        """Return how wide the gap is at least by the first certificate, as it says."""
        return self.text(".certificate dd")

    def media(self, **features):
        """Have the browser prefer, for instance, dark colours."""
        values = [{"name": name.replace("_", "-"), "value": v} for name, v in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": values})

    def errors(self):
        """Return what the console complains of."""
        return [
            line["message"]
            for line in self.driver.get_log("browser")
            if line["level"] == "SEVERE" or "Security" in line["message"]
        ]


@pytest.fixture
def page(chromium):
    """The browser, with nothing left over from an earlier test."""
    chromium.get_log("browser")
    page = Page(chromium)
    page.move_pointer_away()
    yield page
    page.media()
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.get("about:blank")


@contextmanager
def worker(url, name, reward, limit, wait=0.02):
    """Ask and tell in a thread until the study is done or the test is over."""
    stop = threading.Event()
    client = Client(url)

    def work():
        while not stop.is_set():
            pulls, status = client.ask(name, limit)
            if status == "done":
                return
            if pulls:
                client.tell(name, {pull.id: reward(pull.arm) for pull in pulls})
            stop.wait(wait)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_study_from_its_making_to_its_end(page, url):
    """A study made in the form is watched to its end, paused and resumed on the way."""
    rng = random.Random(1)
    page.open(url)
    page.create("latency", "\n".join(RATES), max_outliers="2", delta="0.05", until="found")
    page.wait_for("#study-title", "latency")
    page.wait_for("#connection", "live")
    page.wait_for("#legend", "undecided (20)")
    before = page.picture()
    with worker(url, "latency", lambda arm: int(rng.random() < RATES[arm]), 20):
        page.wait(lambda: page.pulls() > 100, "pulls")
        page.wait(lambda: page.picture() != before, "another picture")
        page.find("#pause").click()
        page.wait_for("#status", "paused")
        page.wait_for("#pause", "Resume")
        assert Client(url).info("latency")["status"] == "paused"
        assert Client(url).ask("latency", 5) == ([], "paused")
        held = page.pulls()
        page.find("#pause").click()
        page.wait_for("#status", "running")
        page.wait(lambda: page.pulls() > held, "more pulls")
        page.wait_for("#status", "done")
    page.wait_for("#summary", " stand apart, above the other 18 arms by at least 0.")
    assert not page.find("#pause").is_displayed()
    declared = page.text("#declared .members").split()
    assert sorted(declared) == ["host-07", "host-13"]
    certificate = page.text(".certificate.confirmed")
    for words in ("Gap, at least", "Rest, at most", "Largest ε confirmed"):
        assert words in certificate
    assert page.gaps() == [page.certified()]
    assert page.pulls() == Client(url).info("latency")["pulls"]
    page.wait_for("#limit", f"if the means are those seen after {page.pulls():,} pulls.")
    told = (
        r"Any method needs at least ([\d,]+) pulls on average, .*This study took (.+) times that\."
    )
    least, times = re.fullmatch(told, page.text("#limit")).groups()
    assert page.pulls() / int(least.replace(",", "")) == pytest.approx(float(times), rel=0.1)
    assert "Pulls per second" not in page.text("#facts")
    assert page.errors() == []


SHADED = """
const done = arguments[0];
requestAnimationFrame(() => requestAnimationFrame(() => {  // what the page knows is drawn by then
  const chart = document.getElementById("chart");
  const beneath = chart.height - 36 * devicePixelRatio;  // the last row
  const { data } = chart.getContext("2d").getImageData(0, beneath, chart.width, 1);
  const red = [...Array(chart.width).keys()].filter((x) => data[4 * x] - data[4 * x + 2] > 20);
  const [first, last] = red.length ? [red[0], red.at(-1) + 1] : [0, 0];
  done([first / devicePixelRatio, last / devicePixelRatio, chart.clientWidth]);
}));
"""


def test_the_gap_is_the_certificates(page, url):
    """The chart shades the gap that the certificate tells of, though intervals reach into it."""
    client = Client(url)
    client.create("pairs", ["ams", "fra", "lhr", "gru"], max_outliers=1, until="found")
    page.open(f"{url}/#/study/pairs")
    for k in range(15):
        for arm in ("ams", "fra", "lhr", "gru"):
            client.tell_arm("pairs", arm, [int((k == 9) != (arm == "gru"))], key=f"{arm} {k}")
    page.wait_for("#summary", "after 60 pulls")
    with urllib.request.urlopen(f"{url}/studies/pairs/view", timeout=PATIENCE) as answer:
        view = json.load(answer)
    least, most = min(view["low"]), max(view["high"])
    (gap,) = view["gaps"]
    assert max(view["high"][:3]) > view["low"][3]
    assert page.gaps() == [page.certified()] == [f"{gap['width']:.3f}"]
    drawn = [least + share * (most - least) for share in page.shaded()]
    assert drawn == pytest.approx([gap["from"], gap["to"]], abs=0.005)
    assert page.errors() == []


def test_what_is_in_hand_stays(page, url):
    """While a study goes on, focus stays where it is and text that is selected stays selected."""
    client = Client(url)
    client.create("held", ["ams", "fra", "lhr", "gru"], max_outliers=1, until="found")

    def tell(times):
        for k in range(times):
            for arm in ("ams", "fra", "lhr", "gru"):
                pulls = client.info("held")["pulls"]
                client.tell_arm("held", arm, [int((k == 9) != (arm == "gru"))], key=str(pulls))

    tell(15)
    page.open(f"{url}/#/study/held")
    page.wait_for("#declared", "gru")
    button = page.find("#declared button")
    select = "getSelection().selectAllChildren(document.querySelector('#facts dt'))"
    page.driver.execute_script(f"arguments[0].focus(); {select}", button)
    tell(4)
    page.wait(lambda: page.pulls() == 76, "more pulls")
    assert page.driver.switch_to.active_element == button
    assert page.driver.execute_script("return String(getSelection())") == "Pulls"
    button.send_keys(Keys.ENTER)
    page.wait_for("#reading", "gru: mean 0.9")
    assert page.find("#reading").get_attribute("aria-live") == "polite"
    tell(1)
    page.wait(lambda: page.pulls() == 80, "more pulls")
    assert page.find("#reading").get_attribute("aria-live") == "off"
    assert page.errors() == []


def test_best_guess(page, url):
    """Before anything is decided, the page names and marks the best guess, and has its odds."""
    client = Client(url)
    client.create("guess", ["ams", "fra", "lhr", "gru"], max_outliers=1, until="found")
    for arm in ("ams", "fra", "lhr", "gru"):
        client.tell_arm("guess", arm, [int(arm == "gru")] * 9, key=arm)
    page.open(f"{url}/#/study/guess")
    page.wait_for("#summary", "Best guess after 36 pulls: ")
    page.wait_for("#legend", "candidate (1)")
    assert page.text("#declared-title") == "Best guess"
    assert page.text("#declared .members") == "gru"
    assert "asked for 20 : 1" in page.text("#facts")
    page.find("#table summary").click()
    page.wait_for("#table tr.candidate", "gru")
    assert page.errors() == []


def test_none_stands_apart(page, url):
    """A study that ends with none says so in the list and above the chart, and marks no arm."""
    client = Client(url)
    client.create("even", ["a", "b", "c"], max_outliers=1, delta=0.1, slack=0)
    for k in range(48):
        for arm, reward in (("a", 0), ("b", k % 2), ("c", 1)):
            client.tell_arm("even", arm, [reward], key=f"{arm} {k}")
    page.open(url)
    page.wait_for("#studies-table", "no outliers")
    page.find("#studies-table a[href$=even]").send_keys(Keys.ENTER)
    page.wait_for("#summary", "None of 3 arms stands apart")
    assert page.driver.switch_to.active_element.get_attribute("id") == "main"
    assert "no outliers" in page.text("#facts")
    assert "widest gap that is certain, " in page.text("#legend")
    assert "outlier" not in page.text("#legend")
    assert page.text("#declared").startswith("There are none.")
    assert page.errors() == []


FRAMES = """
window.frames_seen = [];
const step = (at) => {
  if (window.frame_before) window.frames_seen.push(at - window.frame_before);
  window.frame_before = at;
  window.frame_request = requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""


def test_two_thousand_arms(page, url, capsys):
    """At 2,000 arms the picture follows the study; how long frames take is printed."""
    page.open(url)
    page.create("many", "2000", max_outliers="3", max_pulls="60000", until="ranked")
    page.wait_for("#legend", "undecided (2,000)")
    page.driver.execute_script(FRAMES)
    client = Client(url)
    pictures = [page.picture()]
    for told in range(2000, 8000, 2000):
        pulls, _ = client.ask("many", 2000)
        client.tell("many", {pull.id: int(pull.arm in (5, 600, 1999)) for pull in pulls})
        page.wait(lambda: page.pulls() == told, f"{told:,} pulls")  # noqa: B023
        pictures.append(page.picture())
    assert len(set(pictures)) == 4
    with worker(url, "many", lambda arm: int(arm in (5, 600, 1999)), 2000, wait=0.3):
        page.wait_for("#status", "done")
    seen = page.driver.execute_script(
        "cancelAnimationFrame(frame_request); return window.frames_seen"
    )
    with capsys.disabled():
        middle, worst = statistics.median(seen), sorted(seen)[int(0.99 * len(seen))]
        print(f"\n2,000 arms: a frame takes {middle:.1f} ms, 99 % take {worst:.1f} ms", end=" ")  # noqa: T201
    assert sorted(page.text("#declared .members").split()) == ["1999", "5", "600"]
    ActionChains(page.driver).move_to_element(page.find("#chart")).perform()
    page.wait_for("#tip", "mean 0.0")
    page.find("#zoom").click()
    page.find("#find").send_keys("1234")
    page.wait_for("#reading", "1 arm found. 1234: mean 0.0")
    assert page.driver.execute_script("return document.getElementById('scroll').scrollTop") > 0
    page.find("#table summary").click()
    page.wait_for("#page-of", "1 to 100 of 2,000")
    page.find("#later").click()
    page.wait_for("#page-of", "101 to 200 of 2,000")
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#table tbody tr")) == 100
    assert page.errors() == []


def test_names_are_text(page, url):
    """Names with markup, and the reasons of failed arms, are shown as they are."""
    bad = "<script>window.hacked = 1</script>"
    image = '<img src="x" onerror="window.hacked = 2">'
    page.open(url)
    page.create("markup", f"{bad}\n{image}\nc\nd", max_outliers="1")
    page.wait_for("#study-title", "markup")
    for arm, rewards in ((bad, [1] * 500), (image, [0] * 500), ("c", [0] * 500), ("d", [0] * 500)):
        Client(url).tell_arm("markup", arm, rewards, key=arm)
    page.wait_for("#status", "done")
    page.wait_for("#declared", bad)
    page.find("#table summary").click()
    page.wait_for("#table tbody", image)
    page.find("#chart").send_keys(Keys.HOME)
    page.wait_for("#reading", f"{bad}: mean 1.0")
    assert page.text("#tip").startswith(bad)
    assert page.driver.execute_script("return window.hacked") is None
    assert page.errors() == []


HOME = """
const chart = document.getElementById("chart");
chart.focus();
chart.dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }));
return ["reading", "tip"].map((id) => document.getElementById(id).innerText);
"""


def test_the_tip_says_what_the_text_says(page, url):
    """The tip of a chosen arm comes with the text below, not with the next picture."""
    client = Client(url)
    client.create("tip", ["low", "high", "middle"], max_outliers=1)
    client.tell_arm("tip", "high", [1, 1], key="1")
    page.open(f"{url}/#/study/tip")
    page.wait_for("#summary", "after 2 pulls")
    reading, tip = page.driver.execute_script(HOME)
    assert reading.startswith("high: mean 1.0")
    assert tip.startswith("high\nmean 1.0")
    assert page.errors() == []


def test_the_tip_under_the_pointer_follows_the_data(page, url):
    """A tip under a pointer that rests stays with its arm, has its new numbers, and moves along."""
    client = Client(url)
    client.create("resting", ["a", "b", "c"], max_outliers=1)
    for arm, reward in (("a", 1), ("b", 0), ("c", 0)):
        client.tell_arm("resting", arm, [reward], key=arm)
    page.open(f"{url}/#/study/resting")
    page.wait_for("#summary", "after 3 pulls")
    page.point_at(0)
    page.wait_for("#tip", "a\nmean 1.0")
    before = page.find("#pointed").rect["y"]
    client.tell_arm("resting", "b", [1, 1, 1, 1], key="b again")
    page.wait_for("#summary", "after 7 pulls")
    assert "1 pull," in page.text("#tip")
    client.tell_arm("resting", "a", [0, 0, 0], key="a again")
    page.wait_for("#summary", "after 10 pulls")
    assert page.text("#tip").startswith("a\nmean 0.25")
    assert page.find("#pointed").rect["y"] == pytest.approx(before + ROW, abs=1)
    assert page.errors() == []


LIMIT_HELD = """
const real = window.fetch;
window.fetch = async (path, options) => {
  const answer = await real(path, options);
  if (!path.endsWith("/view") || window.limit_may_come) return answer;
  const limit = { pulls: null, after: null, reason: "The limit is being computed.", pending: true };
  return Response.json({ ...(await answer.json()), limit });
};
"""
BOXES = """
const boxes = ["scroll", "chart", "pointed", "tip", "table"].map((id) => {
  const { x, y, width, height } = document.getElementById(id).getBoundingClientRect();
  return [id, x, y, width, height];
});
return [...boxes, scrollY, document.documentElement.scrollHeight];
"""


@pytest.mark.parametrize("width", [1200, 400])
def test_nothing_moves_when_the_limit_arrives(page, url, width):
    """The chart stays in its place, wide and narrow, and so does the tip under the pointer."""
    client, name = Client(url), f"still-{width}"
    client.create(name, ["ams", "fra", "lhr", "gru"], max_outliers=1)
    for arm in ("ams", "fra", "lhr", "gru"):
        client.tell_arm(name, arm, [int(arm == "gru")] * 3, key=arm)
    page.at_width(width)
    held = {"source": LIMIT_HELD}
    script = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", held)
    try:
        page.open(f"{url}/#/study/{name}")
        page.wait_for("#limit", "The limit is being computed.")
        page.wait_for("#connection", "live")
        page.picture()
        page.point_at(1)
        page.wait_for("#tip", "\nmean 0.0")
        before, tip = page.driver.execute_script(BOXES), page.text("#tip")
        assert before[1][4] > 0
        page.driver.execute_script("window.limit_may_come = true")
        page.wait_for(
            "#limit", "if the means are those seen after 12 pulls. So far this study took "
        )
        page.picture()  # by then the browser has seen what lies under the pointer
        assert page.driver.execute_script(BOXES) == before
        assert page.text("#tip") == tip
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    assert page.errors() == []


def test_the_pointer_before_the_first_picture(page, url):
    """A pointer that moves before the chart is drawn, as after a change of studies, gets a tip."""
    client = Client(url)
    for name, arms in (("first", 3), ("second", 12)):
        client.create(name, arms, max_outliers=1)
    held = "window.requestAnimationFrame = () => 1"
    script = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": held})
    try:
        page.open(f"{url}/#/study/first")
        page.wait_for("#study-title", "first")
        page.point_at(0)
        page.wait_for("#tip", "0\n")
        page.driver.get(f"{url}/#/study/second")
        page.wait_for("#study-title", "second")
        page.point_at(11)
        page.wait_for("#tip", "11\n")
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    assert page.errors() == []


def test_arms_set_aside(page, url):
    """A failed arm is shown with its reason, and the others' gap is still marked."""
    client = Client(url)
    client.create("aside", ["a", "b", "c", "d", "e"], max_outliers=1, strategy="gold")
    for arm in "abcd":
        client.tell_arm("aside", arm, [1], key=arm)
    page.open(f"{url}/#/study/aside")
    page.wait_for("#legend", "undecided (5)")
    assert client.set_aside("aside", "e", "<b>no route</b> to host")
    page.wait_for("#errors", "e: <b>no route</b> to host")
    assert "failed (1)" in page.text("#legend")
    assert "widest gap between means" in page.text("#legend")
    assert page.errors() == []


def test_the_keyboard_alone(page, url):
    """Everything can be reached and read with the keyboard."""
    client = Client(url)
    client.create("keys", ["low", "middle", "high"], max_outliers=1)
    for arm, rewards in (("low", [0, 0]), ("middle", [0, 1]), ("high", [1, 1])):
        client.tell_arm("keys", arm, rewards, key=arm)
    page.open(f"{url}/#/study/keys")
    page.wait_for("#summary", "after 6 pulls")
    focused = []
    for _ in range(12):
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
        focused.append(page.driver.switch_to.active_element)
    names = [one.get_attribute("id") for one in focused]
    assert names.index("pause") < names.index("find") < names.index("chart")
    chart = focused[names.index("chart")]
    chart.send_keys(Keys.HOME)
    page.wait_for("#reading", "high: mean 1.0")
    chart.send_keys(Keys.ARROW_DOWN)
    page.wait_for("#reading", "middle: mean 0.5")
    chart.send_keys(Keys.END, Keys.ARROW_UP, Keys.ARROW_DOWN)
    page.wait_for("#reading", "low: mean 0.0")
    chart.send_keys(Keys.ESCAPE)
    page.wait(lambda: page.text("#reading") == "", "nothing chosen")
    assert "3 arms by mean" in chart.get_attribute("aria-label")
    focused[names.index("pause")].send_keys(Keys.ENTER)
    page.wait_for("#status", "paused")
    assert page.errors() == []


def test_dark_and_narrow(page, url, tmp_path):
    """In the dark and on a phone, nothing is cut off and colours follow."""
    client = Client(url)
    client.create("narrow", ["n" * 200, "b", "c"], max_outliers=1)
    client.tell_arm("narrow", "b", [1, 0], key="b")
    page.media(prefers_color_scheme="light", prefers_reduced_motion="reduce")
    page.open(f"{url}/#/study/narrow")
    page.wait_for("#summary", "after 2 pulls")
    colour = "return getComputedStyle(document.body).backgroundColor"
    assert page.driver.execute_script(colour) == "rgb(255, 255, 255)"
    bright = page.picture()
    page.media(prefers_color_scheme="dark")
    page.wait(lambda: page.picture() != bright, "a dark picture")
    page.wait(lambda: page.driver.execute_script(colour) != "rgb(255, 255, 255)", "a dark page")
    assert page.driver.execute_script(colour) == "rgb(20, 23, 26)"
    page.at_width(390, 844, deviceScaleFactor=2, mobile=True)
    size = "const c = document.getElementById('chart'); return [c.width, c.clientWidth]"

    def sharp_and_narrow():
        wide, shown = page.driver.execute_script(size)
        return shown < 390 and wide == 2 * shown

    page.wait(sharp_and_narrow, "a narrow picture with two pixels for each")
    for address, shown in ((f"{url}/#/study/narrow", "#summary"), (f"{url}/#/", "#studies-table")):
        page.driver.get(address)
        page.wait(lambda: page.text(shown), shown)  # noqa: B023
        overflow = "return document.documentElement.scrollWidth"
        assert page.driver.execute_script(overflow) <= 390
        assert page.driver.save_screenshot(str(tmp_path / "shot.png"))
        assert (tmp_path / "shot.png").stat().st_size > 5000
    assert page.errors() == []


def test_a_token(page, tmp_path):
    """With a token, the page asks for it, says when it is wrong, and keeps it for the tab."""
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    with serving("--storage", tmp_path / "s.db", "--token-file", file) as (_, url):
        client = Client(url, TOKEN)
        client.create("hidden", ["a", "b", "c"], max_outliers=1)
        page.open(f"{url}/#/study/hidden")
        page.wait_for("#token", "This service needs a token")
        field = page.find("#token input")
        field.send_keys("fedcba9876543210", Keys.ENTER)
        page.wait_for("#token-error", "The service refused this token.")
        field.send_keys(TOKEN, Keys.ENTER)
        page.wait_for("#summary", "after 0 pulls")
        page.wait_for("#connection", "live")
        client.tell_arm("hidden", "a", [1, 0], key="k")
        page.wait_for("#summary", "after 2 pulls")
        page.driver.refresh()
        page.wait_for("#summary", "after 2 pulls")
        folder = tmp_path / "files"
        folder.mkdir()
        page.driver.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)}
        )
        page.find("#downloads a").click()
        page.wait((folder / "hidden.jsonl").exists, "a download")
        first, _ = (folder / "hidden.jsonl").read_text().splitlines()
        assert json.loads(first)["arm"] == "a"
        assert [line for line in page.errors() if "401" not in line] == []


@pytest.mark.parametrize("role", ROLES)
def test_roles(page, tmp_path, role):
    """Everybody sees the studies; buttons that the service would refuse are shown to no one."""
    file = tmp_path / "tokens"
    file.write_text(f"admin ada fedcba9876543210\n{role} me {TOKEN}\n")
    file.chmod(0o600)
    with serving("--storage", tmp_path / "s.db", "--token-file", file) as (_, url):
        Client(url, "fedcba9876543210").create("shared", ["a", "b", "c"], max_outliers=1)
        page.open(url)
        page.wait_for("#token", "This service needs a token")
        page.find("#token input").send_keys(TOKEN, Keys.ENTER)
        page.wait_for("#studies-table", "shared")
        known = "return document.documentElement.dataset.role"
        page.wait(lambda: page.driver.execute_script(known) == role, "the role")
        assert bool(page.text("#new-study")) == (role == "admin")
        page.open(f"{url}/#/study/shared")
        page.wait_for("#summary", "after 0 pulls")
        page.wait(lambda: page.driver.execute_script(known) == role, "the role")
        assert bool(page.text("#pause")) == bool(page.text("#delete")) == (role == "admin")
        assert [line for line in page.errors() if "401" not in line] == []


def test_the_service_goes_away(page, tmp_path):
    """When the service dies the page says so, and goes on when it is back."""
    storage = tmp_path / "s.db"
    with serving("--storage", storage) as (_, url):
        Client(url).create("demo", ["a", "b", "c"], max_outliers=1)
        page.open(f"{url}/#/study/demo")
        page.wait_for("#connection", "live")
        page.wait_for("#study-title", "demo")  # the study comes by a request of its own
    page.wait_for("#connection", "disconnected, retrying")
    assert page.text("#study-title") == "demo"
    with serving("--storage", storage, port=int(url.rsplit(":", 1)[1])) as (_, url):
        page.wait_for("#connection", "live")
        Client(url).tell_arm("demo", "a", [1, 0], key="k")
        page.wait_for("#summary", "after 2 pulls")
    assert [line for line in page.errors() if "net::ERR" not in line] == []


def test_events_that_do_not_come_through(page, url):
    """Where a proxy holds back events, the page asks again and again."""
    Client(url).create("polled", ["a", "b", "c"], max_outliers=1)
    held = """
        const real = window.fetch;
        window.fetch = (path, options) => !path.endsWith("/events") ? real(path, options)
            : new Promise((_, reject) => options.signal.addEventListener("abort", reject));
    """
    script = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": held})
    try:
        page.open(f"{url}/#/study/polled")
        page.wait_for("#connection", "live, by polling")
        Client(url).tell_arm("polled", "a", [1, 0], key="k")
        page.wait_for("#summary", "after 2 pulls")
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    assert page.errors() == []


def test_a_service_that_is_slow_to_begin(page, url):
    """Where the first events do not come in time and later ones do, the page follows these."""
    Client(url).create("slow", ["a", "b", "c"], max_outliers=1)
    held = """
        const real = window.fetch;
        let asked = 0;
        window.fetch = (path, options) => !path.endsWith("/events") || asked++ ? real(path, options)
            : new Promise((_, reject) => options.signal.addEventListener("abort", reject));
    """
    script = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": held})
    try:
        page.open(f"{url}/#/study/slow")
        page.wait(lambda: page.text("#connection") == "live", "events")
        Client(url).tell_arm("slow", "a", [1, 0], key="k")
        page.wait_for("#summary", "after 2 pulls")
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    assert page.errors() == []


def test_what_is_refused(page, url):
    """What the service refuses is said in its words; a study that is not there, in the page's."""
    Client(url).create("taken", 20)
    page.open(url)
    page.wait_for("#studies-table", "taken")
    page.create("taken", "a\nb\nc", max_outliers="1")
    page.wait_for("#create-error", "'taken'")
    page.find("#create-cancel").click()
    page.create("other", "a\nb\na", max_outliers="1")
    page.wait_for("#create-error", "arm 'a' is named twice")
    page.find("#create-cancel").click()
    page.create("ranged", "a\nb\nc", rewards="numbers in a range", low="2", high="8")
    page.wait_for("#study-title", "ranged")
    made = Client(url).result("ranged")["provenance"]
    assert (made["rewards"]["minimum"], made["rewards"]["maximum"]) == (2, 8)
    page.driver.get(f"{url}/#/study/nowhere")
    page.wait_for("#failure", "There is no study “nowhere”")
    page.find("#crumb a").click()
    page.wait_for("#studies-table", "taken")
    assert [line for line in page.errors() if not re.search("40[49]|422", line)] == []


LABELS = """
const [names, rooms, done] = arguments;
import(new URL("names.js", location.href)).then(({ labelsOf }) => {
  const widthOf = (text) => [...text].length;
  done(rooms.map((room) => labelsOf(names, widthOf, room)));
});
"""


def test_names_that_differ_at_their_ends(page, url):
    """Names are cut at their ends, but where they would look the same, and never look the same."""
    alone = ["short", "a-name-that-is-much-too-long", "whole-name-fits"]
    ends = [f"checkout-service-eu-west-{k:03}" for k in range(300)]
    within = [
        f"judge-{model}-of-the-new-{kind}-{k}" for model in "ab" for kind in "xy" for k in (1, 2)
    ]
    nested = ["x" * 30, "x" * 31, "x" * 32, "x" * 30 + "-long-tail-a", "x" * 30 + "-long-tail-b"]
    names, rooms = alone + ends + within + nested, (10, 16, 50)
    page.open(url)
    for room, labels in zip(
        rooms, page.driver.execute_async_script(LABELS, names, rooms), strict=True
    ):
        assert len(set(labels)) == len(names)
        assert max(map(len, labels)) <= room
        if room == 16:
            assert labels[:3] == ["short", "a-name-that-is-…", "whole-name-fits"]
            assert labels[3:303] == [f"checko…{k:03}" for k in range(300)]
    assert labels == names  # there is room for all of them


def test_how_to_attach_a_worker(page, tmp_path, monkeypatch):
    """An empty study shows programs for its workers, which do what they say, and no token."""
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    with serving("--storage", tmp_path / "s.db", "--token-file", file) as (_, url):
        client = Client(url, TOKEN)
        client.create("fresh", ["ams", "fra", "lhr", "gru"], max_outliers=1, max_pulls=30)
        page.open(f"{url}/#/study/fresh")
        page.wait_for("#token", "This service needs a token")
        page.find("#token input").send_keys(TOKEN, Keys.ENTER)
        page.wait_for("#attach", "probe(arm) returns 0 or 1")
        assert TOKEN not in page.driver.page_source
        program, commands = page.text("#attach-python"), page.text("#attach-curl")
        button = page.find("#attach button.copy[value=attach-curl]")
        page.driver.execute_script("arguments[0].focus()", button)
        page.press(Keys.ENTER)
        page.wait_for("#copied", "Copied.")
        page.find("#find").send_keys(Keys.CONTROL, "v")
        pasted = page.find("#find").get_attribute("value")
        assert pasted.split() == commands.split()
        page.find("#find").clear()
        monkeypatch.setenv("ODDARM_TOKEN", TOKEN)
        ask, tell = re.findall("^curl .*", commands, re.MULTILINE)
        first = commands.splitlines()[0]

        def run(command):
            return subprocess.check_output(f"{first}\n{command}", shell=True, text=True)

        asked = json.loads(run(ask))
        tell = tell.replace("ID", asked["pulls"][0]["id"]).replace("REWARD", "1")
        assert run(tell) == '{"told":1}'
        page.wait_for("#summary", "after 1 pull")
        assert page.text("#attach") == "Attach a worker"  # closed, now that there is one
        mine = types.ModuleType("my_module")
        mine.probe = lambda arm: int(arm == "gru")
        monkeypatch.setitem(sys.modules, "my_module", mine)
        exec(program, {})
        page.wait_for("#status", "done")
        assert page.text("#attach") == ""
        assert [line for line in page.errors() if "401" not in line] == []


def test_how_sure(page, url):
    """A study's page has its course as curves, of which keys read every moment."""
    client, rng = Client(url), random.Random(1)
    client.create("course", list(RATES), max_outliers=2, min_gap=0.1)  # which takes thousands

    def moments():
        return int(page.find("#moment").get_attribute("max"))

    page.open(f"{url}/#/study/course")
    page.wait_for("#study-title", "course")
    with worker(url, "course", lambda _: int(rng.random() < 0.3), 5):
        page.wait(lambda: moments() >= 3, "moments of the past")
    page.wait(lambda: page.pulls() == client.info("course")["pulls"], "the last pulls")
    words = page.text("#moment-words")
    assert re.match(r"After [\d,]+ pulls, .*: (no evidence yet|evidence .* : 1)", words)
    assert len(page.find("#evidence-curve .curve").get_attribute("d").split("L")) > 2
    page.find("#moment").send_keys(Keys.HOME)
    page.wait(lambda: page.text("#moment-words") != words, "an earlier moment")
    earlier = page.text("#moment-words")
    assert page.find("#moment").get_attribute("aria-valuetext") == earlier
    page.find("#moment").send_keys(Keys.ARROW_RIGHT)
    assert page.text("#moment-words") != earlier
    assert "asked for 20 : 1" in page.find("#evidence-curve").get_attribute("aria-label")
    assert page.errors() == []


def test_who_works(page, url):
    """A study's page has its workers, leases that end by themselves, and what a budget has left."""
    client = Client(url)
    client.create("leases", list(RATES), max_outliers=2, max_pulls=900)
    client.tell_arm("leases", "host-01", [0, 1], key="k")
    page.open(f"{url}/#/study/leases")
    page.wait_for("#no-workers", "No worker has asked for pulls yet.")
    assert "898 left" in page.text("#facts")
    client.ask("leases", 3)
    page.wait_for("#workers", "127.0.0.1")
    body = json.dumps({"limit": 2, "worker": "probe-7", "lease_seconds": 0.5}).encode()
    kind = {"Content-Type": "application/json"}
    asked = urllib.request.Request(f"{url}/studies/leases/ask", body, kind)
    with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
        assert len(json.load(answer)["pulls"]) == 2
    page.wait_for("#leases", "the leases of 2 have ended")  # nobody told the page
    rows = [row.text.split() for row in page.driver.find_elements("css selector", "#workers tr")]
    assert [row[:3] for row in rows[1:]] == [["probe-7", "2", "2"], ["127.0.0.1", "3", "0"]]
    assert page.errors() == []


def test_deleting_a_study(page, url):
    """A study is deleted only after a question, by keyboard too, and the list says so."""
    client = Client(url)
    client.create("gone", 4, max_outliers=1)
    client.tell_arm("gone", 0, [1, 0, 1], key="k")
    page.open(f"{url}/#/study/gone")
    page.wait_for("#summary", "after 3 pulls")
    for answer in ([Keys.ESCAPE], [Keys.ENTER]):  # the focus is on Cancel
        page.driver.execute_script("document.getElementById('delete').focus()")
        page.press(Keys.ENTER)
        page.wait_for("#delete-dialog", "“gone” with all its 3 rewards")
        assert page.focused() == "cancel"
        page.press(*answer)
        page.wait(lambda: page.text("#delete-dialog") == "", "the end of the question")
        assert page.focused() == "delete"
    assert client.info("gone")["pulls"] == 3
    page.press(Keys.ENTER)
    page.wait_for("#delete-dialog", "Delete for good")
    page.press(Keys.TAB, Keys.ENTER)
    page.wait_for("#notice", "The study “gone” was deleted.")
    assert page.focused() == "main"
    assert "gone" not in {row["name"] for row in client.studies()}
    assert [line for line in page.errors() if "404" not in line] == []


DESCRIBED = """
const controls = [...document.querySelectorAll("#create :is(input, select, textarea)")];
return controls.filter((one) => !["rule", "low", "high"].includes(one.name)).map((one) =>
  [one.name, document.getElementById(one.getAttribute("aria-describedby"))?.innerText ?? ""]);
"""


def test_the_question(page, url):
    """The form has every option with its help, and sends what its rule needs."""
    page.open(url)
    page.create(
        "asked",
        "ams\nfra\nlhr = 2\ngru",
        rule="both",
        min_gap="0.2",
        epsilon="3",
        slack="0.1",
        neighbours="2",
        max_outliers="1",
        delta="0.1",
        rewards="numbers, clipped to a range",
        low="0",
        high="500",
        max_pulls="900",
        max_cost="2000",
        costs="ams = 1\nfra = 2.5\nlhr = 2 = 3\ngru = 4",
        expired_reward="500",
        seed="7",
    )
    helps = dict(page.driver.execute_script(DESCRIBED))
    assert helps.keys() == {*OPTIONS, "name", "arms", "strategy", "expired_reward"}
    assert all(helps.values())
    for name in OPTIONS.keys() - {"rewards"}:
        assert helps[name] == OPTIONS[name].help.replace("`", "")
    page.wait_for("#study-title", "asked")
    made = Client(url).result("asked")["provenance"]
    asked = {"epsilon": 3, "min_gap": 0.2, "slack": 0.1, "max_outliers": 1, "delta": 0.1}
    assert made.items() >= {**asked, "neighbours": 2}.items()
    assert (made["max_pulls"], made["max_cost"], made["seed"]) == (900, 2000, 7)
    assert (made["rewards"]["minimum"], made["rewards"]["maximum"]) == (0, 500)
    pull, *_ = Client(url).ask("asked", 4)[0]
    Client(url).tell("asked", {pull.id: 1})
    page.wait_for("#facts", "of at most 2,000")
    page.driver.get(f"{url}/#/")
    page.create("gap", "4", rule="min_gap", min_gap="0.2", max_outliers="1")
    page.wait_for("#study-title", "gap")
    assert Client(url).result("gap")["provenance"]["epsilon"] is None
    assert page.errors() == []


AXE = sorted(Path(__file__).parents[2].glob(".venv/axe/axe-*.min.js"))
FOUND = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => done(violations
  .filter(({ impact }) => impact === "serious" || impact === "critical")
  .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)));
"""


def test_no_barriers(page, url):
    """axe-core finds nothing serious on any part of the page, light, dark, and on a phone."""
    if not AXE:
        words = "no axe-core on this machine: install npm and run  sh tools/install_axe.sh"
        if os.environ.get("CI") == "true":
            pytest.fail(words)
        pytest.skip(words)
    client = Client(url)
    for name in ("axe-empty", "axe-running", "axe-done"):
        client.create(name, list(RATES), max_outliers=2, min_gap=0.3)
    client.ask("axe-running", 50)
    for arm, rate in RATES.items():
        client.tell_arm("axe-running", arm, [1, 0, int(rate > 0.5)], key=arm)
        client.tell_arm("axe-done", arm, [int(rate > 0.5)] * 400, key=arm)
    client.set_aside("axe-running", "host-02", "no route to host")
    form = "document.getElementById('new-study').click(); "
    form += "document.getElementById('more-fields').open = true"
    every = "for (const one of document.querySelectorAll('details')) one.open = true"
    parts = (
        ("#/", "#studies-table", ""),
        ("#/", "#studies-table", form),
        ("#/study/axe-empty", "#attach-python", ""),
        ("#/study/axe-running", "#moment-words", every),
        ("#/study/axe-done", "#declared .members", every),
        ("#/study/axe-done", "#summary", "document.getElementById('delete').click()"),
        ("docs", "h1", ""),
    )
    for place, shown, script in parts:
        page.open(f"{url}/{place}")
        page.wait(lambda: page.text(shown), shown)  # noqa: B023
        page.driver.execute_script(script)
        if script == form:
            page.wait_for("#help-delta", "wrong")
        page.driver.execute_script(AXE[-1].read_text(encoding="utf-8"))
        for width, colours in ((1200, "light"), (1200, "dark"), (400, "light")):
            page.at_width(width)
            page.media(prefers_color_scheme=colours, prefers_reduced_motion="reduce")
            found = page.driver.execute_async_script(FOUND)
            assert found == [], f"{place} {script}, {width} px, {colours}"
            overflow = "return document.documentElement.scrollWidth"
            assert page.driver.execute_script(overflow) <= width
    assert page.errors() == []


def test_the_browser_is_told_to_load_nothing_from_elsewhere(http):
    """The page comes with a strict policy, keeps to it, and has no file missing."""
    answer = http.get("/")
    assert answer.headers["content-security-policy"].startswith("default-src 'self';")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "style=" not in answer.text
    assert "http://" not in answer.text
    for file in sorted(path.name for path in FILES.glob("*.js")):
        script = http.get(f"/{file}")
        assert script.headers["content-type"].startswith("text/javascript")
        assert "innerHTML" not in script.text
    assert http.get("/style.css").status_code == http.get("/icon.svg").status_code == 200
