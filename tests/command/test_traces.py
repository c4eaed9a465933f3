# SPDX-License-Identifier: Apache-2.0
"""The traces of a run: found by its id, finished with how each process ended, and the newest chosen."""

import os
import shutil
import time
import unittest

from command_case import PROGRAM, CommandCase, flat


class Traces(CommandCase):
    def setUp(self):
        super().setUp()
        self.environment["FAKE_TRACE"] = "app"

    def traces(self):
        return sorted(name for name in os.listdir(self.folder) if name.startswith("gpumemtrace."))

    def ending(self, trace):
        with open(os.path.join(self.folder, trace, "complete"), encoding="utf-8") as file:
            return dict(line.rstrip("\n").split("=", 1) for line in file)

    def test_exit_is_written(self):
        self.run_command("record", "--device", "real", PROGRAM, "exit", "7")
        (trace,) = self.traces()
        ending = self.ending(trace)
        self.assertEqual((ending["how"], ending["status"], ending["signal"]), ("exited", "7", "0"))
        self.assertGreater(int(ending["monotonic_ns"]), 0)
        self.assertGreater(int(ending["tsc"]), 0)
        self.assertFalse(os.path.exists(os.path.join(self.folder, trace, "incomplete")))

    def test_signal_is_written(self):
        self.run_command("record", "--device", "real", PROGRAM, "signal", "9")
        (trace,) = self.traces()
        ending = self.ending(trace)
        self.assertEqual((ending["how"], ending["signal"]), ("signalled", "9"))

    def test_traces_of_other_runs_are_left_alone(self):
        self.run_command("record", "--device", "real", PROGRAM)
        first = self.traces()[0]
        os.remove(os.path.join(self.folder, first, "complete"))
        self.run_command("record", "--device", "real", PROGRAM)
        self.assertFalse(os.path.exists(os.path.join(self.folder, first, "complete")))

    def test_orphans_get_their_ending(self):
        script = f"({PROGRAM} exit 3 &) ; sleep 0.5"
        self.run_command("record", "--device", "real", "sh", "-c", script)
        endings = [
            self.ending(trace)["status"]
            for trace in self.traces()
            if os.path.exists(os.path.join(self.folder, trace, "complete"))
        ]
        self.assertIn("3", endings)

    def test_a_daemon_is_not_waited_for(self):
        start = time.monotonic()
        result = self.run_command("run", "--device", "real", "sh", "-c", "sleep 20 >/dev/null 2>&1 & exit 0")
        self.assertLess(time.monotonic() - start, 15)
        self.assertRegex(flat(result.stderr), r"process \d+ \((sleep|sh)\) is still running")

    def test_record_says_where_and_what_next(self):
        result = self.run_command("record", "--device", "real", PROGRAM)
        (trace,) = self.traces()
        self.assertIn(trace, result.stderr)
        self.assertIn("gpumemtrace report", result.stderr)
        self.assertLessEqual(result.stderr.count("\n"), 3, result.stderr)

    def test_a_trace_that_had_to_move_is_found(self):
        self.environment["FAKE_MOVE"] = os.path.join(self.folder, "elsewhere")
        result = self.run_command("run", "--device", "real", PROGRAM, "exit", "7")
        self.assertIn("its trace is in " + self.environment["FAKE_MOVE"], flat(result.stderr))
        (trace,) = os.listdir(self.environment["FAKE_MOVE"])
        self.assertEqual(self.ending(os.path.join("elsewhere", trace))["status"], "7")

    def test_a_damaged_trace_of_a_child_is_named(self):
        script = f"{PROGRAM}; sed -i s/format=1.0/format=9.0/ gpumemtrace.*/info"
        result = self.run_command("check", "--device", "real", "sh", "-c", script)
        self.assertEqual(result.returncode, 23, result)
        self.assertIn("9.0", flat(result.stderr))

    def test_report_takes_the_newest(self):
        for name in ("old", "new"):
            self.environment["FAKE_TRACE"] = name
            self.run_command("record", "--device", "real", PROGRAM)
        result = self.run_command("report")
        self.assertIn("reading the newest trace, gpumemtrace.new.", result.stderr)
        self.assertNotIn("gpumemtrace.old.", result.stderr)

    def test_report_takes_a_folder_of_traces(self):
        self.run_command("record", "--device", "real", PROGRAM)
        result = self.run_command("report", self.folder, cwd="/")
        self.assertEqual(result.returncode, 3, result)  # it holds no call
        folder = os.path.join(self.folder, "gpumemtrace.app.")
        self.assertIn("reading the newest trace, " + folder, result.stderr)

    def test_a_trace_named_twice_is_read_once(self):
        whole = os.path.join(os.path.dirname(__file__), "..", "fixtures", "first_steps.plain.static")
        (name,) = (name for name in os.listdir(whole) if name.startswith("gpumemtrace."))
        trace = os.path.join(self.folder, name)
        shutil.copytree(os.path.join(whole, name), trace)
        os.symlink(name, os.path.join(self.folder, "link"))
        once = self.run_command("report", name)
        for words in ([name, name], [name, "./" + name + "/"], [trace, "link"], [".", name]):
            result = self.run_command("report", *words)
            self.assertEqual(result.returncode, once.returncode)
            self.assertEqual(result.stdout.count("SUMMARY"), 1)
            self.assertEqual(result.stdout.splitlines()[-1], once.stdout.splitlines()[-1], words)

    def test_a_trace_of_another_user(self):
        self.run_command("record", "--device", "real", PROGRAM)
        (name,) = self.traces()
        trace = os.path.join(self.folder, name)
        os.chmod(self.folder, 0o755)
        os.chmod(trace, 0o700 if os.geteuid() == 0 else 0)
        other = {"user": 65534} if os.geteuid() == 0 else {}
        try:
            self.run_command("--version", **other)
        except PermissionError:
            self.skipTest("the command lies in a folder that is closed to other users")
        for words in ((trace,), (self.folder,)):
            result = self.run_command("report", *words, **other)
            self.assertEqual(result.returncode, 3, result)
            self.assertIn(os.path.basename(trace) + ": Permission denied; ", flat(result.stderr))
        os.chmod(trace, 0o700)

    def test_report_without_any_trace(self):
        os.mkdir(os.path.join(self.folder, "empty"))
        advice = "; name a folder gpumemtrace.<program>.<host>.<pid>, or one that holds such folders\n"
        for words, where in ((["report"], "the current directory"), (["report", "empty"], "empty")):
            result = self.run_command(*words)
            self.assertEqual(result.returncode, 3, result)
            self.assertEqual(result.stderr, "gpumemtrace: no trace in " + where + advice)


if __name__ == "__main__":
    unittest.main()
