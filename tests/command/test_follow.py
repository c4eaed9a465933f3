# SPDX-License-Identifier: Apache-2.0
"""`follow` on recorded traces, held against their reports, and on a trace that grows between two questions."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from command_case import COMMAND, CommandCase
from growing_trace import FIXTURES, GrowingTrace, trace_in

PLAIN = str(FIXTURES / "first_steps.plain.static")


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


class Follow(CommandCase):
    def ask(self, trace, *questions):
        lines = "".join(json.dumps({"do": question}) + "\n" for question in questions)
        result = self.run_command("follow", str(trace), input=lines)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(len(answers), len(questions))
        return answers

    def report(self, trace):
        return json.loads(self.run_command("report", "--format", "json", str(trace)).stdout)

    def test_answers_are_those_of_the_report(self):
        trace = trace_in(PLAIN)
        look, snapshot = self.ask(trace, "look", "snapshot")
        report = self.report(trace)
        (process,) = report["processes"]
        for answer in (look, snapshot):
            self.assertEqual(answer["schema"], 1)
            self.assertTrue(answer["ended"])
            for key in ("events", "peak_bytes"):
                self.assertEqual(answer[key], process["totals"][key], key)
        self.assertEqual(look["span"]["peak_bytes"], process["totals"]["peak_bytes"])

        def errors(findings):
            return sorted((one["kind"], one["bytes"], one["count"]) for one in findings if one["severity"] == "error")

        self.assertEqual(errors(look["findings"]), errors(report["findings"]))
        self.assertEqual(set(look["findings"][0]), set(report["findings"][0]))
        of_device = [one["bytes"] for one in snapshot["blocks"] if one["device"] is not None]
        self.assertEqual((sum(of_device), len(of_device)), (snapshot["live_bytes"], 1))
        self.assertTrue(all(one["stack"]["frames"] for one in snapshot["blocks"]))

    def test_a_span(self):
        """What stands before its begin, and in its pauses, is none of it."""
        trace = trace_in(PLAIN)
        _, _, look = self.ask(trace, "look", "begin", "look")
        span = {"live_bytes": 0, "peak_bytes": 0, "tensor_bytes": 0, "tensor_peak_bytes": 0}
        self.assertEqual((look["findings"], look["span"], look["tensors"]), ([], span, []))

    def test_a_process_that_runs(self):
        source = trace_in(PLAIN)
        trace = GrowingTrace(source, self.folder)
        with subprocess.Popen(
            [COMMAND, "follow", str(trace.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.folder,
        ) as process:

            def ask(question):
                process.stdin.write(json.dumps({"do": question}) + "\n")
                process.stdin.flush()
                return json.loads(process.stdout.readline())

            first = ask("begin")
            self.assertFalse(first["ended"])
            trace.finish()
            second = ask("look")
            process.stdin.close()
            self.assertEqual(process.wait(timeout=30), 0)
        whole = self.report(source)
        self.assertTrue(second["ended"])
        self.assertTrue(0 < first["events"] < second["events"])
        self.assertEqual(second["events"], whole["processes"][0]["totals"]["events"])

    def test_suppressions(self):
        rules = os.path.join(self.folder, "known.supp")
        with open(rules, "w", encoding="utf-8") as file:
            file.write("*:*\n")
        result = self.run_command("follow", "--suppressions", rules, str(trace_in(PLAIN)), input='{"do": "look"}\n')
        self.assertEqual(json.loads(result.stdout)["findings"], [])

    def test_what_is_refused(self):
        trace = str(trace_in(PLAIN))
        for line in ("look", "[]", '{"do": "dance"}', '{"do": 1}', "{}", "", "x" * 70000):
            result = self.run_command("follow", trace, input=line + "\n")
            self.assertEqual(result.returncode, 2, line)
            self.assertEqual((result.stdout, result.stderr.count("\n")), ("", 1), result.stderr)
            self.assertIn("question", result.stderr)
        self.assert_usage_error(("follow",), "one process or one trace")
        self.assert_usage_error(("follow", "a", "b"), "one process or one trace")
        for word, words in (
            ("nowhere", "no trace of"),
            (str(os.getpid()), "is not traced"),
            ("4194999", "is not traced"),
        ):
            result = self.run_command("follow", word, input="")
            self.assertEqual(result.returncode, 3, result)
            self.assertIn(words, result.stderr)

    def test_it_ends_with_its_parent(self):
        """Though a process that the parent has forked holds the other end of the pipe."""
        program = (
            "import os, subprocess, sys, time\n"
            "pipe = subprocess.PIPE\n"
            "process = subprocess.Popen(sys.argv[1:], stdin=pipe, stdout=pipe)\n"
            'process.stdin.write(b\'{"do": "begin"}\\n\')\n'
            "process.stdin.flush()\n"
            "process.stdout.readline()\n"
            "child = os.fork()\n"
            "if child == 0: time.sleep(100)\n"
            "print(process.pid, child, flush=True)\n"
            "os._exit(0)\n"
        )
        words = [sys.executable, "-c", program, COMMAND, "follow", str(trace_in(PLAIN))]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
            follower, child = map(int, parent.stdout.readline().split())
        self.addCleanup(os.kill, child, signal.SIGKILL)
        end = time.monotonic() + 20
        while is_running(follower) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertFalse(is_running(follower))
        self.assertTrue(is_running(child))

    def test_no_question(self):
        result = self.run_command("follow", str(trace_in(PLAIN)), input="")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_a_process_without_a_cuda_call(self):
        """It is traced, and holds nothing."""
        environment = {**self.environment, "GPUMEMTRACE_RUN": "0123456789abcdef"}
        result = self.run_command(
            "follow", str(os.getpid()), input='{"do": "begin"}\n{"do": "look"}\n{"do": "snapshot"}', env=environment
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        begin, look, snapshot = map(json.loads, result.stdout.splitlines())
        for answer in (begin, look, snapshot):
            self.assertEqual((answer["trace"], answer["events"], answer["live_bytes"]), (None, 0, 0))
        self.assertEqual((look["findings"], snapshot["blocks"]), ([], []))


if __name__ == "__main__":
    unittest.main()
