# SPDX-License-Identifier: Apache-2.0
"""With --core-dump and --guard no call answers 0 while the driver writes a core dump, and what ends a context or the process
is held if nothing has waited for its kernels: a process that ends before the dump ends as if nothing had happened."""

import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HOLD = 0.040  # seconds
SIMULATED = os.environ.get("GMT_SIMULATED")
PROGRAM = os.path.join(os.environ["GMT_BINARIES"], "survival_holding")


class CoreDumpHold(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def start_program(self, *words, **environment):
        return subprocess.run(
            [PROGRAM, *map(str, words)],
            env={
                **os.environ,
                "LD_PRELOAD": os.environ["GMT_INTERPOSER"],
                "LD_LIBRARY_PATH": SIMULATED,
                "GPUMEMTRACE_DIR": self.folder,
                **environment,
            },
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def run_program(self, *words, **environment):
        """How long the end took, in seconds."""
        done = self.start_program(*words, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        times = [int(line) / 1e9 for line in done.stdout.split()]
        return (times[1] if len(times) > 1 else time.monotonic()) - times[0]

    def shortest(self, *words, **environment):
        return min(self.run_program(*words, **environment) for _ in range(5))

    def test_ends_are_held_when_nothing_waited_for_kernels(self):
        for end in ("return", "_exit", "reset"):
            self.assertGreaterEqual(self.run_program(1, end, "unwaited", GPUMEMTRACE_CORE_DUMP="1"), HOLD, end)

    def test_nothing_is_held_without_such_a_kernel_or_the_option(self):
        for end in ("return", "_exit", "reset"):
            self.assertLess(self.shortest(0, end, "unwaited", GPUMEMTRACE_CORE_DUMP="1"), HOLD, end)
            self.assertLess(self.shortest(1, end, GPUMEMTRACE_CORE_DUMP="1"), HOLD, end)
            self.assertLess(self.shortest(1, end, "unwaited"), HOLD, end)

    def test_the_process_is_held_once(self):
        """A thread that launches on finds no driver any more behind the first time."""
        took = self.shortest(1, "return", "thread", GPUMEMTRACE_CORE_DUMP="1")
        self.assertGreaterEqual(took, HOLD)
        self.assertLess(took, 2 * HOLD)

    def test_no_call_answers_0_while_a_dump_is_written(self):
        stands_still = {
            "LD_PRELOAD": f"{os.environ['GMT_INTERPOSER']}:{os.environ['GMT_STAGED_DEVICE']}",
            "STAGED_DUMP_AFTER_LAUNCH": "nothing:300",
        }
        without = self.start_program(1, "_exit", **stands_still)
        self.assertEqual((without.returncode, len(without.stdout.split())), (0, 1), without.stderr)
        for option in ("GPUMEMTRACE_CORE_DUMP", "GPUMEMTRACE_GUARD"):
            for end in ("return", "_exit", "reset"):
                done = self.start_program(1, end, **stands_still, **{option: "1"})
                self.assertEqual((done.returncode, done.stdout), (-signal.SIGABRT, ""), (option, end))
                done = self.start_program(1, end, "unwaited", **stands_still, **{option: "1"})
                self.assertEqual((done.returncode, len(done.stdout.split())), (-signal.SIGABRT, 1), (option, end))

    def test_the_fence_asks_too(self):
        self.assertGreaterEqual(self.run_program(1, "return", "unwaited", GPUMEMTRACE_GUARD="1"), HOLD)
        self.assertIn("core_dump=on\n", self.info())

    def test_neither_the_sampler_nor_the_simulated_device_asks(self):
        for settings in (
            {"GPUMEMTRACE_GUARD_SAMPLE": "1"},
            {"GPUMEMTRACE_GUARD": "1", "GPUMEMTRACE_DEVICE": "simulated"},
            {"GPUMEMTRACE_CORE_DUMP": "1", "GPUMEMTRACE_DEVICE": "simulated"},
        ):
            self.assertLess(self.shortest(1, "_exit", "unwaited", **settings), HOLD, settings)
        self.assertNotIn("\ncore_dump=", self.info())

    def test_settings_of_the_program_win(self):
        self.assertLess(
            self.shortest(1, "_exit", "unwaited", GPUMEMTRACE_GUARD="1", CUDA_ENABLE_COREDUMP_ON_EXCEPTION="0"), HOLD
        )
        self.assertIn("core_dump=program\n", self.info())
        self.assertLess(
            self.shortest(1, "_exit", "unwaited", GPUMEMTRACE_CORE_DUMP="1", CUDA_ENABLE_COREDUMP_ON_EXCEPTION="0"),
            HOLD,
        )
        self.assertIn("core_dump=program\n", self.info())

    def test_no_room_in_the_trace(self):
        self.run_program(1, "_exit", GPUMEMTRACE_CORE_DUMP="1", GPUMEMTRACE_MAX_TRACE=str(64 << 20))
        self.assertIn("core_dump=no-room\n", self.info())

    def test_the_driver_is_asked(self):
        self.run_program(1, "_exit", GPUMEMTRACE_CORE_DUMP="1")
        self.assertIn("core_dump=on\n", self.info())
        self.run_program(1, "_exit")
        self.assertEqual(self.info().count("core_dump="), 1 + 4)  # the options' lines of both, and the answer

    def info(self):
        return "".join(open(path, encoding="utf-8").read() for path in glob.glob(self.folder + "/*/info"))


if __name__ == "__main__":
    if not SIMULATED:
        sys.exit(77)
    unittest.main()
