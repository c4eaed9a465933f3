# SPDX-License-Identifier: Apache-2.0
"""scripts/check in a fresh build folder: what it would build and run. Nothing is built."""

import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import checklists

SOURCES = pathlib.Path(os.environ["GMT_SOURCES"])
sys.path.insert(0, str(SOURCES / "scripts"))
import check_plan  # noqa: E402  it lies where sys.path did not lead


class Check(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.environment = {**os.environ, "GPUMEMTRACE_BUILD_DIR": cls.folder.name}
        cls.environment.pop("GPUMEMTRACE_NO_SYSTEM_CUDA", None)  # the toolkit is that of this build
        cls.first = cls.check("unit_calls")
        cls.checker = check_plan.Checker(SOURCES.resolve(), pathlib.Path(cls.folder.name, "check").resolve())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def check(cls, *names):
        return subprocess.run(
            [SOURCES / "scripts/check", "--list", *names],
            env=cls.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def lines(self, name):
        """What the script prints, which asks ctest and ninja each time: here they are asked once."""
        self.checker.plan = check_plan.Plan()
        self.assertTrue(self.checker.add(name), name)
        plan = self.checker.plan
        plan.targets = check_plan.known_targets(self.checker.build, plan.targets)
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            check_plan.show(plan)
        return shown.getvalue().splitlines()

    def test_an_executable(self):
        self.assertEqual(self.first.returncode, 0, self.first.stdout + self.first.stderr)
        self.assertIn("run:   tests/unit/unit_calls (all of it)", self.first.stdout)

    def test_a_source_of_tests(self):
        lines = self.lines("tests/unit/analyzer/detectors/calls/refused_launches_test.cpp")
        self.assertEqual(lines, ["build: tests/unit/unit_calls", "run:   tests/unit/unit_calls RefusedLaunches"])

    def test_a_new_source_of_tests_is_found(self):
        """The folder is made to know nothing of one that is there."""
        folder = pathlib.Path(self.folder.name, "check")
        for known in (folder / "CMakeFiles/VerifyGlobs.cmake", folder / "compile_commands.json"):
            text = known.read_text(encoding="utf-8")
            if known.suffix == ".json":
                entries = [
                    entry for entry in json.loads(text) if not entry["file"].endswith("/refused_launches_test.cpp")
                ]
                changed = json.dumps(entries)
            else:
                changed = re.sub(r"^.*/refused_launches_test\.cpp\"\n", "", text, flags=re.M)
            self.assertNotEqual(changed, text)
            known.write_text(changed, encoding="utf-8")
        result = self.check("tests/unit/analyzer/detectors/calls/refused_launches_test.cpp")
        self.assertIn("run:   tests/unit/unit_calls RefusedLaunches", result.stdout.splitlines(), result.stderr)

    def test_a_source_takes_the_tests_of_its_name_or_those_that_include_its_header(self):
        self.assertIn("run:   tests/unit/unit_report AConclusion", self.lines("analyzer/report/conclusion.cpp"))
        run = next(line for line in self.lines("interposer/driver_state/retired_memory.cpp") if line.startswith("run:"))
        self.assertIn("RetiredMemory", run.split()[2:])

    def test_suites_that_need_a_folder_are_run_by_ctest(self):
        lines = self.lines("interposer/core_dump/core_dump.cpp")
        self.assertEqual(lines[0], "build: tests/unit/interposer_core_dump_test")
        self.assertIn("ctest: InterposerCoreDump", lines)
        lines = self.lines("interposer/hooks/freed_memory.cpp")
        self.assertIn("ctest: InterposerFreedMemory", lines)
        self.assertIn("ctest: routing.records", lines)
        self.assertIn("ctest: InterposerLog", self.lines("interposer_log_test"))

    def test_a_finding_takes_its_detectors_tests_and_its_programs(self):
        lines = self.lines("object-leak")
        self.assertIn("run:   tests/unit/unit_calls RefusedCalls", lines)
        self.assertIn("ctest: programs.object_leaks.O2.shared.simulated", lines)
        self.assertIn(" tests/programs/object_leaks-O2-shared", lines[0])
        self.assertIn(" interposer/all", lines[0])
        self.assertEqual(lines, self.lines("analyzer/detectors/allocations/object_leak.cpp"))

    def test_a_program_and_a_test_of_the_command(self):
        self.assertIn("ctest: programs.double_free.O2.shared.simulated", self.lines("tests/programs/double_free.cu"))
        self.assertIn("ctest: command.diff", self.lines("tests/command/test_diff.py"))
        self.assertEqual(self.lines("command.diff")[1:], ["ctest: command.diff"])
        lines = self.lines("analyzer/command/pack/tar_file.cpp")
        self.assertIn("run:   tests/unit/unit_command TarFile", lines)
        self.assertIn("ctest: command.traces", lines, "what unit tests of the command lack")

    def test_a_name_that_means_nothing(self):
        result = self.check("nonsense")
        self.assertEqual(result.returncode, 2)
        self.assertIn("check: 'nonsense' is no file with tests, no finding, no test", result.stderr)

    def test_each_row_of_the_checklists_has_a_check_that_runs_something(self):
        rows = checklists.rows()
        self.assertGreater(len(rows), 30)
        checker = self.checker
        for row in rows:
            with self.subTest(line=row.line, step=row.step):
                self.assertTrue(row.checks, "no `scripts/check` in its third column")
                for path in row.paths:
                    self.assertTrue(list(SOURCES.glob(path.rstrip("/"))), f"{path} does not exist")
                for names in row.checks:
                    checker.plan = check_plan.Plan()
                    for name in names:
                        self.assertTrue(checker.add(name), name)
                    self.assertTrue(checker.plan.suites or checker.plan.tests, names)


if __name__ == "__main__":
    sys.exit(unittest.main())
