#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the ways to log the malloc and free of kernels in clang's CUDA mode, and looks at what came out.

test_clang.py "CLANG FLAG..." SOURCE-FOLDER

In PTX each logged call is a load of the control variable with a call of log_event behind it. No GPU.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CLANG, SOURCES = sys.argv[1].split(), pathlib.Path(sys.argv[2])
CONTROL = "_ZN3gmt6device7controlILi1EEE"
FORCED = ["-include", "gpumemtrace/device.h"]


class ClangsCudaMode(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.output = pathlib.Path(temporary.name) / "output"

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "plain.cu"
            source.write_text("__global__ void plain() {}\n")
            done = subprocess.run(
                [*CLANG, "-c", str(source), "-o", str(source) + ".o"], check=False, capture_output=True, text=True
            )
        if done.returncode != 0:
            raise unittest.SkipTest(
                "clang cannot use this toolkit, as those made of Python wheels:\n" + done.stderr[-300:]
            )

    def compile(self, name, *arguments, strict=("-Werror",)):
        done = subprocess.run(
            [*CLANG, *strict, *arguments, str(SOURCES / name), "-o", str(self.output)],
            check=False,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def functions(self, name, *arguments, **more):
        self.compile(name, "-O2", "--cuda-device-only", "-S", *arguments, **more)
        text = self.output.read_text()
        self.assertRegex(text, rf"\n\.weak \.global \.align 8 \.u64 {CONTROL};")
        return dict(
            re.findall(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?(\w+)\s*\([^{};]*\)[^{};]*\{(.*?)\n\}", text, re.S)
        )

    def expect_calls(self, functions, name, malloc, free):
        body = next(body for function, body in functions.items() if name in function)
        calls = re.findall(r"call\.uni (?:\(retval0\), )?(malloc|free),", body)
        self.assertEqual((calls.count("malloc"), calls.count("free")), (malloc, free), name)
        self.assertEqual(len(re.findall(rf"ld\.global\.[bu]64\s+%rd\d+, \[{CONTROL}\]", body)), malloc + free, name)
        self.assertEqual(len(re.findall(r"call\.uni _ZN3gmt6device9log_event", body)), malloc + free, name)

    def test_every_call(self):
        functions = self.functions("every_call.cu", *FORCED)
        self.expect_calls(functions, "by_name", 2, 2)
        self.expect_calls(functions, "by_lambda", 1, 1)
        self.expect_calls(functions, "by_template", 1, 0)

    def test_operators(self):
        self.expect_calls(self.functions("every_call.cu", *FORCED), "by_operator", 2, 2)

    def test_operators_of_clang_that_came_first(self):
        for before in ["-include", "new"], ["-DGPUMEMTRACE_NO_OPERATORS"]:
            functions = self.functions("every_call.cu", *before, *FORCED)
            self.assertNotIn(CONTROL, functions["_Z11by_operatorPP4Node"])
            self.expect_calls(functions, "by_name", 2, 2)

    def test_in_the_source(self):
        self.expect_calls(self.functions("included.cu"), "both", 1, 1)

    def test_thrust_and_cub(self):
        # Of CUB clang says that it could not unroll a loop.
        functions = self.functions("thrust_and_cub.cu", *FORCED, strict=())
        self.expect_calls(functions, "one_malloc", 1, 0)

    def test_the_host_keeps_its_own(self):
        self.compile("included.cu", "-c")
        symbols = subprocess.run(["nm", str(self.output)], capture_output=True, text=True, check=True).stdout
        self.assertRegex(symbols, r" U malloc\b")
        self.assertRegex(symbols, r" U free\b")
        notes = subprocess.run(["readelf", "-n", str(self.output)], capture_output=True, text=True, check=True).stdout
        self.assertIn(".note.gpumemtrace", notes)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
