# SPDX-License-Identifier: Apache-2.0
"""The page of two runs in a browser: what it shows of both is what their JSON reports have."""

import json
import os
import subprocess
import tempfile
import unittest

import browser

FIXTURES = os.environ["GMT_FIXTURES"]
CLEAN, PLAIN = (os.path.join(FIXTURES, f"first_steps.{run}.static") for run in ("clean", "plain"))
KINDS = ["copy-out-of-bounds", "double-free", "leak", "leak", "mismatched-free"]


def command(*words):
    return subprocess.run([os.environ["GMT_COMMAND"], *words], capture_output=True, text=True, check=False)


def report_of(trace):
    return json.loads(command("report", "--format", "json", trace).stdout)


class Compare(unittest.TestCase):
    def compare(self, before, after, name="compare"):
        output = os.path.join(browser.FOLDER, f"{name}.html")
        done = command("diff", "--format", f"html={output}", before, after)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertIn("SUMMARY", done.stdout)
        page.open(name, "")
        return done

    def states(self):
        cells = page.run(
            "return [...document.querySelectorAll('#view-compare [data-state]')]"
            ".map((part) => [part.dataset.state, part.closest('tr').children[2].textContent])"
        )
        return sorted(map(tuple, cells))

    def test_new_findings_and_more_memory(self):
        self.compare(CLEAN, PLAIN)
        self.assertEqual(page.run("return document.querySelector('nav a[aria-current]').textContent"), "Compare")
        self.assertEqual(self.states(), [("new", kind) for kind in KINDS])
        self.assertEqual(page.figure("#view-compare", "new-findings"), 5)
        self.assertEqual(page.figure("#view-compare", "gone-findings"), 0)
        before, after = report_of(CLEAN), report_of(PLAIN)
        self.assertEqual(page.figure("#view-compare", "peak-after"), after["totals"]["peak_bytes"])
        self.assertEqual(page.figure("#view-compare", "flame-before"), before["totals"]["peak_bytes"])
        self.assertEqual(page.figure("#view-compare", "flame-after"), after["totals"]["peak_bytes"])

        self.assertTrue(page.texts("#view-compare .box.grown"))

    def test_gone_findings(self):
        self.compare(PLAIN, CLEAN)
        self.assertEqual(self.states(), [("gone", kind) for kind in KINDS])
        self.assertEqual(page.figure("#view-compare", "live-after"), 0)

    def test_other_figures_and_search(self):
        self.compare(CLEAN, PLAIN)
        page.run(
            "const s = document.getElementById('compare-metric'); s.value = 'allocated_bytes';"
            "s.dispatchEvent(new Event('change'))"
        )
        for side, trace in (("before", CLEAN), ("after", PLAIN)):
            self.assertEqual(
                page.figure("#view-compare", f"flame-{side}"), report_of(trace)["totals"]["allocated_bytes"]
            )
        page.run(
            "const s = document.getElementById('compare-search'); s.value = 'load_batch';"
            "s.dispatchEvent(new Event('input'))"
        )
        self.assertEqual(len(page.texts("#view-compare .box.match")), 1)

    def test_links_lead_to_the_findings(self):
        self.compare(CLEAN, PLAIN)
        page.run("document.querySelector('#view-compare td a').click()")
        self.assertFalse(page.run("return document.getElementById('view-findings').hidden"))

    def test_a_run_that_failed_is_named(self):
        crashed = report_of(PLAIN)
        crashed["conclusion"]["failures"].append({"reason": "program", "message": "the program was killed by SIGSEGV"})
        file = os.path.join(browser.FOLDER, "crashed.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(crashed, out)
        self.assertEqual(self.compare(PLAIN, file).returncode, 1)
        self.assertEqual(page.texts("#view-compare p.failure"), ["The run after: the program was killed by SIGSEGV."])

    def test_json_reports(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, trace in (("before", CLEAN), ("after", PLAIN)):
                paths.append(os.path.join(folder, name + ".json"))
                command("report", "--format", "json", "--output", paths[-1], trace)
            self.compare(*paths, name="compare_json")
            self.assertEqual(self.states(), [("new", kind) for kind in KINDS])
            self.assertIn("only the ten call stacks", "".join(page.texts("#view-compare .quiet")))
            self.assertEqual(page.figure("#view-compare", "flame-after"), report_of(PLAIN)["totals"]["peak_bytes"])
            page.open("compare_json", "overview")
            self.assertEqual(page.figure(".cards", "peak_bytes"), report_of(PLAIN)["totals"]["peak_bytes"])

    def test_an_ordinary_page_has_no_such_view(self):
        output = os.path.join(browser.FOLDER, "ordinary.html")
        command("report", "--format", "html", "--output", output, PLAIN)
        page.open("ordinary", "compare")
        self.assertTrue(page.run("return document.getElementById('nav-compare').hidden"))
        self.assertFalse(page.run("return document.getElementById('view-overview').hidden"))

    def test_nothing_complains(self):
        for width in (1280, 390):
            self.compare(CLEAN, PLAIN)
            page.open("compare", "compare", width)
            overflow = page.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
            self.assertLessEqual(overflow, 0)
        errors = [entry for entry in DRIVER.get_log("browser") if entry["level"] == "SEVERE"]
        self.assertEqual(errors, [])

    def test_other_formats_are_refused(self):
        done = command("diff", "--format", "junit", CLEAN, PLAIN)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it takes text or html", done.stderr)


if __name__ == "__main__":
    os.makedirs(browser.FOLDER, exist_ok=True)
    DRIVER = browser.start()
    page = browser.Page(DRIVER)
    try:
        unittest.main()
    finally:
        DRIVER.quit()
