# SPDX-License-Identifier: Apache-2.0
"""The scripts that write documents: each has a help, writes what --check then accepts, and --check says what differs."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCES = pathlib.Path(os.environ["GMT_SOURCES"])


def call(*words):
    return subprocess.run([str(word) for word in words], check=False, capture_output=True, text=True)


class GeneratedPage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("scripts", "tests/support", "trace"):
            shutil.copytree(SOURCES / name, self.root / name)
        self.script = self.root / "scripts" / "write-format-doc"
        self.page = self.root / "trace" / "FORMAT.md"

    def test_each_script_has_a_help(self):
        for script in sorted((SOURCES / "scripts").glob("write-*-doc")):
            done = call(script, "--help")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("--check", done.stdout)

    def test_what_differs_is_said_and_written(self):
        good = self.page.read_text(encoding="utf-8")
        self.assertEqual(call(self.script, "--check").returncode, 0)
        self.page.write_text(good.replace("### kFree,", "### kFreed,"), encoding="utf-8")
        done = call(self.script, "--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("-### kFreed,", done.stdout)
        self.assertIn(
            "trace/FORMAT.md differs from trace/records.def, trace/vocabulary.def and trace/object_classes.def: run scripts/write-format-doc",
            done.stdout,
        )
        self.assertEqual(call(self.script).returncode, 0)
        self.assertEqual(self.page.read_text(encoding="utf-8"), good)

    def test_a_program_that_prints_no_help(self):
        for program in ("/does/not/exist", "/bin/false"):
            done = call(SOURCES / "scripts" / "write-command-doc", "--check", program)
            self.assertEqual(done.returncode, 1)
            self.assertTrue(done.stderr.startswith(f"{program} prints no help"), done.stderr)


if __name__ == "__main__":
    unittest.main()
