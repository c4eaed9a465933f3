# SPDX-License-Identifier: Apache-2.0
"""Many threads, short threads, handlers that cut in, left calls: every call once, none lost, few files."""

import json
import os
import resource
import shutil
import subprocess

import interposed_case
from interposed_case import INTERPOSER, STANDIN, InterposedCase


class Threads(InterposedCase):
    def play(self, program, *words, env=None, **more):
        environment = {**(env or {})}
        without = self.run_program(program, *words, preload=False, env=environment, **more)
        with_us = self.run_program(program, *words, env=environment, **more)
        self.output = with_us.stdout
        return without.stdout

    def environment(self, preload=True, **more):
        environment = super().environment(preload, **more)
        del environment["STANDIN_LOG"]  # one file operation a call would hide every race
        return environment

    def whole(self, trace):
        self.assertEqual((trace.torn, trace.lost), (0, {}))
        self.assertEqual([call for call in trace.calls if call.in_flight], [])
        return trace.calls

    def check_lives(self, calls):
        live = set()
        for call in calls:
            if call.result != 0:
                continue
            if call.kind == "alloc":
                self.assertNotIn(call["address"], live)
                live.add(call["address"])
            elif call.kind == "free":
                self.assertIn(call["address"], live)
                live.remove(call["address"])
        return live

    def test_256_threads_free_each_others_blocks(self):
        self.assertEqual(self.play("survival_steady", "swap", "256"), self.output)
        calls = self.whole(self.only_trace())
        self.assertEqual(len(calls), 2 * 256 * 200)
        self.assertEqual(self.check_lives(calls), set())

    def test_a_deleted_log_is_noticed(self):
        command = os.environ.get("GMT_COMMAND")
        if not command:
            self.skipTest("no command in this build")
        self.run_program("survival_steady", "swap", "8")
        trace = self.only_trace()
        for log in trace.logs:
            end = max((record.order for other in trace.logs if other is not log for record in other.records), default=0)
            followed = [record for record in log.records if record.is_call and record.order < end]
            if len(followed) <= len(trace.logs):
                continue  # so few look like the calls that a killed process's threads had begun
            os.rename(log.path, log.path + ".kept")
            report = subprocess.run(
                [command, "report", "--no-symbols", "--only", "double-free", trace.path],
                capture_output=True,
                text=True,
                check=False,
            )
            os.rename(log.path + ".kept", log.path)
            self.assertEqual(report.returncode, 3, report)
            self.assertRegex(
                " ".join(report.stderr.split()),
                r"is not complete: ([\d,]+ records are missing from the trace|the trace lacks the log)",
            )

    def test_short_threads(self):
        threads = 20000 if os.environ.get("GMT_LONG_TESTS") == "1" else 4000
        self.run_program("survival_steady", "short", str(threads), timeout=200)
        trace = self.only_trace()
        self.assertEqual(len(self.whole(trace)), 2 * threads)
        self.assertLessEqual(len(trace.logs), 32)
        self.check_leases(trace)
        self.assertEqual(self.numbers(trace), list(range(1, threads + 2)), "the last is main's, at the end")

    def numbers(self, trace):
        return sorted(record["number"] for record in trace.records if record.kind == "thread")

    def test_a_thread_that_comes_back_is_the_same(self):
        """Its log was taken away at its end, and then a destructor of its own calls again."""
        result = self.run_program("survival_odd", "late_calls")
        self.assertEqual(result.stdout, "bad 0\n")
        trace = self.only_trace()
        self.whole(trace)
        begun = [record for record in trace.records if record.kind == "thread"]
        self.assertEqual([record["number"] for record in begun], [1, 1, 2, 2, 3])
        self.assertEqual(begun[0]["id"], begun[1]["id"])
        self.assertNotEqual(begun[1]["id"], begun[2]["id"])

    def check_leases(self, trace):
        """Each log begins with its thread, and between two threads the orders rise."""
        for log in trace.logs:
            self.assertEqual((log.records[0].kind, log.records[0]["id"]), ("thread", log.tid))
            highest = 0
            for record in log.records:
                if record.kind == "thread":
                    self.assertGreater(record.order, highest)
                elif record.is_call:
                    self.assertGreater(record.order, 0)
                highest = max(highest, record.order)

    def test_handler_that_frees(self):
        for scene in ("alarms", "alarms_own_stack"):
            with self.subTest(scene):
                self.setUp()
                words = self.run_program("survival_steady", scene, "300").stdout.split()
                pairs, handled = int(words[1]), int(words[3])
                self.assertGreaterEqual(handled, 300)
                self.assertEqual(words[4:], ["failed", "0", "0"])
                calls = self.whole(self.only_trace())
                self.assertEqual(len(calls), 8192 + 2 * pairs + handled)
                self.assertEqual(len(self.check_lives(calls)), 8192 - handled)
                self.assertTrue(all(call.flags & (1 << 12) == 0 for call in calls), "a handler's call is its own")

    def test_little_address_space(self):
        """One arena for all threads: glibc would reserve 128 MiB for that of each, and the program run short by itself."""

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))
            resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))

        env = {"MALLOC_ARENA_MAX": "1"}
        self.assertEqual(self.play("survival_steady", "swap", "16", env=env, preexec_fn=limit), self.output)
        trace = self.only_trace()
        self.assertEqual(len(trace.calls) + trace.lost.get("no log", 0), 2 * 16 * 200)

    def test_calls_left_by_longjmp(self):
        self.assertEqual(self.play("survival_odd", "longjmp"), self.output)
        trace = self.only_trace()
        pairs = [call for call in trace.calls if call.kind in ("alloc", "free")]
        self.assertEqual(len(pairs), 2 * 50 * 2)
        self.assertEqual(self.check_lives(pairs), set())
        self.assertTrue(all(call.flags & (1 << 12) == 0 for call in pairs))
        self.assertEqual([call.in_flight for call in trace.calls_of("cuLaunchHostFunc")], [True] * 50)

    def test_calls_left_by_exceptions(self):
        self.assertEqual(self.play("survival_odd", "throw"), self.output)
        pairs = [call for call in self.only_trace().calls if call.kind in ("alloc", "free")]
        self.assertEqual(len(pairs), 2 * 50)

    def test_cancelled_threads(self):
        without = self.play("survival_odd", "cancel", env={"STANDIN_SYNC": "sleep"})
        self.assertEqual(without, self.output)
        trace = self.only_trace()
        self.assertEqual((trace.torn, trace.lost), (0, {}))
        self.assertEqual([call.in_flight for call in trace.calls_of("cuCtxSynchronize")], [True] * 10)
        self.assertEqual(self.check_lives(trace.calls), set())
        self.assertLessEqual(len(trace.logs), 8)

    def test_smallest_stacks(self):
        self.assertEqual(self.play("survival_odd", "small_stacks"), self.output)
        trace = self.only_trace()
        self.assertEqual(len(self.whole(trace)), 40)
        self.assertEqual(len(trace.logs), 1)


class PlugIns(InterposedCase):
    def test_loop(self):
        result = self.run_program(
            "survival_odd", "plugin_loop", self.binary("libsurvival_plugin.so"), env={"STANDIN_LOG": "/dev/null"}
        )
        self.assertEqual(result.stdout, "bad 0\n")
        trace = self.only_trace()
        ours = [line for line in trace.modules() if line[0] == "+" and line[-1].endswith("libsurvival_plugin.so")]
        gone = {(line[2]) for line in trace.modules() if line[0] == "-"}
        self.assertGreater(len(ours), 30, "now and then it comes back to the same place")
        self.assertTrue({line[2] for line in ours[:-1]} <= gone)
        self.assertEqual(len([call for call in trace.calls if call.kind == "alloc" and call["bytes"] == 3333]), 100)
        self.check_stacks(trace, ours, gone)
        self.check_variables(trace.modules(), ours)

    def check_variables(self, lines, ours):
        """Where an object file has its variables stands right behind it, and lies inside it."""
        known, loaded = 0, lines[0]
        for before, line in zip(lines, lines[1:]):
            if line[0] == "+":
                loaded = line
            if line[0] != "=":
                continue
            self.assertIn(before[0], "+=")
            self.assertEqual(line[1], loaded[2])
            start, begin, end = (int(word, 16) for word in line[1:])
            self.assertTrue(start < begin < end <= int(loaded[3], 16), line)
            known += loaded in ours
        self.assertGreaterEqual(known, len(ours))

    def check_stacks(self, trace, ours, gone):
        """The innermost frame of a plug-in's call lies in the plug-in as it was loaded then."""
        spans = [(int(line[1], 16), int(line[2], 16), int(line[3], 16)) for line in ours]
        for call in trace.calls:
            if call.kind != "alloc" or call["bytes"] != 3333:
                continue
            loaded = [span for span in spans if span[0] <= call.order]
            frame = trace.stack(call)[0]
            start, end = max(loaded)[1:]
            self.assertTrue(start <= frame < end, f"{frame:x} not in {start:x}-{end:x}")

    def test_relative_paths(self):
        """The program changes its directory before it makes its first call."""
        ours = os.path.dirname(INTERPOSER)
        for library in (
            self.binary("libsurvival_plugin.so"),
            os.path.join(STANDIN, "libcuda.so.1"),
            INTERPOSER,
            *(os.path.join(ours, name) for name in os.listdir(ours) if name.endswith(".so.8") or "lzma" in name),
        ):
            shutil.copy(library, self.folder)
        os.rename(os.path.join(self.folder, "libcuda.so.1"), os.path.join(self.folder, "libcuda.so.580"))
        os.symlink("libcuda.so.580", os.path.join(self.folder, "libcuda.so.1"))
        self.run_program(
            "survival_odd",
            "plugin_elsewhere",
            "./libsurvival_plugin.so",
            env={"LD_LIBRARY_PATH": ".", "LD_PRELOAD": "./libgpumemtrace.so"},
        )
        trace = self.only_trace()
        paths = [line[-1] for line in trace.modules() if line[0] == "+"]
        for name in ("libsurvival_plugin.so", "libcuda.so.1", "libgpumemtrace.so", "libunwind.so.8"):
            self.assertIn(os.path.join(os.path.realpath(self.folder), name), paths)
        self.assertEqual([path for path in paths if "/" in path and path[0] != "/"], [])
        self.assertTrue(all(trace.stack(call) for call in trace.calls), "libunwind lies beside us")
        if command := os.environ.get("GMT_COMMAND"):
            report = subprocess.run(
                [command, "report", "--format", "json", trace.path], capture_output=True, check=False
            )
            places = [
                (frame["function"], os.path.basename(frame["file"] or ""))
                for finding in json.loads(report.stdout)["findings"]
                for stack in finding["stacks"]
                for frame in stack["frames"]
            ]
            self.assertIn(("run", "plugin.cpp"), places)

    def test_relative_path_of_a_file_that_is_gone(self):
        shutil.copy(self.binary("libsurvival_plugin.so"), os.path.join(self.folder, "a\nb.so"))
        script = "import ctypes, os\nplugin = ctypes.CDLL('./a\\nb.so')\nos.unlink('a\\nb.so')\nplugin.run()\n"
        self.run_program("/usr/bin/env", "python3", "-c", script, env={"STANDIN_LOG": "/dev/null"})
        paths = [line[-1] for line in self.only_trace().modules() if line[0] == "+"]
        self.assertIn(os.path.join(os.path.realpath(self.folder), "a\\nb.so"), paths)

    def test_constructor_that_waits_for_a_call(self):
        result = self.run_program("survival_odd", "waiting_constructor", self.binary("libsurvival_plugin_waiting.so"))
        self.assertEqual(result.stdout, "loaded 1\n")
        self.assertEqual(len(self.only_trace().calls), 6)


if __name__ == "__main__":
    interposed_case.main()
