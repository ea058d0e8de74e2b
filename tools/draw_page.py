"""Draw docs/images/page.png: the live page of a study that is done.

Run as `python -m tools.draw_page` in a checkout, where Chromium is (tools/install_chromium.sh). It
takes about a minute: the service notes the history of a study bit by bit.
"""

from __future__ import annotations

import base64
import json
import random
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait
from tests.support.chromium_browser import start_chromium
from tests.support.serving import serving

from oddarm.store.history import due_after

OUT = Path(__file__).parent.parent / "docs" / "images" / "page.png"
WIDTH = 1020
WORKERS = ("probe-ams", "probe-fra", "probe-lhr")
SHOWN = "return ['#facts dd', '#limit'].map((one) => document.querySelector(one)?.innerText ?? '')"
END = "return document.getElementById('table').getBoundingClientRect().bottom + scrollY"
DRAWN = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"


def sent(url: str, body: Any = None) -> Any:
    """Return the answer to a request; with a body it is a POST."""
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def play(url: str) -> None:
    """Make the study and pull its arms to the end, no faster than its history is noted."""
    rng = random.Random(7)
    rates = {f"host-{i:02}": 0.02 + 0.004 * i for i in range(20)} | {
        "host-07": 0.35,
        "host-13": 0.4,
    }
    question = {"min_gap": 0.15, "max_outliers": 3, "max_pulls": 5_000}
    study = f"{url}/studies/latency"
    sent(f"{url}/studies", {"name": "latency", "arms": list(rates), **question})
    while True:
        asked = sent(f"{study}/ask", {"limit": 40, "worker": rng.choice(WORKERS)})
        if asked["status"] == "done":
            return
        tells = [
            {"pull": pull["id"], "reward": int(rng.random() < rates[pull["arm"]])}
            for pull in asked["pulls"]
        ]
        sent(f"{study}/tell", {"tells": tells})
        pulls = sent(study)["pulls"]
        while pulls >= due_after(max(sent(f"{study}/view")["history"]["pulls"], default=0)):
            pass


def draw(driver: webdriver.Chrome) -> None:
    """Take the picture, as far as the table of all arms."""

    def complete(_: object) -> bool:
        pulls, limit = driver.execute_script(SHOWN)
        return bool(pulls) and f"seen after {pulls.split()[0]} pulls" in limit

    WebDriverWait(driver, 120).until(complete)
    driver.execute_async_script(DRAWN)
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": driver.execute_script(END), "scale": 1}
    options = {"clip": clip, "captureBeyondViewport": True}
    picture = driver.execute_cdp_cmd("Page.captureScreenshot", options)
    OUT.write_bytes(base64.b64decode(picture["data"]))


def main() -> None:
    """Serve the study, and draw its page."""
    with tempfile.TemporaryDirectory() as folder:
        driver = start_chromium(Path(folder) / "profile")
        try:
            with serving("--storage", Path(folder) / "studies.db") as (_, url):
                play(url)
                size = {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False}
                driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                driver.get(f"{url}/#/study/latency")
                draw(driver)
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
