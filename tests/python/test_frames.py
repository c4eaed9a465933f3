# SPDX-License-Identifier: Apache-2.0
"""Each leak of programs/stacks.py is named by its Python lines, merged with the native frames in their true order."""

import os

import python_case
from python_case import KNOWN_ONES, PROGRAMS, PythonCase, with_each

with open(os.path.join(PROGRAMS, "stacks.py"), encoding="utf-8") as source:
    LINES = source.read().split("\n")

# size -> (function, text of its line), innermost first, behind `leak` itself
STACKS = {
    1001: [("Model.step", "leak(1001)"), ("Model.fit", "self.step()"), ("run", "Model().fit()"), ("<module>", "run()")],
    1002: [("sort.<locals>.compare", "leak(left.pop())"), ("sort", "libc.qsort("), ("run", "sort(1002)")],
    1003: [("numbers", "yield leak(1003)"), ("run", "in numbers()"), ("<module>", "run()")],
    1004: [("listed", "yield leak(1004)"), ("run", "list(listed())"), ("<module>", "run()")],
    1005: [("inner", "leak(1005)"), ("outer", "await inner()")],
    1006: [("down", "leak(1006)"), ("down", "down(depth - 1)"), ("down", "down(depth - 1)")],
    1007: [("Owner.__del__", "leak(1007)")],
    1008: [("größe", "leak(1008)"), ("run", "größe()")],
    1009: [("made", None), ("<module>", None), ("run_string", "exec(code"), ("run", "run_string()")],
    1010: [("with_lock", "leak(1010"), ("run", "with_lock()")],
    1011: [("in_foreign_thread", "leak(1011)")],
    1012: [("run.<locals>.<lambda>", "leak(1012)"), ("run", "(lambda: leak(1012))()")],
}


def python_frames(frames):
    return [frame for frame in frames if frame.get("language") == "python"]


class Frames(PythonCase):
    @with_each(KNOWN_ONES)
    def test_functions_and_lines(self, python):
        report, _ = self.run_traced(python, "stacks.py")
        for size, expected in STACKS.items():
            frames = python_frames(self.leak_of(report, size))
            self.assertEqual(frames[0]["function"], "leak", size)
            self.assertTrue(frames[0]["file"].endswith("programs/device.py"), frames[0])
            for frame, (function, text) in zip(frames[1:], expected, strict=False):
                self.assertEqual(frame["function"], function, size)
                if text is not None:
                    self.assertIn(text, LINES[frame["line"] - 1], size)
            self.assertGreaterEqual(len(frames), 1 + len(expected), size)
        self.check_string(report)
        self.check_depth(report)
        self.check_names(report)
        self.check_ends(report)
        self.assertNotIn("Python lines in call stacks", self.not_checked(report))

    def check_string(self, report):
        made, module = python_frames(self.leak_of(report, 1009))[1:3]
        self.assertEqual((made["file"], made["line"]), ("/tmp/π/\U0001f600.py", 3))
        self.assertEqual((module["file"], module["line"]), ("/tmp/π/\U0001f600.py", 4))

    def check_depth(self, report):
        frames = python_frames(self.leak_of(report, 1006))
        self.assertGreater(len(frames), 20)
        self.assertLessEqual(len(frames), 128)

    def check_names(self, report):
        for i in range(40):
            self.assertEqual(python_frames(self.leak_of(report, 20000 + i))[1]["function"], f"name_{i:02}")

    def check_ends(self, report):
        foreign = self.leak_of(report, 1011)
        self.assertEqual([frame["function"] for frame in python_frames(foreign)], ["leak", "in_foreign_thread"])
        thread = [frame["function"] for frame in self.leak_of(report, 1013)]
        self.assertEqual(thread[:2] + thread[-1:], ["leak", "Thread.run", "Thread._bootstrap"])
        self.assertEqual(python_frames(self.leak_of(report, 1001))[-1]["function"], "<module>")

    @with_each(KNOWN_ONES)
    def test_what_looks_the_same_is_one_finding(self, python):
        report, _ = self.run_traced(python, "often.py")
        leaks = [finding for finding in report["findings"] if finding["kind"] == "leak"]
        self.assertEqual([(leak["count"], leak["bytes"]) for leak in leaks], [(200, 100_000)])

    @with_each(KNOWN_ONES)
    def test_order_with_native_frames(self, python):
        """C -> Python -> C -> Python: sort() called qsort(), which called compare()."""
        report, _ = self.run_traced(python, "stacks.py")
        names = [frame["function"] for frame in self.leak_of(report, 1002)]
        called = [name for name in names if name in ("sort.<locals>.compare", "qsort", "sort", "run")]
        self.assertEqual([name for name in called if name != "qsort"], ["sort.<locals>.compare", "sort", "run"])
        modules = [os.path.basename(frame["module"] or "") for frame in self.leak_of(report, 1002)]
        self.assertIn("libc.so.6", modules[names.index("sort.<locals>.compare") : names.index("sort")])
        self.assertFalse([name for name in modules if name.startswith(("libpython", "python", "libffi"))])

    @with_each(KNOWN_ONES)
    def test_interpreter_can_be_shown(self, python):
        report, _ = self.run_traced(python, "stacks.py", options=["--native-frames"])
        frames = self.leak_of(report, 1002)
        names = [frame["function"] for frame in frames]
        # Stripped interpreters have no name for the part of the evaluator that calls.
        for outermost in ("sort.<locals>.compare", "<module>"):
            evaluator = frames[names.index(outermost) + 1]
            self.assertRegex(os.path.basename(evaluator["module"]), "^(lib)?python3", names)
            self.assertIn(evaluator["function"], ("_PyEval_EvalFrameDefault", None), names)
        self.assertIn("ffi_call", names[: names.index("leak")])


if __name__ == "__main__":
    python_case.main()
