#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every way to log the malloc and free of kernels, and looks at what came out.

test_forms.py NVCC INCLUDE-FOLDER GPUMEMTRACE SOURCE-FOLDER [unittest's arguments]

In PTX each logged call is a load of the control variable followed by a branch; in the host's object the names are the C
library's. Each program is also run: its main() does the host's part only. No GPU.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

NVCC, INCLUDE, GPUMEMTRACE, SOURCES = sys.argv[1:5]
CONTROL = "_ZN3gmt6device7controlILi1EEE"
FLAGS = ["-std=c++17", "-arch=sm_90", "-Xcompiler", "-Wall,-Wextra,-Werror", "-no-compress"]
STRICT = ["-Werror", "all-warnings"]
# Samples and test programs are compiled in most forms, too: what is left out shows nothing of the code that they run.
thorough = unittest.skipUnless(os.environ.get("GMT_LONG_TESTS") == "1", "compiling takes long: GMT_LONG_TESTS=1")
FORCED = ["-I", INCLUDE, "-include", "gpumemtrace/device.h"]


def run(*command):
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Forms(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def nvcc(self, *arguments, output, strict=STRICT):
        status, text = run(NVCC, *FLAGS, *strict, *arguments, "-o", self.folder / output)
        self.assertEqual(status, 0, text)
        return self.folder / output

    def source(self, name):
        return pathlib.Path(SOURCES) / name

    @staticmethod
    def functions(ptx):
        return dict(re.findall(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?(\w+)\s*\(.*?\n\{(.*?)\n\}", ptx, re.S))

    def ptx(self, name, *arguments):
        text = self.nvcc("-ptx", self.source(name), *arguments, output=name + ".ptx").read_text()
        return text, self.functions(text)

    def program(self, name, *arguments):
        """The PTX of one compilation, its functions, and the program."""
        binary = self.nvcc("-keep", "-keep-dir", self.folder, self.source(name), *arguments, output="program")
        text = (self.folder / name).with_suffix(".ptx").read_text()
        return text, self.functions(text), binary

    def expect_calls(self, functions, name, malloc, free):
        """The function tests the variable at each of its calls, and logs behind the test only."""
        body = next(body for function, body in functions.items() if name in function)
        self.assertEqual(body.count(CONTROL), malloc + free, name)
        self.assertEqual(body.count("log_event"), malloc + free, name)
        self.assertEqual(len(re.findall(r"^\s*(?:malloc|__cuda_syscall_aligned_malloc),", body, re.M)), malloc, name)
        self.assertEqual(len(re.findall(r"^\s*free,", body, re.M)), free, name)
        for test in re.finditer(r"ld\.global\.u64\s+(%rd\d+), \[" + CONTROL, body):
            self.assertRegex(body[test.end() :][:200], rf"setp\.(eq|ne)\.s64\s+%p\d+, {test[1]}, 0")

    def expect_host_untouched(self, binary):
        _, symbols = run("nm", binary)
        self.assertRegex(symbols, r" U malloc\b")
        self.assertRegex(symbols, r" U free\b")
        self.assertNotRegex(symbols, r" [TtWV] (_Znwm|_Znam|_ZdlPv|_ZdaPv)\b")
        self.assertNotRegex(symbols, r" U \w*gpumemtrace")

    def expect_note(self, binary, wanted=True):
        """By which the interposer knows the program."""
        self.assertEqual(".note.gpumemtrace" in run("readelf", "-n", binary)[1], wanted)

    def expect_runs(self, binary):
        self.assertEqual(run(binary), (0, ""))

    def test_every_call(self):
        text, functions, binary = self.program("every_call.cu", *FORCED)
        self.assertRegex(text, rf"\n\.global \.align 8 \.u64 {CONTROL};")
        self.expect_calls(functions, "by_name", 3, 2)
        self.expect_calls(functions, "by_operator", 2, 2)
        self.expect_calls(functions, "by_aligned_operator", 2, 2)
        self.expect_calls(functions, "by_lambda", 1, 1)
        self.expect_calls(functions, "by_template", 1, 0)
        self.expect_calls(functions, "without", 0, 0)
        self.assertIn(CONTROL.encode(), binary.read_bytes())
        self.expect_note(binary)
        self.expect_host_untouched(binary)
        self.expect_runs(binary)

    @thorough
    def test_several_files(self):
        text, _ = self.ptx("every_call.cu", *FORCED, "-rdc=true")
        self.assertRegex(text, rf"\n\.weak \.global \.align 8 \.u64 {CONTROL};")
        common = ("-rdc=true", *FORCED, "-DSEVERAL_FILES")
        first = self.nvcc("-c", self.source("every_call.cu"), *common, output="first.o")
        second = self.nvcc("-c", self.source("second_file.cu"), *common, output="second.o")
        library = self.nvcc("-lib", second, output="libsecond.a")
        for parts in ([first, second], [first, library]):
            binary = self.nvcc("-rdc=true", *parts, output="several")
            self.expect_host_untouched(binary)
            self.expect_runs(binary)

    def test_shared_library(self):
        library = self.nvcc(
            "-shared", "-Xcompiler", "-fPIC", self.source("second_file.cu"), "-rdc=true", *FORCED, output="libsecond.so"
        )
        self.expect_note(library)
        _, symbols = run("nm", "-D", library)
        self.assertNotIn("control", symbols)  # a unique symbol would keep the library from being unloaded
        self.assertRegex(symbols, r" U malloc\b")

    @thorough
    def test_debug(self):
        self.expect_runs(self.nvcc("-G", "-O0", self.source("every_call.cu"), *FORCED, output="debug"))

    @thorough
    def test_thrust_and_cub(self):
        _, functions, binary = self.program("thrust_and_cub.cu", *FORCED)
        self.expect_calls(functions, "one_malloc", 1, 0)
        self.expect_runs(binary)

    @thorough
    def test_address_of_free(self):
        source = self.source("address_of_free.cu")
        status, _ = run(NVCC, *FLAGS, *FORCED, "-c", source, "-o", self.folder / "fails.o")
        self.assertNotEqual(status, 0, "the opt-out is not needed any more: say so in the header and the documents")
        for way_out in ("-DGPUMEMTRACE_NO_RENAME", "-DUNDEFINE"):
            _, functions, binary = self.program("address_of_free.cu", *FORCED, way_out)
            self.expect_calls(functions, "one_malloc", 1, 0)
            self.expect_runs(binary)

    def test_call_by_call(self):
        _, functions, binary = self.program("call_by_call.cu", "-I", INCLUDE)
        body = next(body for function, body in functions.items() if "mixed" in function)
        self.assertEqual(body.count(CONTROL), 2)
        self.assertEqual(len(re.findall(r"^\s*malloc,", body, re.M)), 3)
        self.expect_runs(binary)

    @thorough
    def test_included_in_the_source(self):
        _, functions = self.ptx("included.cu", "-I", INCLUDE)
        self.expect_calls(functions, "both", 1, 1)

    @thorough
    def test_included_and_forced(self):
        self.ptx("included.cu", *FORCED)

    def test_the_commands_nvcc(self):
        status, text = run(
            GPUMEMTRACE,
            "nvcc",
            NVCC,
            *FLAGS,
            "-ptx",
            self.source("every_call.cu"),
            "-o",
            self.folder / "by_command.ptx",
        )
        self.assertEqual(status, 0, text)
        self.assertIn(CONTROL, (self.folder / "by_command.ptx").read_text())

    @thorough
    def test_cmake_function_and_launcher(self):
        package = pathlib.Path(INCLUDE).parent

        def configure(folder, *arguments):
            return run(
                "cmake",
                "-S",
                SOURCES,
                "-B",
                self.folder / folder,
                f"-DCMAKE_PREFIX_PATH={package}",
                f"-DCMAKE_CUDA_COMPILER={NVCC}",
                "-DCMAKE_CUDA_ARCHITECTURES=90",
                "-DCMAKE_CUDA_FLAGS=-no-compress",
                *arguments,
            )

        status, text = configure("function")
        if status != 0 and "CMAKE_CUDA_COMPILER" in text:
            self.skipTest("CMake cannot use this toolkit, as those made of Python wheels:\n" + text[-300:])
        self.assertEqual(status, 0, text)
        status, text = run("cmake", "--build", self.folder / "function", "-j2")
        self.assertEqual(status, 0, text)
        for name in ("logged", "separable", "host_file", "plain"):
            binary = self.folder / "function" / name
            self.expect_runs(binary)
            self.assertEqual(CONTROL.encode() in binary.read_bytes(), name in ("logged", "separable"), name)

        status, text = configure("launcher", f"-DCMAKE_CUDA_COMPILER_LAUNCHER={GPUMEMTRACE};nvcc")
        self.assertEqual(status, 0, text)
        status, text = run("cmake", "--build", self.folder / "launcher", "--target", "plain")
        self.assertEqual(status, 0, text)
        self.assertIn(CONTROL.encode(), (self.folder / "launcher" / "plain").read_bytes())

    def test_host_file(self):
        binary = self.nvcc(self.source("host_only.cpp"), *FORCED, output="host")
        self.expect_note(binary, wanted=False)
        self.expect_runs(binary)

    def test_too_old_a_language(self):
        status, text = run(NVCC, "-std=c++14", *FORCED, "-c", self.source("included.cu"), "-o", self.folder / "old.o")
        self.assertNotEqual(status, 0)
        self.assertIn("gpumemtrace/device.h needs C++17", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
