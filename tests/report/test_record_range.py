# SPDX-License-Identifier: Apache-2.0
"""`--record-range`: launches and copies are recorded in one part of a run alone; what is known of memory stays whole, and
nothing false is said because the other calls are missing."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

COMMAND = os.environ["GMT_COMMAND"]
RUNTIME = os.environ["GMT_RUNTIME"]
PACKAGE = pathlib.Path(__file__).parents[2] / "python"
PROGRAM = """
import ctypes, sys, threading
import gpumemtrace
cudart = ctypes.CDLL("libcudart.so.13")
pointer = ctypes.c_void_p
host = ctypes.create_string_buffer(4096)

def allocate(size):
    block = pointer()
    assert cudart.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(size)) == 0
    return block

def work(block, size=4096):  # a stream of its own writes, another one reads: an event orders them
    cudart.cudaMemsetAsync(block, 1, ctypes.c_size_t(size), streams[0])
    cudart.cudaEventRecord(event, streams[0])
    cudart.cudaStreamWaitEvent(streams[1], event, 0)
    cudart.cudaMemcpyAsync(host, block, ctypes.c_size_t(size), 2, streams[1])
    cudart.cudaStreamSynchronize(streams[1])

def step(number):
    old = allocate(4096)
    work(old)
    work(kept)
    cudart.cudaFree(old)
    if number in (3, 15, 25):
        gone = allocate(512)
        cudart.cudaFree(gone)
        cudart.cudaMemset(gone, 0, ctypes.c_size_t(64))  # a mistake in each part
    if number in (4, 26):
        leaked.append(allocate(1000))

if sys.argv[1] == "early":
    gpumemtrace.start()  # before the first CUDA call
opened, ends = threading.Event(), threading.Event()

def be_in_part():
    with gpumemtrace.range("part"):
        opened.set()
        ends.wait()

thread = threading.Thread(target=be_in_part)
if sys.argv[1] == "thread":  # its range is not known to be open
    thread.start()
    opened.wait()
streams, event, leaked = [pointer(), pointer()], pointer(), []
for stream in streams:
    cudart.cudaStreamCreateWithFlags(ctypes.byref(stream), 1)
cudart.cudaEventCreate(ctypes.byref(event))
kept = allocate(4096)
late = None
if sys.argv[1] == "thread":
    ends.set()
    thread.join()
for number in range(30):
    if number == 10:
        if sys.argv[1] == "calls": gpumemtrace.start()
        if sys.argv[1] == "runtime": assert cudart.cudaProfilerStart() == 0
    with gpumemtrace.range("part" if 10 <= number < 20 else "other"):
        step(number)
    if number == 19:
        gpumemtrace.stop()
late = allocate(2048)
work(late, 2048)  # unseen
for block in (kept, late):
    cudart.cudaFree(block)
for stream in streams:
    cudart.cudaStreamDestroy(stream)
cudart.cudaEventDestroy(event)
"""


class RecordRange(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="gpumemtrace-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.home, True)
        (cls.home / "app.py").write_text(PROGRAM)

    def run_command(self, *words, **more):
        path = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [COMMAND, *map(str, words)],
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONPATH": path, "LD_LIBRARY_PATH": os.path.dirname(RUNTIME), **more},
        )

    def report(self, how, *words):
        done = self.run_command(
            "run", "--device", "simulated", "--format", "json=r.json", *words, sys.executable, "-B", "app.py", how
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((self.home / "r.json").read_text())
        kinds = [(one["kind"], one["count"]) for one in report["findings"]]
        return report, kinds

    def test_the_whole_run(self):
        _, kinds = self.report("none")
        self.assertEqual(sorted(kinds), [("leak", 2), ("unused", 2), ("use-after-free", 3)])

    def test_one_part(self):
        for how, where in (
            ("calls", "profiler"),
            ("runtime", "profiler"),
            ("none", "part"),
            ("thread", "part"),
            ("early", "profiler"),
        ):
            with self.subTest(how):
                report, kinds = self.report(how, "--record-range", where)
                mistakes = 2 if how == "early" else 1
                self.assertEqual(sorted(kinds), [("leak", 2), ("use-after-free", mistakes)])
                (process,) = report["processes"]
                self.assertEqual(process["totals"]["copies"], (20 if how == "early" else 10) * 2)
                self.assertEqual(process["totals"]["allocations"], 30 + 3 + 2 + 2)
                (left_out,) = [one for one in report["not_checked"] if one["what"] == "calls outside of the range"]
                calls = (10 if how == "early" else 20) * 10 + 5 + (1 if how == "early" else 2)
                self.assertIn(f"--record-range {where}: {calls} calls that", left_out["why"])

    def test_a_part_that_never_comes(self):
        report, kinds = self.report("none", "--record-range", "nowhere")
        self.assertEqual(kinds, [("leak", 2)])
        self.assertEqual(report["processes"][0]["totals"]["copies"], 0)

    def test_what_it_cannot_be_used_with(self):
        done = self.run_command("run", "--device", "simulated", "--host-races", "--record-range", "part", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--host-races cannot be used with --record-range", done.stderr)


if __name__ == "__main__":
    unittest.main()
