# SPDX-License-Identifier: Apache-2.0
"""Several reports of one run: --format FORMAT=FILE."""

import json
import os
import unittest

from command_case import PROGRAM, CommandCase, flat


class Formats(CommandCase):
    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_several_files_and_the_text(self):
        words = [f"--format={format_id}=out.{format_id}" for format_id in ("sarif", "junit", "gitlab", "json")]
        result = self.run_command("--device", "real", *words, "--format", "markdown=out.markdown", PROGRAM)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("SUMMARY: gpumemtrace:", result.stderr)
        self.assertEqual(
            result.stderr.splitlines()[-5:],
            [f"gpumemtrace: {name} report: out.{name}" for name in ("sarif", "junit", "gitlab", "json", "markdown")],
        )
        self.assertEqual(json.loads(self.read("out.sarif"))["version"], "2.1.0")
        (issue,) = json.loads(self.read("out.gitlab"))
        self.assertEqual(issue["check_name"], "no-cuda-calls")
        self.assertEqual(json.loads(self.read("out.json"))["schema"], 1)
        self.assertIn("<testsuites ", self.read("out.junit"))
        self.assertTrue(self.read("out.markdown").startswith("## gpumemtrace"))

    def test_the_last_format_without_a_file_is_the_report(self):
        result = self.run_command(
            "--device", "real", "--format", "text", "--format", "json=a.json", "--format", "gitlab", PROGRAM
        )
        (issue,) = json.loads(result.stderr[: result.stderr.index("]") + 1])
        self.assertEqual(issue["check_name"], "no-cuda-calls")
        json.loads(self.read("a.json"))

    def test_an_older_longer_file_is_replaced(self):
        with open(self.path("out.json"), "w", encoding="utf-8") as file:
            file.write("x" * 100_000)
        self.run_command("--device", "real", "--format", "json=out.json", PROGRAM)
        json.loads(self.read("out.json"))

    def test_a_wrong_place_is_found_before_the_run(self):
        result = self.run_command("--format", "json=/nowhere/report", "touch", "ran")
        self.assertEqual(result.returncode, 2, result)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_one_full_disk_keeps_no_other_file_from_being_written(self):
        result = self.run_command(
            "check", "--device", "real", "--format", "json=/dev/full", "--format", "sarif=out.sarif", PROGRAM
        )
        self.assertEqual(result.returncode, 4, result)
        self.assertIn("/dev/full", result.stderr)
        json.loads(self.read("out.sarif"))

    def test_wrong_values(self):
        self.assert_usage_error(["--format", "xml=out.xml", "true"], "'xml=out.xml'", "sarif")
        self.assert_usage_error(["--format", "json=", "true"], "file")
        self.assert_usage_error(["--format", "json=a", "--format", "sarif=a", "true"], "'sarif=a'", "once")

    def test_the_file_may_have_an_equals_sign(self):
        self.run_command("--device", "real", "--format=json=a=b.json", PROGRAM)
        json.loads(self.read("a=b.json"))

    def check_in_every_format(self, device, *program):
        """The status, the reasons in JSON, and the line SUMMARY, where all formats say "failed"."""
        formats = ("sarif", "junit", "gitlab", "json", "markdown", "html")
        files = [f"--format={name}=out.{name}" for name in formats]
        result = self.run_command("check", "--device", device, *files, *program)
        conclusion = json.loads(self.read("out.json"))["conclusion"]
        reasons = [failure["reason"] for failure in conclusion["failures"]]
        sentence = conclusion["failures"][-1]["message"]
        status = 128 - result.returncode if result.returncode < 0 else result.returncode
        self.assertEqual((conclusion["passed"], conclusion["status"]), (False, status))
        invocation = json.loads(self.read("out.sarif"))["runs"][0]["invocations"][0]
        self.assertEqual((invocation["executionSuccessful"], invocation["exitCode"]), (False, status))
        notes = [note["message"]["text"] for note in invocation["toolExecutionNotifications"]]
        self.assertIn(sentence, notes)
        self.assertRegex(self.read("out.junit"), "<(failure|error) ")
        self.assertEqual([issue["check_name"] for issue in json.loads(self.read("out.gitlab"))], reasons)
        self.assertIn("**Failed**", self.read("out.markdown"))
        self.assertNotIn("Passed", self.read("out.markdown"))
        self.assertIn(sentence.split(":")[0], self.read("out.html"))
        (summary,) = [line for line in result.stderr.splitlines() if line.startswith("SUMMARY:")]
        return result, reasons, summary

    def test_every_format_says_how_the_program_ended(self):
        ends = (
            (("exit", "3"), "; exit status 3"),
            (("signal", "6"), "; killed by SIGABRT (Aborted)"),
            (("signal", "9"), "; killed by SIGKILL"),
        )
        for words, end in ends:
            _, reasons, summary = self.check_in_every_format("real", PROGRAM, *words)
            self.assertEqual(reasons, ["no-cuda-calls", "program"], words)
            self.assertTrue(summary.endswith(end), summary)

    def test_a_missing_driver_is_said_once_and_no_call_is_missed(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a driver")
        result, reasons, summary = self.check_in_every_format("auto", PROGRAM)
        self.assertEqual((result.returncode, reasons), (23, ["unchecked"]))
        self.assertEqual(summary, "SUMMARY: gpumemtrace: nothing was checked: no NVIDIA driver on this machine")
        report = result.stderr[result.stderr.index("gpumemtrace 0.") :]
        self.assertEqual(flat(report).count("--device simulated"), 1, report)
        for text in (result.stderr, self.read("out.junit"), self.read("out.markdown"), self.read("out.sarif")):
            self.assertNotIn("no CUDA call", text)

    def test_what_was_not_recorded_fails_in_every_format(self):
        self.environment["FAKE_NOTE"] = "nodir disk full"
        result, reasons, summary = self.check_in_every_format("real", PROGRAM)
        self.assertEqual((result.returncode, reasons), (23, ["incomplete"]))
        self.assertEqual(summary, "SUMMARY: gpumemtrace: nothing was checked")
        self.assertIn("disk full", flat(result.stderr))

    def test_a_run_without_calls_fails_in_every_file(self):
        result = self.run_command(
            "check", "--device", "real", "--format", "junit=a.xml", "--format", "sarif=a.sarif", "true"
        )
        self.assertEqual(result.returncode, 23, flat(result.stderr))
        self.assertIn("<error ", self.read("a.xml"))
        invocation = json.loads(self.read("a.sarif"))["runs"][0]["invocations"][0]
        self.assertFalse(invocation["executionSuccessful"])


if __name__ == "__main__":
    unittest.main()
