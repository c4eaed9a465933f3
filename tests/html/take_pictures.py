# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of docs/ anew, from the made-up training program:
GMT_PAGE_FOLDER=build/tests/html/pages /usr/bin/python3 tests/html/take_pictures.py docs
The folder is what `ctest -R html.pages` leaves."""

import base64
import os
import sys

import browser

PICTURES = {"timeline": 860, "flame": 560}


def main(folder):
    driver = browser.start()
    page = browser.Page(driver)
    for view, height in PICTURES.items():
        page.open("training", view)
        page.painted()
        clip = {"x": 0, "y": 0, "width": 1280, "height": height, "scale": 1}
        shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
        with open(os.path.join(folder, f"report-{view}.png"), "wb") as file:
            file.write(base64.b64decode(shot["data"]))
    driver.quit()


if __name__ == "__main__":
    main(sys.argv[1])
