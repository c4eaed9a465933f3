# SPDX-License-Identifier: Apache-2.0
"""What tests of the interposer share: paths from CTest, a folder of its own, running a program under the preload.

A test that cannot run here calls skip(reason); a file whose tests were all skipped, or of which any was skipped,
exits with 77, which CTest reports as skipped and never as passed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from trace_files import directories, traces

INTERPOSER = os.environ["GMT_INTERPOSER"]
BINARIES = os.environ["GMT_BINARIES"]  # folder with this test kind's programs and libraries
STANDIN = os.environ["GMT_STANDIN"]  # folder with the stand-in libcuda.so.1


class InterposedCase(unittest.TestCase):
    timeout = 60

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.log = os.path.join(self.folder, "driver-calls")
        self.notes = os.path.join(self.folder, "notes")
        open(self.notes, "w").close()

    def tearDown(self):
        """However a process ended, its trace misses nothing that it does not tell of."""
        command = os.environ.get("GMT_COMMAND")
        for trace in directories(self.folder) if command else []:
            report = subprocess.run(
                [command, "report", "--no-symbols", "--format", "json", trace],
                capture_output=True,
                timeout=self.timeout,
                check=False,
            )
            self.assertNotIn(b"missing from the trace", report.stdout, trace)
            self.assertNotIn(b"is not complete", report.stderr, trace)

    def environment(self, preload=True, **more):
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GPUMEMTRACE_", "GMT_", "LD_", "STANDIN_"))
        }
        kept["LD_LIBRARY_PATH"] = STANDIN
        kept["STANDIN_LOG"] = self.log
        if preload:
            kept["LD_PRELOAD"] = INTERPOSER
            kept["GPUMEMTRACE_DIR"] = self.folder
            kept["GPUMEMTRACE_NOTES"] = self.notes
        kept.update(more)
        return kept

    def run_program(self, *words, preload=True, check=True, env=None, **more):
        words = [os.path.join(BINARIES, words[0]) if "/" not in words[0] else words[0], *words[1:]]
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("timeout", self.timeout)
        more.setdefault("cwd", self.folder)
        result = subprocess.run(
            words,
            check=False,
            env=self.environment(preload, **(env or {})),
            capture_output=True,
            **more,
        )
        result.stdout = result.stdout.decode(errors="replace")
        result.stderr = result.stderr.decode(errors="replace")
        if check:
            self.assertEqual(result.returncode, 0, f"{words}\n{result.stdout}{result.stderr}")
        return result

    def traces(self):
        return traces(self.folder)

    def only_trace(self):
        found = self.traces()
        self.assertEqual(len(found), 1, [trace.path for trace in found])
        return found[0]

    def driver_calls(self):
        """Names of the calls that reached the stand-in driver, in order."""
        try:
            with open(self.log, encoding="utf-8") as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def noted(self):
        """Lines of the command's notes: [word, pid, text]."""
        with open(self.notes, encoding="utf-8") as file:
            return [line.rstrip("\n").split("\t") for line in file]

    def binary(self, name):
        return os.path.join(BINARIES, name)


def main():
    program = unittest.main(exit=False, verbosity=1)
    if not program.result.wasSuccessful():
        sys.exit(1)
    for test, reason in program.result.skipped:
        print(f"skipped: {test}: {reason}")
    sys.exit(77 if program.result.skipped else 0)
