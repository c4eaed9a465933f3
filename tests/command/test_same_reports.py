# SPDX-License-Identifier: Apache-2.0
"""`scripts/same-reports` finds what differs between two commands, wherever it is, and nothing where nothing does."""

import os
import pathlib
import subprocess
import sys
import unittest

from command_case import COMMAND, CommandCase

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/same-reports"


class SameReports(CommandCase):
    def compare(self, new, match):
        return subprocess.run(
            [sys.executable, SCRIPT, "--match", match, "--damaged", "8", COMMAND, new],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def changed(self, command):
        """A command whose output goes through `command`."""
        path = pathlib.Path(self.folder) / "bin" / "gpumemtrace"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/bash\n{COMMAND} "$@" | {command}\nexit ${{PIPESTATUS[0]}}\n', encoding="utf-8")
        path.chmod(0o755)
        return path

    def test_the_same(self):
        result = self.compare(COMMAND, "first_steps|damaged|usage/help")
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stdout, r"(?m)^same-reports: \d\d+ runs compared, 0 differ \(0 distinct differences\)$")

    def test_differences(self):
        steps = "fixture/first_steps.plain.static"
        for match, gone, come in (
            (steps, "was never freed", "was not freed"),
            (steps, '"live_blocks"', '"living"'),
            (steps, " family=device", " sort=device"),
            ("damaged", "torn slots", "slots"),
            ("usage/help.leak", "cudaMalloc", "cuMemAlloc"),
        ):
            change = f"sed 's/{gone}/{come}/'"
            result = self.compare(self.changed(change), match)
            self.assertEqual(result.returncode, 1, (change, result))
            self.assertRegex(result.stdout, rf"(?m)^  -.*{gone}.*\n  \+.*{come}")

    def test_status_and_errors(self):
        path = self.changed("cat")
        path.write_text(path.read_text().replace("exit $", "echo more >&2; exit 1$"), encoding="utf-8")
        result = self.compare(path, "fixture/first_steps.clean.static")
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("DIFFERENT status", result.stdout)
        self.assertIn("DIFFERENT stderr", result.stdout)

    def test_cannot_run(self):
        for new in (self.folder, os.path.join(self.folder, "none")):
            result = self.compare(new, "usage")
            self.assertEqual(result.returncode, 2, result)
            self.assertIn("no gpumemtrace in", result.stderr)
        self.assertEqual(self.compare(COMMAND, "matches nothing").returncode, 2)


if __name__ == "__main__":
    unittest.main()
