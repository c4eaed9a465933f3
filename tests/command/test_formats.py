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
        self.assertEqual(json.loads(self.read("out.gitlab")), [])
        self.assertEqual(json.loads(self.read("out.json"))["schema"], 1)
        self.assertIn("<testsuites ", self.read("out.junit"))
        self.assertTrue(self.read("out.markdown").startswith("## gpumemtrace"))

    def test_the_last_format_without_a_file_is_the_report(self):
        result = self.run_command(
            "--device", "real", "--format", "text", "--format", "json=a.json", "--format", "gitlab", PROGRAM
        )
        self.assertEqual(json.loads(result.stderr[: result.stderr.index("]") + 1]), [])
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
