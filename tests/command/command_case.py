# SPDX-License-Identifier: Apache-2.0
"""What all tests of the command share: the paths CTest gives, a folder of its own, and a way to run it."""

import os
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["GMT_COMMAND"]
LIBDIR = os.environ["GMT_LIBDIR"]
PROGRAM = os.environ["GMT_PROGRAM"]
STATIC_PROGRAM = os.environ["GMT_STATIC_PROGRAM"]


def flat(text):
    """Reports wrap their sentences."""
    return " ".join(text.split())


class CommandCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GPUMEMTRACE_", "GMT_", "LD_", "NO_COLOR", "FORCE_", "COLUMNS"))
        }
        self.environment["GPUMEMTRACE_LIBDIR"] = LIBDIR

    def run_command(self, *words, **more):
        more.setdefault("env", self.environment)
        more.setdefault("cwd", self.folder)
        more.setdefault("stdin", subprocess.DEVNULL if "input" not in more else None)
        if more["stdin"] is None:
            del more["stdin"]
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        return subprocess.run([COMMAND, *words], check=False, text=True, timeout=60, **more)

    def run_words(self, *words):
        """Runs the words, which begin the command by other means than run_command()."""
        return subprocess.run(
            words, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )

    def assert_usage_error(self, words, *expected):
        result = self.run_command(*words)
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("gpumemtrace: "), result.stderr)
        for text in expected:
            self.assertIn(text, result.stderr)
        self.assertEqual(result.stdout, "")
