# SPDX-License-Identifier: Apache-2.0
"""What tests of Python's frames share: the interpreters of this machine, and a run under the command.

CI has one interpreter, a developer's machine may have several. A file whose tests all lacked one exits with 77.
"""

import functools
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

COMMAND = os.environ["GMT_COMMAND"]
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
RUNTIME = os.environ["GMT_RUNTIME"]  # the simulated libcudart
KNOWN = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
ASK = """
import sys, sysconfig
ask = sysconfig.get_config_var
print(*sys.version_info[:4], sysconfig.get_path("include"), sys.prefix, f"{ask('LIBDIR')}/{ask('INSTSONAME')}")
"""
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


class Interpreter:
    """One executable: its version and the folder of its headers."""

    def __init__(self, path):
        self.path = path
        words = subprocess.run([path, "-c", ASK], capture_output=True, text=True, timeout=60, check=True).stdout.split()
        self.version = tuple(map(int, words[:3]))
        self.is_final = words[3] == "final"
        self.headers, self.prefix = words[4:6]
        self.library = words[6] if words[6].endswith(".so.1.0") and os.path.exists(words[6]) else None
        self.is_known = self.version[:2] in KNOWN and self.is_final

    def __str__(self):
        return f"{self.path} ({'.'.join(map(str, self.version))})"


def candidates():
    yield sys.executable
    for folder in ("/usr/bin", "/usr/local/bin", os.path.expanduser("~/.pyenv/versions/*/bin")):
        yield from sorted(glob.glob(os.path.join(folder, "python3.[0-9]*")))


def interpreters():
    """Each executable once, by what its links lead to."""
    found = {}
    for path in candidates():
        real = os.path.realpath(path)
        if real in found or not re.fullmatch(r"python3\.\d+t?", os.path.basename(real)):
            continue
        try:
            found[real] = Interpreter(real)
        except (OSError, subprocess.SubprocessError, ValueError, IndexError):
            continue
    return list(found.values())


ALL = interpreters()
KNOWN_ONES = [python for python in ALL if python.is_known]


def with_each(pythons):
    """A test of one interpreter becomes a test of several, each in a subtest of its own."""

    def decorate(test):
        @functools.wraps(test)
        def run(self):
            if not pythons:
                self.skipTest("no such interpreter here")
            for python in pythons:
                with self.subTest(str(python)):
                    test(self, python)

        return run

    return decorate


class PythonCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def run_traced(self, python, program, *words, options=()):
        """The report on a program of the folder, and what the program printed."""
        return self.run_command([python.path, os.path.join(PROGRAMS, program), *words], options)

    def run_command(self, words, options=(), **more):
        report = os.path.join(self.folder, "report.json")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GPUMEMTRACE_", "PYTHON"))}
        result = subprocess.run(
            [COMMAND, "--device", "simulated", "--trace-dir", self.folder, "--format", "json", "--output", report]
            + [*options, *words],
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
            env={**kept, **more},
        )
        self.assertEqual(result.returncode, 0, f"{words}: {result.stdout}{result.stderr}")
        with open(report, encoding="utf-8") as file:
            return json.load(file), result.stdout

    def leak_of(self, report, size):
        """Frames of the leak of this many bytes."""
        for finding in report["findings"]:
            if finding["kind"] == "leak" and finding["bytes"] == size:
                return finding["stacks"][0]["frames"]
        self.fail(f"no leak of {size} bytes")

    def not_checked(self, report):
        return {entry["what"]: entry["why"] for entry in report["not_checked"]}


def main():
    program = unittest.main(exit=False)
    result = program.result
    if result.wasSuccessful() and len(result.skipped) == result.testsRun:
        sys.exit(77)
    sys.exit(not result.wasSuccessful())
