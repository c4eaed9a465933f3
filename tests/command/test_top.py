# SPDX-License-Identifier: Apache-2.0
"""`top --once` on recorded traces, held against their reports, and on a trace that grows while it is followed."""

import json
import os
import pty
import subprocess
import time
import unittest

from command_case import COMMAND, CommandCase
from growing_trace import FIXTURES, GrowingTrace, trace_in

PLAIN = str(FIXTURES / "first_steps.plain.static")
POOL = str(FIXTURES / "pool_loop.plain.static")
try:
    from prometheus_client.parser import text_string_to_metric_families
except ImportError:
    text_string_to_metric_families = None


class Top(CommandCase):
    def once(self, *words):
        result = self.run_command("top", "--once", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def report(self, trace):
        return json.loads(self.run_command("report", "--format", "json", str(trace)).stdout)

    def test_figures_are_those_of_the_report(self):
        for fixture in (PLAIN, POOL):
            (process,) = json.loads(self.once("--format", "json", str(trace_in(fixture))))["processes"]
            (reported,) = self.report(fixture)["processes"]
            for key in ("events", "allocations", "allocated_bytes", "frees", "launches", "peak_bytes"):
                self.assertEqual(process[key], reported["totals"][key], key)
            self.assertTrue(process["ended"])
            rows = {(row["family"], row["device"]): row for row in process["memory"]}
            for row in reported["memory"]["families"]:
                live = rows[row["family"], row["device"]]
                self.assertEqual(live["live_bytes"], row["live_bytes"])
                self.assertEqual(live["peak_bytes"], row["peak_bytes"])
            self.assertEqual(sum(h["bytes"] for h in process["holders"]), process["live_bytes"])

    def test_newest_findings(self):
        """Those that calls have shown: all but leaks, and what the end alone shows."""
        (process,) = json.loads(self.once("--format", "json", str(trace_in(PLAIN))))["processes"]
        reported = [one for one in self.report(PLAIN)["findings"] if one["kind"] not in ("leak", "unused")]
        self.assertGreater(len(reported), 0)
        self.assertEqual(
            sorted((one["kind"], one["message"]) for one in process["findings"]),
            sorted((one["kind"], one["message"]) for one in reported),
        )
        self.assertEqual(process["errors"], sum(one["severity"] == "error" for one in reported))
        text = self.once(str(trace_in(PLAIN)))
        self.assertIn(f"newest findings of {process['errors']} error", text)
        self.assertRegex(text, rf"\nerror +{process['findings'][0]['kind']} ")

    def test_text_fits_a_terminal_and_names_the_holders(self):
        text = self.once(str(trace_in(PLAIN)))
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        self.assertIn("16.0 KiB", text)
        self.assertIn("device memory, device 0", text)

    def test_text_is_as_wide_as_the_terminal(self):
        self.environment["COLUMNS"] = "46"
        master, slave = pty.openpty()
        self.run_command("top", "--once", str(trace_in(PLAIN)), stdout=slave)
        os.close(slave)
        text = os.read(master, 65536).decode()
        os.close(master)
        self.assertIn("bytes", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 46, text)

    @unittest.skipIf(text_string_to_metric_families is None, "no python3-prometheus-client")
    def test_prometheus_reads_it(self):
        trace = trace_in(PLAIN)
        families = {f.name: f for f in text_string_to_metric_families(self.once("--format", "prometheus", str(trace)))}
        totals = self.report(PLAIN)["totals"]
        for name, key in (
            ("gpumemtrace_device_memory_peak_bytes", "peak_bytes"),
            ("gpumemtrace_allocations", "allocations"),
            ("gpumemtrace_frees", "frees"),
        ):
            (sample,) = families[name].samples
            self.assertEqual(sample.value, totals[key], name)
            self.assertEqual(sample.labels["program"], "first_steps-O2-static")
        kinds = {(s.labels["family"], s.labels["device"]) for s in families["gpumemtrace_memory_live_bytes"].samples}
        self.assertIn(("device memory", "0"), kinds)

    def test_a_process_that_runs(self):
        """Half of a log, then the rest: what was read first is not read again, and nothing is missed."""
        trace = GrowingTrace(trace_in(POOL), self.folder)
        part = json.loads(self.once("--format", "json", str(trace.path)))["processes"][0]
        self.assertFalse(part["ended"])
        # What is newer than all that was known is left for the next look.
        whole = self.report(POOL)["processes"][0]["totals"]
        self.assertTrue(0 < part["events"] < whole["events"])
        live = subprocess.Popen([COMMAND, "top", str(trace.path)], stdout=subprocess.PIPE, text=True, cwd=self.folder)
        time.sleep(0.5)
        trace.finish()
        text, _ = live.communicate(timeout=30)
        self.assertEqual(live.returncode, 0)
        self.assertIn("ended", text)
        last = text[text.rindex("device memory ") :]
        self.assertIn(f"{whole['allocations']} allocations", text[text.rindex("allocation") - 40 :] + last)
        (process,) = json.loads(self.once("--format", "json", str(trace.path)))["processes"]
        self.assertEqual(process["events"], whole["events"])

    def test_choice_of_the_run(self):
        trace = trace_in(PLAIN)
        link = os.path.join(self.folder, trace.name)
        os.symlink(trace, link)
        pid = trace.name.rsplit(".", 1)[1]
        self.assertEqual(
            json.loads(self.once("--format", "json"))["processes"],
            json.loads(self.once("--format", "json", "."))["processes"],
        )
        (process,) = json.loads(self.once("--format", "json", pid))["processes"]
        self.assertEqual(process["pid"], int(pid))

    def test_what_is_refused(self):
        for words in (("4194999",), ("nowhere",), (self.folder,), ()):
            result = self.run_command("top", "--once", *words)
            self.assertEqual(result.returncode, 3, words)
            self.assertIn("no trace of", result.stderr)
        self.assert_usage_error(("top", "--format", "html"), "text, json or prometheus")
        self.assert_usage_error(("top", "a", "b"), "one process or one trace")
        result = self.run_command("top", "--output", "x.prom", str(trace_in(PLAIN)))
        self.assertEqual(result.returncode, 2)
        self.assertIn("--once", result.stderr)


if __name__ == "__main__":
    unittest.main()
