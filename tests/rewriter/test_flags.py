#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--kernel-checks names each kind of mistake, whatever flags the kernels were compiled with.

test_flags.py NVCC CXX GPUMEMTRACE INCLUDE LIBCUDA FOLDER [unittest's arguments]

INCLUDE has cuda.h, LIBCUDA is the library to link to.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

NVCC, CXX, GPUMEMTRACE, INCLUDE, LIBCUDA, FOLDER = sys.argv[1:7]
SOURCE = pathlib.Path(FOLDER, "kinds.cu")
ENVIRONMENT = {"KERNEL_CHECKS": "1", "DEVICE_CHECKS": "none", "MEMORY": "256M", "GAPS": "0"}
sys.path.insert(0, FOLDER)
from kinds import KINDS, found_in, wanted  # noqa: E402
from nvrtc import text_by_nvrtc  # noqa: E402


def run(*command, **more):
    return subprocess.run(command, check=False, capture_output=True, text=True, **more)


class Flags(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.program = cls.folder / "launches"
        source = pathlib.Path(FOLDER, "launches.cpp")
        built = run(CXX, "-std=c++17", "-I", INCLUDE, source, LIBCUDA, "-o", cls.program)
        assert built.returncode == 0, built.stderr

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def check(self, text, kinds):
        report = self.folder / "report.json"
        command = [GPUMEMTRACE, "check", "--kernel-checks", "--device", "simulated", "--format", "json", "-o", report]
        environment = os.environ | {f"GPUMEMTRACE_SIM_{name}": value for name, value in ENVIRONMENT.items()}
        done = run(*command, self.program, text, cwd=self.folder, env=environment)
        self.assertEqual(done.returncode, 23, done.stderr)
        self.assertEqual(found_in(report), wanted(kinds))

    def check_flags(self, kinds, *flags):
        text = self.folder / "kinds.ptx"
        built = run(NVCC, "-ptx", "-std=c++17", "-arch=compute_90", "-ccbin", CXX, *flags, SOURCE, "-o", text)
        self.assertEqual(built.returncode, 0, built.stderr)
        self.check(text, kinds)

    def test_default(self):
        self.check_flags(KINDS, "-lineinfo")

    # Code with -G leaves the heap unchecked, where the simulated device sees the mistake by itself.
    def test_debug(self):
        self.check_flags(KINDS, "-G")

    def test_unoptimised(self):
        self.check_flags(KINDS, "-lineinfo", "-Xcicc", "-O0")

    def test_fast_math_and_several_files(self):
        self.check_flags(KINDS, "-lineinfo", "-O3", "--use_fast_math", "-rdc=true")

    def test_nvrtc(self):
        compiled = text_by_nvrtc(NVCC, SOURCE)
        if compiled is None:
            self.skipTest("there is no NVRTC")
        text = self.folder / "nvrtc.ptx"
        text.write_bytes(compiled)
        self.check(text, KINDS)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[7:]])
