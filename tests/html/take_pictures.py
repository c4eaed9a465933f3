# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of docs/ anew:
GMT_PAGE_FOLDER=build/tests/html /usr/bin/python3 tests/html/take_pictures.py docs
The folder holds what `ctest -R html.` leaves, best in a copy: pictures show the paths of what they show."""

import base64
import os
import sys

import browser

# The page, and the height of its part that is shown.
PICTURES = {
    "overview": ("pages/training", 820),
    "findings": ("pages/training", 900),
    "timeline": ("pages/training", 860),
    "flame": ("pages/training", 560),
    "kernels": ("pages/aos_soa.structs.static", 760),
    "compare": ("compare/compare", 980),
}


def main(folder):
    driver = browser.start()
    page = browser.Page(driver)
    for view, (name, height) in PICTURES.items():
        page.open(name, view)
        page.painted()
        clip = {"x": 0, "y": 0, "width": 1280, "height": height, "scale": 1}
        shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
        with open(os.path.join(folder, f"report-{view}.png"), "wb") as file:
            file.write(base64.b64decode(shot["data"]))
    driver.quit()


if __name__ == "__main__":
    main(sys.argv[1])
