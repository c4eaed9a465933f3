# SPDX-License-Identifier: Apache-2.0
"""First lines of commits that are not on origin/main yet."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(os.environ["GMT_SOURCES"])


class Subjects(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.git("init", "--quiet")

    def git(self, *words):
        whose = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", self.folder, *whose, *words], check=True)

    def commit(self, message):
        self.git("commit", "--quiet", "--allow-empty", "-m", message)

    def lint(self):
        command = [sys.executable, "-B", SOURCES / "scripts/lint_subjects.py", self.folder]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1 if result.stdout else 0, result.stderr)
        return [line.partition(": ")[2] for line in result.stdout.splitlines()]

    def test_two_subjects(self):
        self.commit("What is there; and was")
        self.assertEqual(self.lint(), [], "without origin/main")
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.commit("One thing\n\nA reason; another one.")
        self.assertEqual(self.lint(), [])
        self.commit("One thing; and another")
        self.assertEqual(self.lint(), ["One thing; and another"])


if __name__ == "__main__":
    unittest.main()
