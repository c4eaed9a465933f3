# SPDX-License-Identifier: Apache-2.0
"""Each view of the pages that test_pages.py wrote, as axe-core sees it: contrast, names, order of headings, light and
dark, narrow and wide. Skipped without axe-core, which scripts/test --long brings from PyPI."""

import os
import pathlib
import sys
import unittest

import browser

AXE = pathlib.Path(os.environ.get("GMT_AXE", ""), "axe_playwright_python/axe.min.js")
VIEWS = ("overview", "findings", "timeline", "flame", "kernels")
PAGES = ("training", "accesses", "kernels", "ranks", "crashed", "clean")
if not AXE.is_file() or not os.path.exists(f"{browser.FOLDER}/training.html"):
    print("skipped: no axe-core, or no pages")
    sys.exit(browser.SKIPPED)

ASK = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations']}).then((result) => done(result.violations.map((one) =>
  one.id + ': ' + one.help + ' ' + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | '))));
"""


class Axe(unittest.TestCase):
    def test_finds_nothing(self):
        driver = browser.start()
        self.addCleanup(driver.quit)
        page = browser.Page(driver)
        source = AXE.read_text(encoding="utf-8")
        for scheme in ("light", "dark"):
            driver.execute_cdp_cmd(
                "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            )
            for name in PAGES:
                for view in VIEWS if name == "training" else ("overview", "findings", "kernels"):
                    for width in (1280, 390):
                        page.open(name, view, width)
                        page.painted()
                        driver.execute_script(source)
                        with self.subTest(f"{name}#{view}, {width} px, {scheme}"):
                            self.assertEqual(driver.execute_async_script(ASK), [])


if __name__ == "__main__":
    unittest.main()
