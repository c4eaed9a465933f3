# SPDX-License-Identifier: Apache-2.0
"""pytest --gpumemtrace on the simulated device, with the suites that stand in suites/."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

import python_case
from python_case import COMMAND, COMPILER, HERE, PROGRAMS, PythonCase

SUITES = os.path.join(HERE, "suites")
PACKAGE = os.path.join(os.environ["GMT_SOURCES"], "python")
SIMULATED = ("--gpumemtrace-options", "--device simulated")
HAS_PYTEST = importlib.util.find_spec("pytest") is not None
HAS_XDIST = importlib.util.find_spec("xdist") is not None


def sections(text):
    """The failures that pytest shows, by test."""
    parts = re.split(r"^_{3,} (?:ERROR at \w+ of )?([\w.]+) _{3,}$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


@unittest.skipUnless(HAS_PYTEST, "no python3-pytest")
class Plugin(PythonCase):
    def start(self, suite, *options, command=(), python=("-m", "pytest"), **more):
        """pytest by itself, or behind the words of a command."""
        for name in os.listdir(SUITES) if suite else ():
            if name == f"test_{suite}.py":
                shutil.copy(os.path.join(SUITES, name), self.folder)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GPUMEMTRACE_", "PYTHON"))}
        path = os.pathsep.join([PACKAGE, PROGRAMS])
        environment = {
            **kept,
            "PYTHONPATH": path,
            "GPUMEMTRACE_COMMAND": COMMAND,
            "PYTHONDONTWRITEBYTECODE": "1",
            **more,
        }
        words = [
            *command,
            sys.executable,
            *python,
            "-p",
            "no:cacheprovider",
            "-p",
            "gpumemtrace.pytest_plugin",
            *options,
        ]
        return subprocess.run(
            words, capture_output=True, text=True, timeout=200, check=False, env=environment, cwd=self.folder
        )

    def run_suite(self, suite, *options, status=1, **more):
        done = self.start(suite, "--gpumemtrace", *SIMULATED, *options, **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def assert_outcomes(self, done, **expected):
        last = [line for line in done.stdout.splitlines() if re.search(r"\d+ \w+.* in [\d.]+s", line)][-1]
        found = {word.rstrip("s"): int(count) for count, word in re.findall(r"(\d+) ([a-z]+)", last.split(" in ")[0])}
        self.assertEqual(found, expected, done.stdout)

    def test_the_summary_of_pytest_comes_last(self):
        for words, name in (((), "gpumemtrace-report.txt"), (("--gpumemtrace-report", "memory.txt"), "memory.txt")):
            done = self.run_suite("planted", *words)
            self.assertEqual(done.stderr, "")
            self.assertRegex(done.stdout.splitlines()[-1], r"1 failed, 4 passed in ")
            self.assertIn(f"at the end the report on the whole run: {self.folder}/{name}", done.stdout)
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                self.assertIn("SUMMARY: gpumemtrace: 1 error", file.read())

    def test_what_a_mark_allows_is_allowed_in_the_report_of_the_run(self):
        with open(os.path.join(self.folder, "test_allowed.py"), "w", encoding="utf-8") as file:
            file.write(
                "import device, pytest\n"
                "@pytest.mark.gpumemtrace(allow=['leak'])\n"
                "@pytest.mark.parametrize('size', [1024, 2048])\n"
                "def test_allowed(size): device.leak(size)\n"
                "def test_not_allowed(): device.leak(4096)\n"
            )
        done = self.run_suite("")
        self.assert_outcomes(done, failed=1, passed=2)
        with open(os.path.join(self.folder, "gpumemtrace-report.txt"), encoding="utf-8") as file:
            report = " ".join(file.read().split())
        self.assertIn("1 leak 4.0 KiB", report)
        self.assertIn("in range test_allowed.py::test_not_allowed", report)
        self.assertNotIn("in range test_allowed.py::test_allowed", report)
        self.assertIn("leak:range test_allowed.py::test_allowed[2048]", report)

    def test_one_of_five_leaks(self):
        done = self.run_suite("planted")
        self.assert_outcomes(done, failed=1, passed=4)
        (name, text), *others = sections(done.stdout).items()
        self.assertEqual((name, others), ("test_leaks", []))
        self.assertIn("error: leak", text)
        self.assertIn("4.0 KiB of device memory was allocated and not freed.", text)
        self.assertRegex(text, r"allocated here, cudaMalloc +\S*device\.py:\d+ +leak\n")
        self.assertRegex(text, r"\n +test_planted\.py:16 +hold\n +test_planted\.py:20 +test_leaks\n  Call cudaFree")
        self.assertNotIn("pluggy", text)

    def test_under_the_command(self):
        """It starts nothing again, and the command's own report names the test, too."""
        done = self.start("planted", "--gpumemtrace", command=(COMMAND, "--device", "simulated"))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assert_outcomes(done, failed=1, passed=4)
        self.assertIn("in range test_planted.py::test_leaks", " ".join(done.stderr.split()))
        self.assertEqual(done.stderr.count("SUMMARY:"), 1)

    def test_without_the_option(self):
        done = self.start("planted", command=(COMMAND, "--device", "simulated"))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("gpumemtrace: traces", done.stdout)

    def test_all_is_well(self):
        self.assert_outcomes(self.run_suite("planted", "-k", "frees", status=0), passed=3, deselected=2)

    def test_no_cuda_call(self):
        self.run_suite("planted", "-k", "needs_no_device", status=0)

    def test_mistakes(self):
        done = self.run_suite("mistakes", "-rxs")
        self.assert_outcomes(done, failed=4, passed=2, xfailed=2, skipped=1)
        failed = sections(done.stdout)
        names = ["test_double_free", "test_double_frees_of_one_line", "test_fixture_leaks", "test_fails_and_leaks"]
        self.assertEqual(list(failed), names)
        self.assertIn(
            "1 finding: double-free\n\nerror: double-free (2 times)\n", failed["test_double_frees_of_one_line"]
        )
        for words in ("error: double-free", "freed again here", "allocated here", "test_mistakes.py:11"):
            self.assertIn(words, failed["test_double_free"])
        self.assertNotIn("leak", failed["test_double_free"].replace("leak\n", ""))
        self.assertRegex(failed["test_fixture_leaks"], r"test_mistakes\.py:33 +kept\n")
        for words in ("its own words", "300 bytes of device memory"):
            self.assertIn(words, failed["test_fails_and_leaks"])

    def test_a_follower_that_is_killed(self):
        done = self.run_suite("killed")
        self.assert_outcomes(done, failed=2, passed=1)
        failed = sections(done.stdout)
        self.assertIn(
            "The test's memory was not checked: 'gpumemtrace follow' was killed by signal 9.",
            failed["test_loses_its_follower"],
        )
        self.assertIn("4.0 KiB of device memory was allocated", failed["test_leaks_behind_it"])

    def test_fixtures_of_wider_scope(self):
        done = self.run_suite("fixtures")
        self.assert_outcomes(done, failed=1, passed=3)
        self.assertIn("66 bytes of device memory", sections(done.stdout)["test_adds_to_them"])

    def test_marks(self):
        done = self.run_suite("marks", "--strict-markers")
        self.assert_outcomes(done, failed=3, passed=4)
        failed = sections(done.stdout)
        limit = "The test held 1.0 MiB of device memory at once; its mark allows 1.0 MiB."
        self.assertIn(limit, failed["test_over_its_limit"])
        self.assertNotIn("double-free", failed["test_may_free_twice_but_not_leak"].split("test_may_free")[0])
        self.assertIn("1 finding: leak", failed["test_may_free_twice_but_not_leak"])
        self.assertIn(
            "65 bytes of device memory at once; its mark allows 64 bytes", failed["TestOfClass.test_marks_add_up"]
        )

    @unittest.skipUnless(COMPILER, "no compiler of C")
    def test_caches(self):
        """A cache is no leak. In strict mode it is emptied first, and then what it holds is one."""
        library = os.path.join(self.folder, "libc10_cuda.so")
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, os.path.join(SUITES, "cache.c")], check=True)
        done = self.run_suite("caches")
        self.assert_outcomes(done, failed=1, passed=2)
        self.assertEqual(list(sections(done.stdout)), ["test_holds_without_the_cache"])
        done = self.run_suite("caches", "--gpumemtrace-strict")
        self.assert_outcomes(done, failed=2, passed=1)
        self.assertEqual(list(sections(done.stdout)), ["test_holds", "test_holds_without_the_cache"])
        self.assertIn("PyTorch's caching allocator", sections(done.stdout)["test_holds"])

    def test_wrong_marks(self):
        for mark, words in (
            ("max_peek='1G'", "not max_peek"),
            ("max_peak='much'", "'much' is no size"),
            ("allow='leek'", "allow='leek' is no kind of finding"),
            ("allow=['leak', 'copy-*', 'copies-*']", "allow='copies-*' is no kind of finding"),
        ):
            with open(os.path.join(self.folder, "test_wrong.py"), "w", encoding="utf-8") as file:
                file.write(f"import pytest\n@pytest.mark.gpumemtrace({mark})\ndef test_it(): pass\n")
            done = self.run_suite("", status=4)
            self.assertIn(words, done.stdout + done.stderr)

    def test_junit(self):
        self.run_suite("planted", "--junit-xml", "tests.xml")
        root = xml.etree.ElementTree.parse(os.path.join(self.folder, "tests.xml")).getroot()
        (suite,) = root.iter("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("errors")), ("5", "1", "0"))
        cases = {case.get("name"): case for case in root.iter("testcase")}
        (failure,) = cases["test_leaks"].iter("failure")
        for words in ("error: leak", "test_planted.py:20", "test_leaks"):
            self.assertIn(words, failure.text)
        properties = {one.get("name"): one.get("value") for one in cases["test_frees"].iter("property")}
        self.assertEqual(properties, {"gpumemtrace_peak_bytes": "1000"})

    @unittest.skipUnless(HAS_XDIST, "no python3-pytest-xdist")
    def test_workers(self):
        done = self.run_suite("planted", "-n", "2", "--junit-xml", "tests.xml")
        self.assert_outcomes(done, failed=1, passed=4)
        self.assertIn("test_planted.py:20", sections(done.stdout)["test_leaks"])

    def test_other_plug_ins_that_run_tests(self):
        """They keep their work: the tear-down fails instead."""
        with open(os.path.join(self.folder, "conftest.py"), "w", encoding="utf-8") as file:
            file.write(
                "from _pytest.runner import runtestprotocol\n"
                "def pytest_runtest_protocol(item, nextitem):\n"
                "    if item.name == 'test_frees_again': return None\n"
                "    runtestprotocol(item, nextitem=nextitem)\n"
                "    return True\n"
            )
        done = self.run_suite("planted")
        self.assert_outcomes(done, passed=5, error=1)
        self.assertIn("test_planted.py:20", sections(done.stdout)["test_leaks"])

    def test_suppressions(self):
        with open(os.path.join(self.folder, "known.supp"), "w", encoding="utf-8") as file:
            file.write("leak:hold\n")
        self.run_suite("planted", "--gpumemtrace-suppressions", "known.supp", status=0)
        with open(os.path.join(self.folder, "known.supp"), "w", encoding="utf-8") as file:
            file.write("no rule\n")
        done = self.run_suite("planted", "--gpumemtrace-suppressions", "known.supp", status=2)
        self.assertIn("known.supp", done.stderr)

    def test_no_driver(self):
        """It says so, and does not start itself for ever."""
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is a driver")
        done = self.start("planted", "--gpumemtrace")
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn("no driver of CUDA", done.stderr)

    def test_a_trace_that_is_elsewhere(self):
        """The folder is gone when CUDA is called first: the trace is made in the temporary folder."""
        with open(os.path.join(self.folder, "conftest.py"), "w", encoding="utf-8") as file:
            file.write("import os\nos.rmdir(os.environ['GPUMEMTRACE_DIR'])\n")
        options = f"--device simulated --trace-dir {self.folder}/traces"
        temporary = os.path.join(self.folder, "temporary")
        os.mkdir(temporary)
        done = self.start("planted", "--gpumemtrace", "--gpumemtrace-options", options, TMPDIR=temporary)
        self.assertEqual(len(os.listdir(temporary)), 1, done.stderr)
        self.assert_outcomes(done, failed=1, passed=4)

    def test_nothing_is_run(self):
        for option in ("--help", "--collect-only"):
            done = self.start("planted", "--gpumemtrace", option)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_no_command(self):
        done = self.start("planted", "--gpumemtrace", GPUMEMTRACE_COMMAND="/nonexistent/gpumemtrace")
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn("/nonexistent/gpumemtrace", done.stderr)

    def test_a_program_that_calls_pytest(self):
        code = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
        done = self.run_suite("planted", python=("-c", code))
        self.assert_outcomes(done, failed=1, passed=4)

    def test_a_range_has_a_name(self):
        code = "import gpumemtrace\ntry: gpumemtrace.range(5)\nexcept TypeError as error: print(error)"
        done = self.start("", python=("-c", code))
        self.assertIn("an NVTX range has a name, and 5 is none", done.stdout, done.stderr)

    def test_snapshots(self):
        program = os.path.join(SUITES, "test_snapshots.py")
        outside = self.start("", command=(), python=("-c", "import gpumemtrace; gpumemtrace.snapshot()"))
        self.assertIn("this process is not traced", outside.stderr)
        done = self.start("", command=(COMMAND, "--device", "simulated"), python=(program,))
        self.assertIn("all is as it should be", done.stdout, done.stderr)

    def test_costs(self):
        """2,000 tests that allocate and free: what a test costs more with the plug-in. The budget is 20 ms."""
        with open(os.path.join(self.folder, "test_many.py"), "w", encoding="utf-8") as file:
            file.write(
                "import device, pytest\n"
                "@pytest.mark.parametrize('size', range(1, 2001))\n"
                "def test_one(size):\n    device.free(device.leak(size))\n"
            )
        seconds = []
        for options in ((), ("--gpumemtrace",)):
            begin = time.monotonic()
            done = self.start("", "-q", *options, command=(COMMAND, "record", "--device", "simulated"))
            seconds.append(time.monotonic() - begin)
            self.assertIn("2000 passed", done.stdout)
        cost = (seconds[1] - seconds[0]) / 2000
        print(f"a test costs {cost * 1000:.2f} ms ({seconds[0]:.1f} s without, {seconds[1]:.1f} s with the plug-in)")
        self.assertLess(cost, 0.020)


if __name__ == "__main__":
    python_case.main()
