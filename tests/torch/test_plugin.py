# SPDX-License-Identifier: Apache-2.0
"""pytest --gpumemtrace and snapshot() see tensors."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

COMMAND = os.environ["GMT_COMMAND"]
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
RUNTIME = os.path.dirname(os.environ["GMT_RUNTIME"])
PACKAGE = os.path.join(os.environ["GMT_SOURCES"], "python")


def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GPUMEMTRACE_", "PYTHON"))}
    return {
        **kept,
        "PYTHONPATH": PACKAGE,
        "PYTHONDONTWRITEBYTECODE": "1",
        "GPUMEMTRACE_COMMAND": COMMAND,
        "GMT_PROGRAMS": PROGRAMS,
        "LD_LIBRARY_PATH": RUNTIME + ":" + os.environ["GMT_TORCH"],
    }


class Plugin(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def run_python(self, *words):
        return subprocess.run(
            [*words], capture_output=True, text=True, timeout=100, check=False, env=environment(), cwd=self.folder
        )

    @unittest.skipUnless(importlib.util.find_spec("pytest"), "no python3-pytest")
    def test_tests_that_leave_tensors_behind(self):
        shutil.copy(os.path.join(PROGRAMS, "test_growth.py"), self.folder)
        plugin = ("-p", "no:cacheprovider", "-p", "gpumemtrace.pytest_plugin", "--gpumemtrace", "-rP")
        device = ("--gpumemtrace-options", "--device simulated")
        done = self.run_python(sys.executable, "-m", "pytest", *plugin, *device)
        text = done.stdout + done.stderr
        self.assertIn("2 failed, 3 passed", text)
        failures, _, passes = done.stdout.partition(" PASSES ")
        self.assertRegex(failures, r"8\.0 KiB of tensors are left behind\n +8\.0 KiB in a tensor, made here ")
        self.assertRegex(failures, r"test_growth\.py:32 +test_keeps_too_much\n")
        self.assertIn("The test's mark allows 1.0 KiB.", failures)
        self.assertIn("The test held 1.5 MiB of device memory at once; its mark allows 1.0 MiB.", failures)
        self.assertIn("4.0 KiB of tensors are left behind", passes)
        self.assertRegex(passes, r"4\.0 KiB in a tensor, made here in head  .*\n +test_growth\.py:")

    def test_a_snapshot(self):
        program = os.path.join(PROGRAMS, "tensors.py")
        done = self.run_python(COMMAND, "run", "--device", "simulated", sys.executable, program, "looking")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("[(8192, 2), (512, 1)]", done.stdout)


if __name__ == "__main__":
    unittest.main()
