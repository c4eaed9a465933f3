# SPDX-License-Identifier: Apache-2.0
"""A program that makes a thousand calls a second for an hour: what its trace takes, what the folding leaves of it, and what
the report says, takes and costs. GMT_SECONDS shortens the hour."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
COMMAND = os.environ["GMT_COMMAND"]
RUNTIME = pathlib.Path(os.environ["GMT_RUNTIME"])
DRIVER = pathlib.Path(os.environ["GMT_DRIVER"])
SECONDS = int(os.environ.get("GMT_SECONDS", "3600"))
CALLS_OF_STEP = 10
STEPS_OF_SECOND = 100
LIMIT = 16 << 20  # a week may take 2 GiB: an hour's share is 12.2 MiB
PROGRAM = r"""
#include <stdlib.h>
#include <time.h>
#include "mistakes.h"
static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
  ".visible .entry fill(.param .u64 a) { .reg .u64 r; .reg .u32 v; mov.u32 v, 1;\n"
  "ld.param.u64 r, [a]; st.global.u32 [r], v; ret; }\n";
static void *fill, *kept[4], *blocks[64], *streams[2], *event;
static char host[128];
static void launch(void* a) {
  void* arguments[] = {&a};
  cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, streams[0], arguments, NULL);
}
static void step(long i) { // ten calls
  void** block = &blocks[i % 64];
  cudaFree(*block);
  cudaMalloc(block, 256 + random() % 65536);
  cudaMemsetAsync(*block, random(), random() % 192, streams[0]);
  launch(*block);
  launch(kept[0]);
  cudaEventRecord(event, streams[0]);
  cudaStreamWaitEvent(streams[1], event, 0);
  cudaMemsetAsync(kept[i % 4], 0, random() % 4096, streams[1]);
  cudaStreamSynchronize(streams[1]);
  cudaMemcpy(host + random() % 64, kept[i % 4], 1 + random() % 64, 2);
}
static void peak(void) {
  void* all[50];
  for (int k = 0; k < 50; ++k) cudaMalloc(&all[k], 1 << 20), cudaMemset(all[k], 0, 1 << 20);
  for (int k = 0; k < 50; ++k) cudaFree(all[k]);
}
int main(int argc, char** argv) {
  const long n = atol(argv[1]), steps_of_second = atol(argv[2]);
  void* module;
  for (int k = 0; k < 4; ++k) cudaMalloc(&kept[k], 4096), cudaMemset(kept[k], 0, 4096);
  for (int k = 0; k < 2; ++k) cudaStreamCreateWithFlags(&streams[k], 1);
  cudaEventCreate(&event);
  if (cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&fill, module, "fill")) return 1;
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  leak();
  for (long i = 0; i < n; ++i) {
    step(i);
    if (i == n / 7) leak(), twice();
    if (i == n / 5) after(), past();
    if (i == n / 3) peak();
    at.tv_nsec += 1000000000 / steps_of_second;
    if (at.tv_nsec >= 1000000000) at.tv_nsec -= 1000000000, ++at.tv_sec;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
  }
  for (int i = 0; i < 64; ++i) cudaFree(blocks[i]);
  for (int k = 0; k < 4; ++k) cudaFree(kept[k]);
}
"""
MISTAKES = ["copy-out-of-bounds", "double-free", "leak", "leak", "use-after-free"]


class Hour(unittest.TestCase):
    def test_a_thousand_calls_a_second(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gpumemtrace-test-"))
        self.addCleanup(shutil.rmtree, folder, True)
        (folder / "app.c").write_text(PROGRAM)
        rpath = [f"-Wl,-rpath,{library.parent}" for library in (RUNTIME, DRIVER)]
        subprocess.run(
            ["cc", "-O1", "-g", "-I", HERE, "-o", folder / "app", folder / "app.c", RUNTIME, DRIVER, *rpath], check=True
        )
        steps = SECONDS * STEPS_OF_SECOND
        words = [COMMAND, "record", "--device", "simulated", "--max-trace", str(LIMIT), "--trace-dir", folder]
        words = ["/usr/bin/time", "-f", "%e %U %S", *words, folder / "app", str(steps), str(STEPS_OF_SECOND)]
        done = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
        seconds, user, system = map(float, done.stderr.split("\n")[-2].split())
        (trace,) = folder.glob("gpumemtrace.*")
        size = sum(path.stat().st_size for path in trace.iterdir())
        print(f"{steps * CALLS_OF_STEP:,} calls in {seconds:.0f} s with {user + system:.1f} s of a core, all processes")
        words = ["/usr/bin/time", "-f", "%e %U %S %M", COMMAND, "report", "--format", "json=r.json", trace]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        waited, user, system, kilobytes = map(float, done.stderr.split("\n")[-2].split())
        print(f"{size / 1e6:.1f} MB of trace; report: {waited:.2f} s, {user + system:.2f} s of a core, ", end="")
        print(f"{kilobytes / 1024:.0f} MiB")
        report = json.loads((folder / "r.json").read_text())
        folded = [one["why"] for one in report["not_checked"] if one["what"] == "calls that were folded"]
        print(folded, report["processes"][0]["lost"])
        self.assertEqual(report["processes"][0]["lost"], {})
        found = sorted(one["kind"] for one in report["findings"] if one["severity"] != "note")
        self.assertEqual(found, MISTAKES)
        self.assertGreater(report["processes"][0]["totals"]["allocations"], steps)
        self.assertGreater(report["processes"][0]["totals"]["peak_bytes"], 50 << 20)
        self.assertEqual(report["processes"][0]["totals"]["live_bytes"], 2 * 12345)
        if SECONDS >= 600:
            self.assertEqual(len(folded), 1)
            self.assertLess(seconds, SECONDS * 1.01 + 5)  # the program is not slowed
        self.assertLess(size, LIMIT)
        self.assertLess(user + system, 20)
        self.assertLess(kilobytes, 256 << 10)


if __name__ == "__main__":
    unittest.main()
