"""A headless Chromium for tests: Debian's package, driven by its own driver."""

from __future__ import annotations

import shutil
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1100,900",
)


class ChromiumMissingError(Exception):
    """There is no Chromium on this machine, or no driver for it."""


def start_chromium(profile: Path) -> webdriver.Chrome:
    """Start a browser that keeps its files in a folder; quit it to stop it."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        raise ChromiumMissingError(
            "no Chromium with its driver on this machine: install Debian's packages chromium and "
            "chromium-driver"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options, Service(driver))
