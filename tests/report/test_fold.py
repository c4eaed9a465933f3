# SPDX-License-Identifier: Apache-2.0
"""A trace that comes near to --max-trace is folded while its program runs: the report has the findings of a trace that was
not, the same totals and the same peak, and says what was dropped."""

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
STEPS = 30_000
PROGRAM = r"""
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "mistakes.h"
static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
  ".visible .entry fill(.param .u64 a, .param .u64 b) { .reg .u64 r; .reg .u32 v; mov.u32 v, 1;\n"
  "ld.param.u64 r, [a]; st.global.u32 [r], v; ld.param.u64 r, [b]; st.global.u32 [r], v; ret; }\n";
static void *fill, *kept[4], *blocks[64], *streams[2], *event;
static char host[128];
static pthread_mutex_t is_at_step = PTHREAD_MUTEX_INITIALIZER;
static void launch(void* a, void* b) {
  void* arguments[] = {&a, &b};
  cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, streams[0], arguments, NULL);
}
static void step(long i) {
  void** block = &blocks[i % 64];
  cudaFree(*block);
  cudaMalloc(block, 256 + (i * 7919) % 4096 * 16);
  for (int k = 0; k < 3; ++k) cudaMemsetAsync((char*)*block + random() % 64, random(), random() % 192, streams[0]);
  launch(*block, kept[i % 4]);
  launch(kept[0], kept[i % 3]);
  cudaEventRecord(event, streams[0]);
  cudaStreamWaitEvent(streams[1], event, 0);
  cudaMemsetAsync(kept[i % 4], 0, random() % 4096, streams[1]);
  cudaStreamSynchronize(streams[1]);
  cudaMemcpy(host + random() % 64, kept[i % 4], 1 + random() % 64, 2);
}
// The folding keeps up, also on a busy machine: two files of each of the two logs stay as they are.
static void wait_for_it(const char* folder) {
  char pattern[4096];
  snprintf(pattern, sizeof pattern, "%s/gpumemtrace.*/t*.log", folder);
  pthread_mutex_lock(&is_at_step);
  for (size_t files = 100; files > 5;) {
    glob_t found;
    files = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    if (files > 5) usleep(20000);
  }
  pthread_mutex_unlock(&is_at_step);
}
// Between the two, a cudaFree of the other thread would order them.
static void unordered(void) {
  pthread_mutex_lock(&is_at_step);
  cudaMemsetAsync(kept[1], 0, 64, streams[0]);
  cudaMemsetAsync(kept[1], 1, 64, streams[1]);
  pthread_mutex_unlock(&is_at_step);
  cudaStreamSynchronize(streams[0]);
  cudaStreamSynchronize(streams[1]);
}
static void* others(void* steps) { // in a thread of its own, whose blocks come and go with each step
  leak();
  for (long i = 0; i < (long)steps; ++i) {
    void* pair[2];
    pthread_mutex_lock(&is_at_step);
    for (int k = 0; k < 2; ++k) cudaMalloc(&pair[k], 512 + (2 * i + k) * 7919 % 4096 * 16);
    for (int k = 0; k < 2; ++k) cudaMemsetAsync(pair[k], 0, 64 << k, streams[1]);
    cudaStreamSynchronize(streams[1]);
    for (int k = 0; k < 2; ++k) cudaFree(pair[k]);
    pthread_mutex_unlock(&is_at_step);
    if (i == (long)steps / 4) twice();
  }
  return NULL;
}
static void peak(void) {
  void* all[50];
  pthread_mutex_lock(&is_at_step);
  for (int k = 0; k < 50; ++k) cudaMalloc(&all[k], 1 << 20), cudaMemset(all[k], 0, 1 << 20);
  for (int k = 0; k < 50; ++k) cudaFree(all[k]);
  pthread_mutex_unlock(&is_at_step);
}
int main(int argc, char** argv) {
  const long n = atol(argv[1]);
  void* module;
  for (int k = 0; k < 4; ++k) cudaMalloc(&kept[k], 4096), cudaMemset(kept[k], 0, 4096);
  for (int k = 0; k < 2; ++k) cudaStreamCreateWithFlags(&streams[k], 1);
  cudaEventCreate(&event);
  if (cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&fill, module, "fill")) return 1;
  leak();
  pthread_t thread;
  pthread_create(&thread, NULL, others, (void*)n);
  for (long i = 0; i < n; ++i) {
    step(i);
    if (i % 50 == 0) wait_for_it(argv[2]);
    if (i == n / 7) leak(), twice();
    if (i == n / 5) after(), past(), unordered();
    if (i == n / 3) peak();
  }
  pthread_join(thread, NULL);
  for (int i = 0; i < 64; ++i) cudaFree(blocks[i]);
  for (int k = 0; k < 4; ++k) cudaFree(kept[k]);
}
"""


class Fold(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpumemtrace-test-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        (self.folder / "app.c").write_text(PROGRAM)
        rpath = [f"-Wl,-rpath,{library.parent}" for library in (RUNTIME, DRIVER)]
        subprocess.run(
            ["cc", "-O1", "-g", "-I", HERE, "-o", self.folder / "app", self.folder / "app.c", RUNTIME, DRIVER, *rpath],
            check=True,
        )

    def report(self, limit):
        words = [COMMAND, "--device", "simulated", "--max-trace", limit, "--trace-dir", self.folder / limit]
        (self.folder / limit).mkdir()
        done = subprocess.run(
            [*words, "--format", "json=r.json", "./app", str(STEPS), limit],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=110,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        (trace,) = (self.folder / limit).glob("gpumemtrace.*")
        size = sum(path.stat().st_size for path in trace.glob("t*.log*"))
        return json.loads((self.folder / "r.json").read_text()), size

    def check_lengths_of_launches(self):
        """The simulated device runs kernels in their launches."""
        (trace,) = (self.folder / "2G").glob("gpumemtrace.*")
        done = subprocess.run(
            [COMMAND, "report", "--format", "perfetto", "--to", "300ms", trace],
            capture_output=True,
            text=True,
            check=False,
        )
        launches = [one for one in json.loads(done.stdout)["traceEvents"] if "kernel" in one.get("args", {})]
        self.assertGreater(len(launches), 1)
        self.assertTrue(all(one["ph"] == "X" and one["dur"] > 0 for one in launches), launches[0])

    def test_what_it_finds(self):
        whole, whole_size = self.report("2G")
        self.check_lengths_of_launches()
        folded, size = self.report("12M")
        (reason,) = [one["why"] for one in folded["not_checked"] if one["what"] == "calls that were folded"]
        self.assertRegex(reason, r"^[1-9][\d,]+ calls were dropped while the program ran")
        self.assertEqual(folded["processes"][0]["lost"], {})
        self.assertLess(size, 12 << 20)
        self.assertLess(size, whole_size)

        def shown(report):
            return sorted(
                (one["kind"], one["severity"], one["message"], one["count"], str([s["frames"] for s in one["stacks"]]))
                for one in report["findings"]
                if one["severity"] != "note"
            )

        kinds = [finding[0] for finding in shown(whole)]
        self.assertEqual(
            kinds,
            [
                "copy-out-of-bounds",
                "double-free",
                "double-free",
                "leak",
                "leak",
                "leak",
                "stream-race",
                "use-after-free",
            ],
        )
        self.assertEqual([one[:2] for one in shown(folded)], [one[:2] for one in shown(whole)])
        for name in (
            "events",
            "allocations",
            "allocated_bytes",
            "frees",
            "launches",
            "copies",
            "peak_bytes",
            "live_bytes",
        ):
            self.assertEqual(folded["processes"][0]["totals"][name], whole["processes"][0]["totals"][name], name)


if __name__ == "__main__":
    unittest.main()
