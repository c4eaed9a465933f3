#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels on the simulated device, by the real command: limits of time, launches that do not run, the keyboard's
interrupt, code that the program links itself. Needs GMT_COMMAND, GMT_LIMITS and GMT_LINKED."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

COMMAND = os.environ["GMT_COMMAND"]
LIMITS = os.environ["GMT_LIMITS"]
LINKED = os.environ["GMT_LINKED"]
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "limits.cu")


def line_of(tag):
    with open(SOURCE, encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            if line.rstrip().endswith("// @" + tag):
                return number
    raise AssertionError(f"limits.cu has no line @{tag}")


class SimulatedKernels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("GPUMEMTRACE_", "LD_"))
        }

    def words(self, *options, command="run"):
        report = os.path.join(self.folder, "report.json")
        return [COMMAND, command, "--device", "simulated", "--format", "json", "--output", report, *options]

    def run_program(self, *options, program=(LIMITS,), command="run"):
        """The finished process, and the report."""
        words = self.words(*options, command=command)
        result = subprocess.run(
            [*words, *program],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        return result, self.report()

    def report(self):
        with open(os.path.join(self.folder, "report.json"), encoding="utf-8") as file:
            return json.load(file)

    def only_left_out(self, report):
        (left_out,) = report["processes"][0]["kernels"]["left_out"]
        return left_out

    def assert_not_leaks(self, report):
        self.assertEqual([finding["kind"] for finding in report["findings"] if finding["severity"] != "note"], [])
        self.assertIn("leak", [gap["what"] for gap in report["not_checked"]])

    def test_an_endless_kernel_is_stopped_and_the_program_goes_on(self):
        result, report = self.run_program("--kernel-time", "300ms", program=(LIMITS, "endless"))
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("goes on with cudaErrorLaunchTimeout", result.stdout)
        self.assert_not_leaks(report)
        left_out = self.only_left_out(report)
        self.assertEqual(left_out["how"], "stopped")
        self.assertIn("wait_for", left_out["kernel"])
        self.assertIn("--kernel-time allows (0.3 s)", left_out["reason"])
        self.assertTrue(left_out["line"].endswith(f"limits.cu:{line_of('wait')}"), left_out)

    @unittest.skipUnless(os.environ.get("GMT_LONG_TESTS") == "1", "a minute: GMT_LONG_TESTS=1 runs it")
    def test_a_kernel_that_the_default_limit_stops_fails_the_check(self):
        result, report = self.run_program(program=(LIMITS, "endless"), command="check")
        self.assertEqual(result.returncode, 23, result)
        self.assertIn("(60 s)", self.only_left_out(report)["reason"])

    def test_the_context_lives_on_where_faults_do_not_end_it(self):
        options = ("--kernel-time", "300ms", "--after-fault", "continue")
        result, report = self.run_program(*options, program=(LIMITS, "endless"))
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("goes on with cudaSuccess", result.stdout)
        self.assertEqual(self.only_left_out(report)["how"], "stopped")

    def test_a_terminal_shows_how_far_a_kernel_is(self):
        terminal, stderr = pty.openpty()
        self.addCleanup(os.close, terminal)
        words = self.words("--kernel-time", "1500ms")
        process = subprocess.Popen(
            [*words, LIMITS, "endless"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        self.addCleanup(process.kill)
        os.close(stderr)
        self.assertEqual(process.wait(60), 0)
        shown = b""
        try:
            while chunk := os.read(terminal, 4096):
                shown += chunk
        except OSError:  # the other side is closed
            pass
        self.assertRegex(shown.decode(), r"gpumemtrace: executing \S*wait_for\S*: 0 of 2 blocks, 1 s")

    def test_a_launch_takes_microseconds(self):
        result, _ = self.run_program(program=(LIMITS, "launches"))
        self.assertEqual(result.returncode, 0, result)
        found = re.search(r"([0-9.]+) us of processor time a launch", result.stdout)
        self.assertIsNotNone(found, result.stdout)
        self.assertLess(float(found[1]), 20)

    def test_the_run_is_ended_within_a_kernel(self):
        result, report = self.run_program("--run-time", "300ms", program=(LIMITS, "endless"))
        self.assertEqual(result.returncode, 24, result)
        self.assertEqual(result.stderr.count("which is the limit of --run-time"), 1, result.stderr)
        self.assertIn("--run-time", self.only_left_out(report)["reason"])
        self.assert_not_leaks(report)

    def test_the_run_is_ended_between_short_kernels(self):
        result, report = self.run_program("--run-time", "300ms", program=(LIMITS, "converge"))
        self.assertEqual(result.returncode, 24, result)
        self.assertEqual(result.stderr.count("which is the limit of --run-time"), 1, result.stderr)
        kernels = report["processes"][0]["kernels"]
        self.assertGreater(kernels["ran"], 1)
        self.assertEqual(kernels["ran"], kernels["launches"])
        self.assert_not_leaks(report)

    def test_launches_that_are_selected(self):
        result, report = self.run_program("--kernel-launches", "3", program=(LIMITS, "many"))
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("6 launches ran", result.stdout)  # 1, 2, 3, 4, 8 and 16
        kernels = report["processes"][0]["kernels"]
        self.assertEqual((kernels["launches"], kernels["ran"]), (20, 6))
        left_out = self.only_left_out(report)
        self.assertEqual((left_out["how"], left_out["launches"]), ("not-selected", 14))

    def test_check_fails_where_a_launch_could_not_run(self):
        program = (LINKED, "without-function", self.folder)
        for words in ((), ("--require-kernels",)):
            result, report = self.run_program(*words, program=program, command="check")
            self.assertEqual(result.returncode, 23, result)
            self.assertIn("1 of 1 launch did not run", result.stderr)
            self.assertEqual([f["reason"] for f in report["conclusion"]["failures"]], ["unrun-kernels"])
        result, report = self.run_program("--allow-unrun-kernels", program=program, command="check")
        self.assertEqual(result.returncode, 0, result)
        self.assertTrue(report["conclusion"]["passed"])
        self.assertEqual(report["conclusion"]["launches"]["unable"], 1)

    def test_launches_that_the_user_left_out_do_not_fail(self):
        for words in (("--kernel-launches", "3"), ("--require-kernels", "--kernel-launches", "3")):
            result, report = self.run_program(*words, program=(LIMITS, "many"), command="check")
            self.assertEqual(result.returncode, 0, result)
            self.assertEqual(report["conclusion"]["launches"]["left_out"], 14)

    def test_the_limit_of_a_run_is_in_the_conclusion(self):
        result, report = self.run_program("--run-time", "300ms", program=(LIMITS, "converge"), command="check")
        self.assertEqual(result.returncode, 24, result)
        conclusion = report["conclusion"]
        self.assertEqual((conclusion["passed"], conclusion["status"]), (False, 24))
        self.assertEqual([f["reason"] for f in conclusion["failures"]], ["run-time"])

    def test_counts_are_right_after_any_death(self):
        for word, status in (("abort", -signal.SIGABRT), ("kill", -signal.SIGKILL), ("exit", 5)):
            result, report = self.run_program(program=(LIMITS, word), command="check")
            self.assertEqual(result.returncode, status, result)
            launches = report["conclusion"]["launches"]
            self.assertEqual((launches["launches"], launches["ran"]), (50, 50), word)
            self.assertEqual([f["reason"] for f in report["conclusion"]["failures"]], ["program"])

    def test_a_kernel_in_which_the_process_dies_is_counted_apart(self):
        result, report = self.run_program(program=(LIMITS, "kill-inside"), command="check")
        self.assertEqual(result.returncode, -signal.SIGKILL, result)
        launches = report["conclusion"]["launches"]
        counts = tuple(launches[key] for key in ("launches", "ran", "cut_short", "unknown"))
        self.assertEqual(counts, (4, 3, 1, 0))

    def test_a_call_that_is_not_implemented_is_named_once(self):
        for status in (0, 1):
            result, report = self.run_program(program=(LIMITS, f"gives-up-{status}"), command="check")
            self.assertEqual(result.returncode, status, result)
            self.assertEqual([f["kind"] for f in report["findings"] if f["kind"] == "leak"], [])
            named = [gap for gap in report["not_checked"] if "NvSciSync" in gap["what"]]
            self.assertEqual(len(named), 1, report["not_checked"])
            self.assertIn("refused 1 call with", named[0]["why"])
            self.assertIn("leak", [gap["what"] for gap in report["not_checked"]])
        _, report = self.run_program(program=(LIMITS, "goes-on"), command="check")
        self.assertEqual([f["kind"] for f in report["findings"] if f["kind"] == "leak"], ["leak"])

    def test_a_deadlock_is_one_finding_with_both_sides(self):
        result, report = self.run_program(program=(LIMITS, "deadlock"))
        self.assertEqual(result.returncode, 0, result)
        (finding,) = report["findings"]
        self.assertEqual(finding["kind"], "barrier-divergence")
        lines = [stack["frames"][0]["line"] for stack in finding["stacks"][:2]]
        self.assertEqual(sorted(lines), sorted([line_of("one"), line_of("other")]))

    def test_an_interrupt_ends_a_kernel_and_the_report_follows(self):
        process = subprocess.Popen(
            [*self.words(), LIMITS, "endless"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "launches now\n")
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        process.wait(30)
        self.assertEqual(process.returncode, -signal.SIGINT)
        report = self.report()
        self.assertEqual(report["ended"]["signal"], 2, report["ended"])
        left_out = self.only_left_out(report)
        self.assertEqual(left_out["how"], "stopped")
        self.assertIn("a signal to the program", left_out["reason"])

    def test_an_ignored_interrupt_stops_no_kernel(self):
        script = 'trap "" INT; exec "$@"'
        process = subprocess.Popen(
            ["sh", "-c", script, "sh", *self.words("--kernel-time", "2s"), LIMITS, "endless"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "launches now\n")
        os.killpg(process.pid, signal.SIGINT)
        process.wait(60)
        self.assertEqual(process.returncode, 0)
        self.assertIn("--kernel-time", self.only_left_out(self.report())["reason"])

    def test_code_that_the_program_links(self):
        result, report = self.run_program(program=(LINKED, "whole", self.folder))
        self.assertEqual((result.returncode, result.stdout), (0, "102 104 106 108\n"), result)
        self.assertEqual(report["processes"][0]["kernels"]["ran"], 1)
        self.assertEqual(report["findings"], [])

    def test_code_that_cannot_be_linked_is_skipped(self):
        result, report = self.run_program(program=(LINKED, "without-function", self.folder))
        self.assertEqual((result.returncode, result.stdout), (0, "1 2 3 4\n"), result)
        left_out = self.only_left_out(report)
        self.assertEqual(left_out["how"], "not-run")
        self.assertIn("twice", left_out["reason"])


if __name__ == "__main__":
    unittest.main()
