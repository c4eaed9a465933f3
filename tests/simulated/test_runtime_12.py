# SPDX-License-Identifier: Apache-2.0
"""A program of CUDA 12 on the simulated device: built with the headers and the library of NVIDIA's wheel, and run with
the simulated one in its place. And that one has each name that the wheel's has."""

import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND = os.environ["GMT_COMMAND"]
SIMULATED = os.environ["GMT_SIMULATED"]
WHEEL = os.environ["GMT_CUDA12"]


def wheel():
    runtime = os.path.join(WHEEL, "nvidia", "cuda_runtime")
    if not os.path.exists(os.path.join(runtime, "lib", "libcudart.so.12")):
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", WHEEL]
        try:
            subprocess.run([*words, "nvidia-cuda-runtime-cu12"], capture_output=True, timeout=90, check=True)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"skipped: the wheel nvidia-cuda-runtime-cu12 could not be installed: {error}")
            sys.exit(77)
    return runtime


RUNTIME = wheel()


def exported(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[2] for line in listed.splitlines()}


class Runtime12(unittest.TestCase):
    def test_all_names(self):
        (theirs,) = glob.glob(os.path.join(RUNTIME, "lib", "libcudart.so.12"))
        ours = exported(os.path.join(SIMULATED, "libcudart.so.12"))
        self.assertEqual(exported(theirs) - ours, set())
        self.assertIn("cudaMalloc@@libcudart.so.12", ours)

    def test_a_program(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "app")
            words = ["c++", "-std=c++17", "-g", "-I", os.path.join(RUNTIME, "include"), "-o", program]
            source = os.path.join(HERE, "runtime_12.cpp")
            subprocess.run([*words, source, os.path.join(RUNTIME, "lib", "libcudart.so.12")], check=True)
            report = os.path.join(folder, "report.json")
            done = subprocess.run(
                [COMMAND, "check", "--device", "simulated", "--format", f"json={report}", program],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            self.assertEqual(done.returncode, 23, done)
            lines = done.stdout.splitlines()
            name = lines.pop(2)
            self.assertEqual(
                lines,
                [
                    "runtime 12",
                    "properties 1 1 1 9.0 0",
                    "capture 1 1 1 0",
                    "edges 1 1 1 1 1",
                    "time 1",
                    "kernel 2 4 6 8",
                    "again 1",
                ],
                done.stdout,
            )
            self.assertGreater(len(name), len("name "))
            with open(report, encoding="utf-8") as file:
                findings = json.load(file)["findings"]
            errors = sorted((one["kind"], one["bytes"]) for one in findings if one["severity"] == "error")
            self.assertEqual([kind for kind, _ in errors], ["double-free", "leak"])
            self.assertEqual(errors[1][1], 8192)


if __name__ == "__main__":
    unittest.main()
