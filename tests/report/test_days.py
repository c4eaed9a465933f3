# SPDX-License-Identifier: Apache-2.0
"""A program that makes ten million calls: what its trace takes, and the time and memory of the report on it."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["GMT_COMMAND"]
RUNTIME = os.environ["GMT_RUNTIME"]
STEPS = 2_000_000  # of five calls
PROGRAM = """
#include <stdlib.h>
extern int cudaMalloc(void**, size_t), cudaFree(void*), cudaMemset(void*, int, size_t);
static void* blocks[64];
static void step(long i) {
  void** block = &blocks[i % 64];
  cudaFree(*block);
  cudaMalloc(block, 256 + (i * 7919) % 4096 * 16);
  for (int value = 0; value < 3; ++value) cudaMemset(*block, value, 64 << value);
}
int main(int argc, char** argv) {
  for (long i = 0; i < atol(argv[1]); ++i) step(i);
  for (int i = 0; i < 64; ++i) cudaFree(blocks[i]);
}
"""


class Days(unittest.TestCase):
    def test_ten_million_calls(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gpumemtrace-test-"))
        self.addCleanup(shutil.rmtree, folder, True)
        (folder / "app.c").write_text(PROGRAM)
        rpath = f"-Wl,-rpath,{os.path.dirname(RUNTIME)}"
        subprocess.run(["cc", "-O1", "-g", "-o", folder / "app", folder / "app.c", RUNTIME, rpath], check=True)
        words = [COMMAND, "record", "--device", "simulated", folder / "app", str(STEPS)]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
        (trace,) = folder.glob("gpumemtrace.*")
        size = sum(path.stat().st_size for path in trace.iterdir())
        words = ["/usr/bin/time", "-f", "%U %S %M", COMMAND, "report", "--format", "json=r.json", trace]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        user, system, kilobytes = map(float, done.stderr.split("\n")[-2].split())
        print(f"{size / 1e6:.0f} MB of trace; report: {user + system:.1f} s of a core, {kilobytes / 1024:.0f} MiB")
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stdout, re.escape("allocated ") + r".* in 2,000,000 calls, live at end 0 bytes")
        self.assertLess(size, 10_000_000 * 50)
        self.assertLess(user + system, 20)
        self.assertLess(kilobytes, 256 << 10)


if __name__ == "__main__":
    unittest.main()
