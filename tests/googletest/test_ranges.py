# SPDX-License-Identifier: Apache-2.0
"""Reports name the test of each finding: the program's tests under the command, on the simulated device."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

COMMAND = os.environ["GMT_COMMAND"]
PROGRAM = os.environ["GMT_PROGRAM"]


class Ranges(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def check(self, *options, words=()):
        command = [COMMAND, "check", "--device", "simulated", *options, PROGRAM, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=self.folder)

    def test_findings_have_their_test(self):
        done = self.check("--group-by", "range", "--format", "json=memory.json")
        self.assertEqual(done.returncode, 23, done.stdout + done.stderr)
        with open(os.path.join(self.folder, "memory.json"), encoding="utf-8") as file:
            report = json.load(file)
        found = {(one["kind"], one["range"]) for one in report["findings"] if one["severity"] == "error"}
        self.assertEqual(found, {("leak", "Memory.Leaks"), ("double-free", "Threads.FreeTwice")})

    def test_junit_by_test(self):
        done = self.check("--group-by", "range", "--format", "junit=memory.xml")
        self.assertEqual(done.returncode, 23, done.stderr)
        root = xml.etree.ElementTree.parse(os.path.join(self.folder, "memory.xml")).getroot()
        failed = {case.get("classname"): case for case in root.iter("testcase") if case.find("failure") is not None}
        self.assertEqual(set(failed), {"gpumemtrace.Memory.Leaks", "gpumemtrace.Threads.FreeTwice"})
        leak = failed["gpumemtrace.Memory.Leaks"]
        self.assertTrue(leak.get("name").startswith("leak in "), leak.get("name"))
        self.assertIn("program.cpp:", leak.find("failure").text)

    def test_a_good_test_passes(self):
        done = self.check(words=["--gtest_filter=Memory.IsFreed:Some/*"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("3 tests", done.stdout)

    def test_names_of_parameters(self):
        done = self.check(
            "--policy", "max-device-bytes 1", "--group-by", "range", "--format", "json=memory.json",
            words=["--gtest_filter=Some/*"],
        )  # fmt: skip
        self.assertEqual(done.returncode, 23, done.stderr)
        with open(os.path.join(self.folder, "memory.json"), encoding="utf-8") as file:
            ranges = [one["range"] for one in json.load(file)["findings"] if one["kind"] == "policy"]
        self.assertEqual(ranges, ["Some/Sizes.AreFreed/1"])

    def test_without_the_command(self):
        environment = {"LD_LIBRARY_PATH": os.environ["GMT_SIMULATED"]}
        done = subprocess.run([PROGRAM], capture_output=True, text=True, check=False, timeout=60, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
