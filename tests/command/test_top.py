# SPDX-License-Identifier: Apache-2.0
"""`top --once` on recorded traces, held against their reports, and on a trace that grows while it is followed."""

import fcntl
import json
import os
import pty
import re
import select
import socket
import struct
import subprocess
import termios
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


class Terminal:
    """`top` on a terminal of its own."""

    PICTURE, END = "\033[H\033[2J", "\033[?1049l"

    def __init__(self, case, trace, rows=24, columns=80):
        self._case, self._text = case, ""
        self._leader, self._follower = pty.openpty()
        fcntl.ioctl(self._follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._before = termios.tcgetattr(self._follower)
        self._process = subprocess.Popen(
            ["setsid", "--ctty", COMMAND, "top", str(trace)],
            stdin=self._follower,
            stdout=self._follower,
            stderr=self._follower,
            cwd=case.folder,
            env={**case.environment, "LC_ALL": "C.UTF-8"},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._leader)
        os.close(self._follower)

    def wait_for(self, pattern, behind=PICTURE):
        """The newest picture, once it looks like that."""
        for _ in range(200):
            if select.select([self._leader], [], [], 0.1)[0]:
                self._text += os.read(self._leader, 65536).decode(errors="replace")
            newest = self._text.rpartition(behind)[2].replace("\r", "")
            if behind in self._text and re.search(pattern, newest):
                return newest
        raise AssertionError(f"no {pattern!r} in {self._text[-3000:]!r}")

    def press(self, key, pattern):
        os.write(self._leader, key.encode())
        self.wait_for(pattern)

    def quit(self):
        """What stays on the terminal's own screen."""
        os.write(self._leader, b"q")
        left = self.wait_for("memory", behind=self.END)
        self._case.assertEqual(self._process.wait(timeout=20), 0)
        self._case.assertEqual(termios.tcgetattr(self._follower)[3], self._before[3])
        return left


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

    def test_keys(self):
        trace = GrowingTrace(trace_in(PLAIN), self.folder).path
        with Terminal(self, trace) as terminal:
            terminal.wait_for(r"blocks  allocated at\n")
            terminal.press("s", r"blocks  allocated at, by change\n")
            terminal.press("s", r"blocks  allocated at, by blocks\n")
            terminal.press("k", r"(device|pinned host) memory allocated at, by blocks\n")
            terminal.press("p", r"   paused\n")
            terminal.press("p", r"pid \d+\n")
            terminal.wait_for(r"\n[▁-█]{2,}\n")  # memory at the looks so far
            self.assertIn("device memory ", terminal.quit())

    def test_any_window(self):
        trace = GrowingTrace(trace_in(PLAIN), self.folder).path
        for rows, columns in ((24, 80), (8, 40), (4, 60), (60, 200)):
            with Terminal(self, trace, rows, columns) as terminal:
                lines = terminal.wait_for(r"q quit").split("\n")
                self.assertLessEqual(len(lines), rows, lines)
                self.assertLessEqual(max(map(len, lines)), columns, lines)
                self.assertRegex(lines[0], r"pid \d")
                self.assertTrue(lines[1].startswith("device memory "), lines)
                terminal.quit()

    def test_what_all_processes_use_of_the_device(self):
        trace = GrowingTrace(trace_in(PLAIN), self.folder).path
        info = (trace / "info").read_text(encoding="utf-8")
        (trace / "info").write_text(re.sub(r"\nhost=.*", f"\nhost={socket.gethostname()}", info), encoding="utf-8")
        fake = os.path.join(self.folder, "nvidia-smi")
        for answer, shown in (
            ("0, 1536, 81559", "device 0: 1.5 GiB of 79.6 GiB are in use, by all processes"),
            ("0, 1536, 81559\n1, 0, 81559", None),  # which of the two it is is not known
            ("No devices were found", None),
        ):
            with open(fake, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\necho '{answer}'\n")
            os.chmod(fake, 0o755)
            self.environment["PATH"] = f"{self.folder}:{os.environ['PATH']}"
            text = self.once(str(trace))
            if shown:
                self.assertIn(shown, text)
                (process,) = json.loads(self.once("--format", "json", str(trace)))["processes"]
                self.assertEqual(
                    process["devices"], [{"device": 0, "used_bytes": 1536 << 20, "total_bytes": 81559 << 20}]
                )
            else:
                self.assertNotIn("by all processes", text)

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
