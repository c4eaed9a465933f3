#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--kernel-checks names each kind of mistake, whatever flags the kernels were compiled with.

test_flags.py NVCC CXX GPUMEMTRACE INCLUDE LIBCUDA FOLDER [unittest's arguments]

INCLUDE has cuda.h, LIBCUDA is the library to link to.
"""

import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

NVCC, CXX, GPUMEMTRACE, INCLUDE, LIBCUDA, FOLDER = sys.argv[1:7]
SOURCE = pathlib.Path(FOLDER, "kinds.cu")
ENVIRONMENT = {"KERNEL_CHECKS": "1", "DEVICE_CHECKS": "none", "MEMORY": "256M", "GAPS": "0"}
KINDS = {
    "behind": ("kernel-out-of-bounds", 24),
    "before": ("kernel-out-of-bounds", 1),
    "far": ("kernel-out-of-bounds", 1),
    "negative": ("kernel-out-of-bounds", 1),
    "neighbour": ("kernel-out-of-bounds", 1),
    "null": ("kernel-out-of-bounds", 1),
    "freed": ("kernel-use-after-free", 1),
    "misaligned": ("kernel-misaligned", 1),
    "of_shared": ("kernel-out-of-bounds", 16),
    "of_dynamic": ("kernel-out-of-bounds", 8),
    "of_local": ("kernel-out-of-bounds", 3),
    "of_heap": ("kernel-out-of-bounds", 1),
}
# Compiled with -G, code may use the heap that does not say what it allocates.
WITHOUT_HEAP = {kind: found for kind, found in KINDS.items() if kind != "of_heap"}


def run(*command, **more):
    return subprocess.run(command, check=False, capture_output=True, text=True, **more)


def compile_by_nvrtc(library, source):
    """What NVRTC makes of it: the text."""
    handle = ctypes.c_void_p()
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=compute_90", b"-lineinfo")
    name = str(source).encode()
    assert library.nvrtcCreateProgram(ctypes.byref(handle), source.read_bytes(), name, 0, None, None) == 0
    assert library.nvrtcCompileProgram(handle, 2, options) == 0
    size = ctypes.c_size_t()
    assert library.nvrtcGetPTXSize(handle, ctypes.byref(size)) == 0
    text = ctypes.create_string_buffer(size.value)
    assert library.nvrtcGetPTX(handle, text) == 0
    return text.value


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
        found = {}
        for finding in json.loads(report.read_text())["findings"]:
            if not finding["kind"].startswith("kernel-"):
                continue
            frame = finding["stacks"][0]["frames"][0]
            if frame["function"].startswith("__gmt_checked_"):
                continue  # the simulated device says it, too, where no memory is mapped
            found[frame["function"].split("(")[0]] = (finding["kind"], finding["count"], frame["line"])
        lines = SOURCE.read_text().splitlines()
        marks = {re.search(r"@(\w+)", line).group(1): 1 + i for i, line in enumerate(lines) if "// @" in line}
        self.assertEqual(found, {kind: (*what, marks[kind]) for kind, what in kinds.items()})

    def check_flags(self, kinds, *flags):
        text = self.folder / "kinds.ptx"
        built = run(NVCC, "-ptx", "-std=c++17", "-arch=compute_90", "-ccbin", CXX, *flags, SOURCE, "-o", text)
        self.assertEqual(built.returncode, 0, built.stderr)
        self.check(text, kinds)

    def test_default(self):
        self.check_flags(KINDS, "-lineinfo")

    def test_debug(self):
        self.check_flags(WITHOUT_HEAP, "-G")

    def test_unoptimised(self):
        self.check_flags(KINDS, "-lineinfo", "-Xcicc", "-O0")

    def test_fast_math_and_several_files(self):
        self.check_flags(KINDS, "-lineinfo", "-O3", "--use_fast_math", "-rdc=true")

    def test_nvrtc(self):
        try:
            library = ctypes.CDLL("libnvrtc.so.13")
        except OSError:
            found = list(pathlib.Path(NVCC).resolve().parent.parent.glob("lib64/libnvrtc.so.1?"))
            if not found:
                self.skipTest("there is no NVRTC")
            library = ctypes.CDLL(str(found[0]))
        text = self.folder / "nvrtc.ptx"
        text.write_bytes(compile_by_nvrtc(library, SOURCE))
        self.check(text, KINDS)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[7:]])
