# SPDX-License-Identifier: Apache-2.0
"""`gpumemtrace nvcc`: what the compiler is started with. A script that prints its words stands in for the compiler."""

import os
import unittest

from command_case import CommandCase


class Nvcc(CommandCase):
    def compiler(self, name, folder="bin"):
        path = os.path.join(self.folder, folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as script:
            script.write('#!/bin/sh\nprintf "%s\\n" "${0##*/}" "$@"\nexit 7\n')
        os.chmod(path, 0o755)
        return path

    def compile(self, *words):
        path = os.path.join(self.folder, "bin") + ":" + os.environ["PATH"]
        return self.run_command("nvcc", *words, env={**self.environment, "PATH": path})

    def assert_started(self, result, name, *words):
        self.assertEqual(result.returncode, 7, result)
        started = result.stdout.splitlines()
        self.assertEqual(started[:2], [name, "-I"], result)
        self.assertEqual(started[3:5], ["-include", started[2] + "/gpumemtrace/device.h"])
        self.assertTrue(os.path.isfile(started[4]))
        self.assertEqual(started[5:], list(words))

    def test_words_are_the_compilers_own(self):
        self.compiler("nvcc")
        self.assert_started(
            self.compile("-c", "a b.cu", "--help", "-o", "x"), "nvcc", "-c", "a b.cu", "--help", "-o", "x"
        )
        self.assert_started(self.compile(), "nvcc")

    def test_a_compiler_as_first_word(self):
        path = self.compiler("nvcc", "elsewhere")
        self.assert_started(self.compile(path, "-c", "a.cu"), "nvcc", "-c", "a.cu")
        self.compiler("clang++-19")
        self.assert_started(self.compile("clang++-19", "a.cu"), "clang++-19", "a.cu")
        self.compiler("nvcc")
        self.assert_started(self.compile("nvcc_test.cu"), "nvcc", "nvcc_test.cu")

    def test_no_compiler(self):
        result = self.compile(os.path.join(self.folder, "missing", "nvcc"), "-c", "a.cu")
        self.assertEqual(result.returncode, 127, result)
        self.assertIn("put the CUDA toolkit's bin folder into PATH", result.stderr)

    def test_help(self):
        result = self.run_command("help", "nvcc")
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("gpumemtrace nvcc [COMPILER]", result.stdout)
        self.assertNotIn("Options", result.stdout)


if __name__ == "__main__":
    unittest.main()
