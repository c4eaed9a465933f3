# SPDX-License-Identifier: Apache-2.0
"""`record --idle` and `attach`: nothing is recorded before it is asked for, and what was before is taken for no mistake
after. And `--no-arguments`: the command line stays out of the trace."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["GMT_COMMAND"]
RUNTIME = os.environ["GMT_RUNTIME"]
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern int cudaMalloc(void**, size_t), cudaFree(void*), cudaMallocHost(void**, size_t), cudaFreeHost(void*);
extern int cudaMemcpy(void*, const void*, size_t, int), cudaDeviceSynchronize(void);
static char line[16];
static void wait_for_word(void) {
  printf("%d\\n", getpid());
  fflush(stdout);
  if (read(0, line, 1) != 1) exit(0);
}
static void after(void* a, void* h) {
  void *c, *d;
  cudaMemcpy(a, h, 4096, 1);
  cudaMemcpy(h, a, 4096, 2);
  cudaFree(a);
  cudaFreeHost(h);
  cudaMalloc(&c, 8192);
  cudaMalloc(&d, 256);
  cudaFree(d);
  cudaFree(d);
}
int main(int argc, char** argv) {
  void *a, *h;
  if (argc > 1 && fork() != 0) return wait(NULL) < 0;
  cudaMalloc(&a, 4096);
  cudaMallocHost(&h, 4096);
  wait_for_word();
  after(a, h);
  wait_for_word();
  return 0;
}
"""


class Idle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="gpumemtrace-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.home, True)
        (cls.home / "app.c").write_text(PROGRAM)
        rpath = f"-Wl,-rpath,{os.path.dirname(RUNTIME)}"
        subprocess.run(["cc", "-g", "-o", cls.home / "app", cls.home / "app.c", RUNTIME, rpath], check=True)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.home))

    def command(self, *words):
        return subprocess.run(
            [COMMAND, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
        )

    def start(self, *words):
        return subprocess.Popen(
            [COMMAND, "record", "--device", "simulated", *words],
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def go_on(self, process):
        process.stdin.write(".")
        process.stdin.flush()

    def traces(self):
        return sorted(self.folder.glob("gpumemtrace.app.*"))

    def check_report(self):
        (trace,) = self.traces()
        report = json.loads(self.command("report", "--format", "json", trace).stdout)
        errors = sorted((one["kind"], one["bytes"]) for one in report["findings"] if one["severity"] == "error")
        self.assertEqual([kind for kind, _ in errors], ["double-free", "leak"])
        self.assertIn(("leak", 8192), errors)
        self.assertFalse(
            [one for one in report["findings"] if one["severity"] == "warning" and one["kind"] != "unused"]
        )
        self.assertIn("what was before", [one["what"] for one in report["not_checked"]])

    def attached(self, *words):
        process = self.start("--idle", *words)
        pid = process.stdout.readline().strip()
        self.assertEqual(self.traces(), [])
        done = self.command("attach", pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"process {pid} is recorded from its next CUDA call on", done.stderr)
        self.go_on(process)
        process.stdout.readline()
        self.assertEqual(len(self.traces()), 1)
        self.assertIn("8.0 KiB", self.command("top", "--once", pid).stdout)
        self.go_on(process)
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, said)
        self.check_report()
        self.assertEqual(list(self.folder.glob("gpumemtrace-idle.*")), [])
        self.assertEqual(self.command("attach", pid).returncode, 2)

    def test_recorded_from_attach_on(self):
        self.attached(self.home / "app")

    def test_a_forked_child(self):
        self.attached(self.home / "app", "fork")

    def test_it_is_never_asked_for(self):
        process = self.start("--idle", self.home / "app")
        process.stdout.readline()
        _, said = process.communicate("..", timeout=60)
        self.assertIn("no trace was asked for: 'gpumemtrace attach PID' does", said)
        self.assertEqual(list(self.folder.iterdir()), [])
        refused = self.command("record", "--device", "simulated", "--idle", "--guard", self.home / "app")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--idle cannot be used with --guard", refused.stderr)
        self.assertEqual(self.command("attach", "none").returncode, 2)
        self.assertIn("does not wait to be recorded", self.command("attach", os.getpid()).stderr)

    def test_a_file_of_a_process_that_is_gone(self):
        """Its number may be another process's by now."""
        process = self.start("--idle", self.home / "app")
        pid = process.stdout.readline().strip()
        (file,) = self.folder.glob("gpumemtrace-idle.*")
        left = file.read_bytes()
        process.communicate("..", timeout=60)
        for other in (pid, os.getpid()):
            path = self.folder / f"gpumemtrace-idle.{other}"
            for content in (left, left[:4]):
                path.write_bytes(content)
                done = self.command("attach", other)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("does not wait to be recorded", done.stderr)
                self.assertEqual(path.read_bytes(), content)

    def test_no_arguments(self):
        for words, is_there in (((), True), (("--no-arguments",), False)):
            shutil.rmtree(self.folder)
            self.folder.mkdir()
            process = self.start(*words, self.home / "app", "--password=secret")
            process.communicate("..", timeout=60)
            (trace,) = self.traces()
            texts = b"".join(path.read_bytes() for path in trace.iterdir())
            self.assertEqual(b"secret" in texts, is_there)
            report = self.command("report", "--format", "json", trace).stdout
            self.assertEqual("secret" in report, is_there)
            self.assertIn("/app", self.command("report", trace).stdout)


if __name__ == "__main__":
    unittest.main()
