# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for the tests of pages, and what they ask of a page."""

import json
import os
import shutil
import sys

SKIPPED = 77
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    print("skipped: no Selenium for this Python (Debian: python3-selenium)")
    sys.exit(SKIPPED)

BROWSER = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
if not BROWSER or not DRIVER:
    print("skipped: no Chromium (Debian: chromium, chromium-driver)")
    sys.exit(SKIPPED)

FOLDER = os.path.abspath(os.environ["GMT_PAGE_FOLDER"])
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")


def start():
    options = Options()
    options.binary_location = BROWSER
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


class Page:
    """One page at a time."""

    def __init__(self, driver):
        self.driver = driver
        self.name = ""

    def open(self, name, view, width=1280):
        self.name = name
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        self.driver.get("about:blank")
        self.driver.get(f"file://{FOLDER}/{name}.html#{view}")

    def turn_to(self, view):
        """As a link within the page does."""
        self.run("location.hash = arguments[0]", view)

    @property
    def report(self):
        with open(os.path.join(FOLDER, self.name + ".json"), encoding="utf-8") as file:
            return json.load(file)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def history(self, process=0):
        text = self.run("return document.getElementById('history-data').textContent")
        return json.loads(text)["processes"][process]

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((part) => part.textContent)", selector)

    def figures(self, selector):
        """Name and value of each figure below the elements, in order."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0] + ' [data-figure]')]"
            ".map((part) => [part.dataset.figure, Number(part.dataset.value)])",
            selector,
        )

    def figure(self, selector, name):
        values = [value for figure, value in self.figures(selector) if figure == name]
        assert values, f"{self.name}: no figure {name} in {selector}"
        return values[0]

    def set(self, selector, value, event="input"):
        """As a person does: the control's value, and its event."""
        self.run(
            "const control = document.querySelector(arguments[0]);"
            "if (control.type === 'checkbox') control.checked = arguments[1]; else control.value = arguments[1];"
            "control.dispatchEvent(new Event(arguments[2], { bubbles: true }))",
            selector,
            value,
            event,
        )

    def key(self, selector, key):
        self.run(
            "document.querySelector(arguments[0]).dispatchEvent("
            "new KeyboardEvent('keydown', { key: arguments[1], bubbles: true, cancelable: true }))",
            selector,
            key,
        )

    def painted(self):
        """After what waits for the next picture."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
        )

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requested(self):
        """Addresses that the browser asked anything for since the last call."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found
