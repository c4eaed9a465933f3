#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--kernel-checks checks what nvcc -rdc=true compiled of several files.

test_several_files.py NVCC CXX GPUMEMTRACE FOLDER [unittest's arguments]
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

NVCC, CXX, GPUMEMTRACE, FOLDER = sys.argv[1:5]
ENVIRONMENT = {"KERNEL_CHECKS": "1", "DEVICE_CHECKS": "none", "MEMORY": "256M", "GAPS": "0"}


def run(*command, **more):
    return subprocess.run(command, check=False, capture_output=True, text=True, **more)


class SeveralFiles(unittest.TestCase):
    def report_of(self, *architecture):
        sources = [os.path.join(FOLDER, name) for name in ("first.cu", "second.cu")]
        environment = os.environ | {f"GPUMEMTRACE_SIM_{name}": value for name, value in ENVIRONMENT.items()}
        with tempfile.TemporaryDirectory() as folder:
            flags = ["-std=c++17", "-O2", "-lineinfo", "-rdc=true", "-cudart", "shared", "-ccbin", CXX]
            built = run(NVCC, *flags, *architecture, *sources, "-o", "program", cwd=folder)
            self.assertEqual(built.returncode, 0, built.stderr)
            report = pathlib.Path(folder) / "report"
            command = [GPUMEMTRACE, "check", "--kernel-checks", "--device", "simulated", "-o", report]
            done = run(*command, "./program", cwd=folder, env=environment)
            return done.stdout, report.read_text()

    def test_mistakes_are_named(self):
        lines = pathlib.Path(FOLDER, "second.cu").read_text().splitlines()
        number = 1 + next(i for i, line in enumerate(lines) if "@element" in line)
        printed, report = self.report_of("-arch=sm_90")
        self.assertEqual(printed, "3 5\n")
        self.assertIn("kernel-out-of-bounds    4 times", report)
        self.assertIn(f"second.cu:{number}  element(int const*, int)", report)
        self.assertNotIn("-rdc", report)

    def test_without_ptx_the_reason_is_given(self):
        _, report = self.report_of("-gencode", "arch=compute_90,code=sm_90")
        self.assertIn("-rdc=true", report)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
