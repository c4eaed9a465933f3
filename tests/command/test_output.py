# SPDX-License-Identifier: Apache-2.0
"""Where the report goes, its colours, and what happens when it cannot be written."""

import json
import os
import pty
import subprocess
import unittest

from command_case import COMMAND, PROGRAM, CommandCase


class Output(CommandCase):
    def test_report_goes_to_stderr_and_ends_with_the_summary(self):
        result = self.run_command("--device", "real", PROGRAM, "environment", "HOME")
        self.assertNotIn("SUMMARY", result.stdout)
        self.assertTrue(result.stderr.splitlines()[-1].startswith("SUMMARY: gpumemtrace:"), result.stderr)

    def test_json_to_a_file(self):
        path = os.path.join(self.folder, "report.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write("x" * 100000)  # an older, longer report is replaced
        result = self.run_command("--device", "real", "--format", "json", "--output", "report.json", PROGRAM)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("report.json", result.stderr)
        with open(path, encoding="utf-8") as file:
            json.load(file)

    def test_the_width_is_the_terminals_and_a_files_is_100(self):
        def widest(text):
            return max(len(line) for line in text.splitlines() if not line.startswith("SUMMARY"))

        words = ("--device", "real", PROGRAM, "environment", "x " * 100)
        self.environment["COLUMNS"] = "40"
        self.assertLess(widest(self.run_command(*words).stderr), 65)
        self.run_command("--output", "report.txt", *words)
        with open(os.path.join(self.folder, "report.txt"), encoding="utf-8") as file:
            self.assertGreater(widest(file.read()), 65)

    def test_record_prints_no_report(self):
        result = self.run_command("record", "--device", "real", PROGRAM)
        self.assertNotIn("SUMMARY", result.stderr)
        self.assertLessEqual(result.stderr.count("\n"), 3)

    def test_full_disk(self):
        result = self.run_command("check", "--device", "real", "--output", "/dev/full", PROGRAM)
        self.assertEqual(result.returncode, 4, result)
        self.assertIn("/dev/full", result.stderr)
        self.assertIn("No space left", result.stderr)

    def test_a_limit_of_file_sizes_is_an_error_that_says_so(self):
        program = (PROGRAM, "environment", "HOME")
        for command in (("check",), ("run",)):
            words = (*command, "--device", "real", "--format", "html", "--output", "r.html", *program)
            result = self.limited("ulimit -f 1", *words)
            self.assertEqual(result.returncode, 4, result)
            self.assertIn("cannot write the report to r.html: File too large", result.stderr)
        self.environment["FAKE_TRACE"] = "app"
        self.run_command("record", "--device", "real", *program)
        result = self.limited("ulimit -f 1", "report", "--format", "html", "--output", "r.html")
        self.assertEqual(result.returncode, 4, result)
        self.assertIn("cannot write the report to r.html: File too large", result.stderr)

    def test_the_program_still_ends_by_the_limit_of_file_sizes(self):
        script = "ulimit -f 1; head -c 9000 /dev/zero > big"
        result = self.run_command("run", "--device", "real", "bash", "-c", f"{script}; kill -XFSZ $$; exit 3")
        self.assertEqual(result.returncode, -25, result)

    def test_a_small_stack(self):
        self.environment["FAKE_TRACE"] = "app"
        result = self.limited("ulimit -s 64", "run", "--device", "real", PROGRAM)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("SUMMARY", result.stderr)

    def limited(self, limit, *words):
        return self.run_words("bash", "-c", f'{limit}; exec "$@"', "bash", COMMAND, *words)

    def test_full_disk_keeps_the_programs_status(self):
        result = self.run_command("--device", "real", "--output", "/dev/full", PROGRAM, "exit", "9")
        self.assertEqual(result.returncode, 9, result)
        self.assertIn("No space left", result.stderr)

    def test_wrong_place_is_found_before_the_run(self):
        result = self.run_command("--output", "/nowhere/report", "touch", "ran")
        self.assertEqual(result.returncode, 2, result)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "ran")))

    def test_full_stdout_is_an_error_of_help(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = self.run_command("help", stdout=full)
        self.assertEqual(result.returncode, 4)
        self.assertIn("cannot write to standard output: No space left on device; free some space\n", result.stderr)

    def test_a_file_that_was_made_for_nothing_goes(self):
        result = self.run_command("report", "--output", "report.txt", "--format", "json=r.json", "no-trace")
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(os.listdir(self.folder), [])
        with open(os.path.join(self.folder, "report.txt"), "w", encoding="utf-8") as file:
            file.write("of before")
        self.run_command("report", "--output", "report.txt", "no-trace")
        with open(os.path.join(self.folder, "report.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "of before")

    def on_terminal(self, *words):
        """Both streams are a terminal's."""
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            [COMMAND, *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=follower,
            stderr=follower,
        )
        os.close(follower)
        text = b""
        try:
            while part := os.read(leader, 4096):
                text += part
        except OSError:
            pass  # the other end is closed
        os.close(leader)
        return process.wait(timeout=60), text.decode()

    def test_pages_do_not_flood_a_terminal(self):
        trace = os.path.join(os.path.dirname(__file__), "..", "fixtures", "first_steps.clean.static")
        for words in (
            ("report", "--format", "html", trace),
            ("diff", "--format", "html", trace, trace),
            ("check", "--device", "real", "--format", "perfetto", "touch", "ran"),
        ):
            status, text = self.on_terminal(*words)
            self.assertEqual(status, 2, text)
            self.assertIn("=FILE", text)
        self.assertEqual(os.listdir(self.folder), [])
        status, text = self.on_terminal("report", "--format", "html", "--output", "page.html", trace)
        self.assertEqual((status, os.listdir(self.folder)), (0, ["page.html"]), text)

    def test_a_reader_that_has_gone_is_no_error(self):
        reader, writer = os.pipe()
        os.close(reader)
        result = self.run_command("help", "options", stdout=writer)
        os.close(writer)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


class Color(CommandCase):
    def on_a_terminal(self, *options):
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [COMMAND, "--device", "real", *options, PROGRAM],
            cwd=self.folder,
            env=self.environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        text = b""
        try:
            while chunk := os.read(master, 65536):
                text += chunk
        except OSError:
            pass  # the terminal's other side has gone
        os.close(master)
        process.wait(60)
        return text

    def setUp(self):
        super().setUp()
        self.environment["TERM"] = "xterm"

    def test_never_and_no_color(self):
        self.assertNotIn(b"\x1b[", self.on_a_terminal("--color", "never"))
        self.environment["NO_COLOR"] = "1"
        self.assertNotIn(b"\x1b[", self.on_a_terminal())

    def test_no_terminal_no_color(self):
        self.assertNotIn("\x1b[", self.run_command("--device", "real", PROGRAM).stderr)


if __name__ == "__main__":
    unittest.main()
