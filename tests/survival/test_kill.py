# SPDX-License-Identifier: Apache-2.0
"""Killed at random moments: every call that returned is in the trace, with its result."""

import array
import os
import random
import signal
import subprocess
import time

import interposed_case
from interposed_case import InterposedCase
from trace_files import IN_FLIGHT

ROW, ROWS = 1 << 16, 64
KILLS = 200 if os.environ.get("GMT_LONG_TESTS") == "1" else 50


def truth_rows(path):
    """tid -> words of the calls that returned."""
    rows = {}
    with open(path, "rb") as file:
        for thread in range(ROWS):
            file.seek(thread * ROW * 8)
            head = array.array("Q", file.read(16))
            if len(head) == 2 and head[0] != 0:
                rows[head[0]] = list(array.array("Q", file.read(8 * head[1])))
    return rows


class Killed(InterposedCase):
    def kill_once(self, moment, threads):
        truth = os.path.join(self.folder, "truth")
        environment = self.environment(GMT_TRUTH=truth)
        del environment["STANDIN_LOG"]
        program = subprocess.Popen(
            [self.binary("survival_steady"), "endless", str(threads)], env=environment, cwd=self.folder
        )
        time.sleep(moment)
        program.send_signal(signal.SIGKILL)
        program.wait()
        self.assertEqual(program.returncode, -signal.SIGKILL)
        return truth_rows(truth) if os.path.exists(truth) else {}

    def compare(self, rows):
        """What the threads say they did against what the trace says; the number of calls that returned."""
        total = sum(len(row) for row in rows.values())
        found = self.traces() if total else []
        if total == 0:
            return 0
        self.assertEqual(len(found), 1)
        by_tid = {log.tid: log for log in found[0].logs}
        self.assertEqual(found[0].lost, {})
        for tid, row in rows.items():
            if not row:
                continue
            log = by_tid[tid]
            calls = [record for record in log.records if record.is_call]
            self.assertIn(len(calls) - len(row), (0, 1), "at most the one call that was under way")
            self.assertLessEqual(log.torn, 1)
            for call, word in zip(calls, row):
                said = call["address"] | (256 if call.kind == "free" else 0) | call.result & 0xFF
                self.assertEqual(said, word)
                self.assertNotEqual(call.result, IN_FLIGHT)
                self.assertTrue(call.stack)
        self.check_order(found[0])
        return total

    def check_order(self, trace):
        """In merged order an address is never allocated twice nor freed twice."""
        live = set()
        for call in trace.calls:
            if call.in_flight or call.result != 0:
                continue
            if call.kind == "alloc":
                self.assertNotIn(call["address"], live)
                live.add(call["address"])
            else:
                self.assertIn(call["address"], live)
                live.remove(call["address"])

    def test_random_moments(self):
        chance = random.Random(20240607)
        seen = 0
        for i in range(KILLS):
            moment = chance.uniform(0.004, 0.06)
            with self.subTest(kill=i, moment=moment):
                self.setUp()
                rows = self.kill_once(moment, 1 + i % 6)
                seen += self.compare(rows)
                self.doCleanups()
        self.assertGreater(seen, KILLS * 20, "the kills came too early to mean anything")

    def test_main_returns_before_its_threads(self):
        truth = os.path.join(self.folder, "truth")
        self.run_program("survival_steady", "leave", "6", env={"GMT_TRUTH": truth, "STANDIN_LOG": "/dev/null"})
        self.assertGreater(self.compare(truth_rows(truth)), 100)


class Ends(InterposedCase):
    def end(self, way, expected, **environment):
        result = self.run_program("survival_odd", "end", way, env=environment, check=False)
        self.assertEqual((result.returncode, result.stdout), (expected, "about to end\n"))
        trace = self.only_trace()
        calls = [(call.kind, call.result) for call in trace.calls]
        self.assertEqual(calls[:3], [("alloc", 0), ("free", 0), ("alloc", 0)])
        self.assertEqual((trace.torn, trace.lost), (0, {}))
        return trace

    def test_ways_to_end(self):
        for way, status, exit_way in (
            ("abort", -signal.SIGABRT, None),
            ("segv", -signal.SIGSEGV, None),
            ("_exit", 7, 2),
            ("_Exit", 7, 2),
            ("quick_exit", 7, 2),
            ("exit", 7, 1),
            ("return", 7, 1),
        ):
            with self.subTest(way):
                self.setUp()
                trace = self.end(way, status)
                said = [tuple(record["way", "status"]) for record in trace.records if record.kind == "exit"]
                self.assertEqual(said, [] if exit_way is None else [(exit_way, 7)])

    def test_inside_a_driver_call(self):
        for way, status in (("abort", -signal.SIGABRT), ("segv", -signal.SIGSEGV), ("kill", -signal.SIGKILL)):
            with self.subTest(way):
                self.setUp()
                trace = self.end("inside", status, STANDIN_SYNC=way)
                last = trace.calls[-1]
                self.assertEqual((last.api, last.in_flight), ("cuCtxSynchronize", True))


if __name__ == "__main__":
    interposed_case.main()
