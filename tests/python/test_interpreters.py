# SPDX-License-Identifier: Apache-2.0
"""Interpreters that are not known, that end, fork, or are several: no call differs, and the report says what it lacks."""

import os
import subprocess

import python_case
from python_case import ALL, COMPILER, HERE, KNOWN_ONES, PROGRAMS, RUNTIME, PythonCase, with_each

SUBJECT = "Python lines in call stacks"


class Interpreters(PythonCase):
    def languages(self, report, size):
        return {frame.get("language", "native") for frame in self.leak_of(report, size)}

    @with_each([python for python in ALL if not python.is_known and python.version >= (3, 8)])
    def test_other_versions(self, python):
        """Native frames, and one line under "not checked"."""
        report, _ = self.run_traced(python, "troubled.py", "fork")
        self.assertIn("none of the versions that were tested", self.not_checked(report)[SUBJECT])
        frames = [frame for finding in report["findings"] for stack in finding["stacks"] for frame in stack["frames"]]
        self.assertTrue(frames)
        self.assertEqual({frame.get("language") for frame in frames}, {None})

    @with_each(KNOWN_ONES)
    def test_subinterpreters(self, python):
        report, _ = self.run_traced(python, "troubled.py", "subinterpreter")
        self.assertIn("python", self.languages(report, 1000))
        self.assertEqual(self.languages(report, 2000), {"native"})
        self.assertIn("python", self.languages(report, 3000))
        self.assertIn("ran several interpreters", self.not_checked(report)[SUBJECT])

    @with_each(KNOWN_ONES[:1])
    def test_frames_can_be_left_out(self, python):
        report, _ = self.run_traced(python, "troubled.py", "fork", options=["--python-frames=0"])
        self.assertEqual(self.languages(report, 1000), {"native"})

    @with_each([python for python in KNOWN_ONES if COMPILER and python.library])
    def test_interpreter_that_comes_later(self, python):
        """The program has called CUDA before it loads Python's library."""
        program = os.path.join(self.folder, "embedding")
        source = os.path.join(HERE, "embedding.c")
        subprocess.run([COMPILER, "-g", source, "-o", program, RUNTIME], check=True, timeout=100)
        code = f"import sys; sys.path.insert(0, {PROGRAMS!r}); import device; device.leak(2000)"
        report, _ = self.run_command([program, python.library, code], PYTHONHOME=python.prefix)
        self.assertEqual(self.languages(report, 1000), {"native"})
        names = [frame["function"] for frame in self.leak_of(report, 2000)]
        self.assertEqual(names[:2], ["leak", "<module>"])
        self.assertIn("run_python", names[2:])
        self.assertNotIn("PyRun_SimpleString", names)

    @with_each(KNOWN_ONES)
    def test_many_threads(self, python):
        report, printed = self.run_traced(python, "troubled.py", "threads")
        self.assertEqual(printed, "done\n")
        self.assertEqual([finding for finding in report["findings"] if finding["kind"] == "leak"], [])

    @with_each(KNOWN_ONES)
    def test_end_while_threads_run(self, python):
        for _ in range(3):
            _, printed = self.run_traced(python, "troubled.py", "end")
            self.assertEqual(printed, "done\n")

    @with_each(KNOWN_ONES)
    def test_fork(self, python):
        report, _ = self.run_traced(python, "troubled.py", "fork")
        for size in (1000, 2000):
            names = [frame["function"] for frame in self.leak_of(report, size)]
            self.assertEqual(names[:3], ["leak", "fork", "<module>"], size)


if __name__ == "__main__":
    python_case.main()
