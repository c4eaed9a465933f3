#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the wheel into a fresh virtual environment whose path has a space, and uses it there on the simulated device.

test_package.py WHEEL [--sample PROGRAM]     SAMPLE: samples/first_steps.cu, built

Checked: the wheel's tag and size, that it holds no link and what it must hold; `gpumemtrace` and `python -m gpumemtrace`
with a sample; and the Python side: ranges, the trace's folder, a report as objects, the plug-in of pytest. Exit status: 0 all holds, 1 not.
"""

import argparse
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
MOST_BYTES = 15 << 20
OPTIONS = argparse.Namespace()


def wheel_text(name):
    with zipfile.ZipFile(OPTIONS.wheel) as wheel:
        return wheel.read(name).decode()


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="test package ")
        cls.folder = pathlib.Path(cls.temporary.name).resolve()
        cls.environment = cls.folder / "a virtual environment"
        subprocess.run([sys.executable, "-m", "venv", cls.environment], check=True)
        cls.bin = cls.environment / "bin"
        cls.run_checked(cls.bin / "python3", "-m", "pip", "install", "--quiet", "--no-index", OPTIONS.wheel)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def start(cls, *words):
        environment = {"PATH": f"{cls.bin}:/usr/bin:/bin", "TMPDIR": str(cls.folder), "HOME": str(cls.folder)}
        return subprocess.run(
            list(map(str, words)),
            check=False,
            cwd=cls.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    @classmethod
    def run_checked(cls, *words):
        done = cls.start(*words)
        if done.returncode != 0:
            raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    def test_the_wheel(self):
        self.assertRegex(OPTIONS.wheel.name, r"^gpumemtrace-[\d.]+-py3-none-manylinux_2_34_x86_64\.whl$")
        self.assertLess(OPTIONS.wheel.stat().st_size, MOST_BYTES)
        with zipfile.ZipFile(OPTIONS.wheel) as wheel:
            names = wheel.namelist()
            for info in wheel.infolist():
                self.assertNotEqual(info.external_attr >> 28, 0o12, f"{info.filename} is a link")
        for name in (
            "gpumemtrace/install/bin/gpumemtrace",
            "gpumemtrace/install/lib/gpumemtrace/libgpumemtrace.so",
            "gpumemtrace/install/lib/gpumemtrace/libgpumemtrace_checks.so",
            "gpumemtrace/install/lib/gpumemtrace/libgpumemtrace_host.so",
            "gpumemtrace/install/lib/gpumemtrace/libunwind.so.8",
            "gpumemtrace/install/lib/gpumemtrace/gpumemtrace-ptxas",
            "gpumemtrace/install/lib/gpumemtrace/simulated/libcuda.so.1",
            "gpumemtrace/install/lib/gpumemtrace/simulated/libcublas.so.13",
            "gpumemtrace/install/lib/gpumemtrace/simulated/no-nvjitlink-13.so",
            "gpumemtrace/install/include/gpumemtrace/device.h",
            "gpumemtrace/install/include/gpumemtrace/gtest.h",
            "gpumemtrace/install/include/gpumemtrace/pool.h",
            "gpumemtrace/install/lib/cmake/gpumemtrace/gpumemtrace-config.cmake",
            "gpumemtrace/install/share/doc/gpumemtrace/THIRD_PARTY.md",
            "gpumemtrace/__init__.py",
            "gpumemtrace/py.typed",
            "gpumemtrace/pytest_plugin.py",
            "gpumemtrace/simulated.py",
            "gpumemtrace/fleet/__main__.py",
            "gpumemtrace/install/share/man/man1/gpumemtrace.1",
        ):
            self.assertIn(name, names)
        self.assertTrue(any(name.endswith("LICENSE") for name in names))
        # An index shows this page by itself: no link of it may lead into the repository.
        page = wheel_text(next(name for name in names if name.endswith(".dist-info/METADATA"))).partition("\n\n")[2]
        self.assertIn("gpumemtrace python3 train.py", page)
        self.assertEqual(re.findall(r"\]\((?!https://)[^)]*\)", page), [])

    def test_the_command(self):
        version = self.run_checked(self.bin / "gpumemtrace", "--version").stdout
        self.assertEqual(version, self.run_checked(self.bin / "python3", "-m", "gpumemtrace", "--version").stdout)
        self.assertIn(re.match(r"gpumemtrace-([\d.]+)-", OPTIONS.wheel.name)[1], version)

    def test_a_program(self):
        if OPTIONS.sample is None:
            self.skipTest("no sample was built")
        done = self.run_checked("gpumemtrace", "--device", "simulated", OPTIONS.sample)
        for words in ("double-free", "leak", "release_all"):
            self.assertIn(words, done.stderr)

    def test_the_python_side(self):
        done = self.run_checked("gpumemtrace", "--device", "simulated", "python3", HERE / "leaking.py")
        traced, folder = done.stdout.strip().split(" ", 1)
        self.assertEqual(traced, "True")
        program = (
            "import sys, gpumemtrace\n"
            "report = gpumemtrace.Report(sys.argv[1])\n"
            "(leak,) = [one for one in report.errors if one.kind == 'leak']\n"
            "print(leak.bytes, leak.json['range'], report.live_bytes, report.peak_bytes, len(leak.stacks[0].frames) > 0)\n"
        )
        printed = self.run_checked(self.bin / "python3", "-c", program, self.folder / folder).stdout
        self.assertEqual(printed.strip(), "1000 epoch 1 / forward 1000 5096 True")

    def test_the_plug_in_of_pytest(self):
        """pytest finds it by itself: the wheel registers it."""
        found = importlib.util.find_spec("pytest")
        if found is None:
            self.skipTest("no python3-pytest")
        suite = self.folder / "suite"
        suite.mkdir()
        (suite / "test_two.py").write_text(
            "import ctypes\n"
            "cudart = ctypes.CDLL('libcudart.so.13')\n"
            "def test_leaks():\n"
            "    assert cudart.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(4096)) == 0\n"
            "def test_does_nothing(): pass\n"
        )
        packages = pathlib.Path(found.origin).parents[1]
        options = ("--gpumemtrace", "--gpumemtrace-options=--device simulated", "-p", "no:cacheprovider")
        done = self.start("env", f"PYTHONPATH={packages}", self.bin / "python3", "-m", "pytest", *options, suite)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("1 failed, 1 passed", done.stdout)
        self.assertIn("test_two.py:4", done.stdout)

    def test_what_cannot_be_had(self):
        outside = self.run_checked(
            self.bin / "python3",
            "-c",
            "import gpumemtrace\n"
            "with gpumemtrace.range('nothing listens'): pass\n"
            "print(gpumemtrace.is_traced(), gpumemtrace.trace_folder())\n"
            "try: gpumemtrace.Report('/nonexistent')\n"
            "except gpumemtrace.GpumemtraceError as error: print(error)\n",
        ).stdout.splitlines()
        self.assertEqual(outside[0], "False None")
        self.assertIn("/nonexistent", outside[1])
        missing = subprocess.run(
            [self.bin / "gpumemtrace", "--version"],
            check=False,
            env={"GPUMEMTRACE_COMMAND": "/nonexistent/gpumemtrace"},
            capture_output=True,
            text=True,
        )
        self.assertEqual(missing.returncode, 1)
        self.assertIn("install the package again", missing.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--sample", type=pathlib.Path)
    OPTIONS = parser.parse_args()
    OPTIONS.wheel = OPTIONS.wheel.resolve()
    OPTIONS.sample = OPTIONS.sample and OPTIONS.sample.resolve()
    os.umask(0o022)
    unittest.main(argv=sys.argv[:1])
