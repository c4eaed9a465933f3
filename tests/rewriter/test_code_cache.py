#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--kernel-checks keeps compiled code, and `gpumemtrace cache` shows and removes it.

test_code_cache.py GPUMEMTRACE PROGRAM [unittest's arguments]

The program is kernel_checks_heap. It runs on the simulated device, which compiles nothing: its machine code is the text.
"""

import concurrent.futures
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

GPUMEMTRACE, PROGRAM = (str(pathlib.Path(word).absolute()) for word in sys.argv[1:3])
DEVICE = {"KERNEL_CHECKS": "1", "DEVICE_CHECKS": "none", "MEMORY": "256M", "GAPS": "0"}


class CodeCache(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpumemtrace-test-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("GPUMEMTRACE_")}
        self.environment |= {f"GPUMEMTRACE_SIM_{name}": value for name, value in DEVICE.items()}
        self.environment["XDG_CACHE_HOME"] = str(self.folder / "cache")
        self.code = self.folder / "cache" / "gpumemtrace" / "code"
        self.said = {}

    def run_command(self, *words):
        return subprocess.run(
            [GPUMEMTRACE, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )

    def findings(self, *options):
        """What the report has. What else is said stands in self.said, by options."""
        report = self.folder / f"report{''.join(options)}.json"
        words = ("check", "--device", "simulated", "--kernel-checks", "--format", "json", "--output", str(report))
        done = self.run_command(*words, *options, PROGRAM, "wrong")
        self.assertEqual(done.returncode, 23, done.stderr)
        self.said[options] = done.stderr
        return [
            (finding["kind"], finding["count"], [stack["frames"][0].get("line") for stack in finding["stacks"]])
            for finding in json.loads(report.read_text())["findings"]
        ]

    def entries(self):
        return sorted(self.code.iterdir()) if self.code.exists() else []

    def test_what_was_compiled_is_used_again(self):
        compiled = self.findings()
        self.assertIn("kernel-use-after-free", [kind for kind, _, _ in compiled])
        (entry,) = self.entries()
        before = entry.stat()
        os.utime(entry, (1, 1))
        self.assertEqual(self.findings(), compiled)
        (entry,) = self.entries()
        self.assertEqual(entry.stat().st_ino, before.st_ino)
        self.assertGreater(entry.stat().st_mtime, 1)
        # Another choice of kernels is other code.
        self.findings("--skip-kernels", "come_and_go")
        self.assertEqual(len(self.entries()), 2)

    def test_a_damaged_entry_is_compiled_anew(self):
        compiled = self.findings()
        (entry,) = self.entries()
        whole = entry.read_bytes()
        entry.write_bytes(whole[: len(whole) // 2])
        self.assertEqual(self.findings(), compiled)
        (entry,) = self.entries()
        self.assertEqual(entry.read_bytes(), whole)

    def test_a_text_that_another_process_compiles_is_waited_for(self):
        compiled = self.findings()
        (entry,) = self.entries()
        kept = entry.rename(self.folder / "kept")
        with open(self.code / f".{entry.name}", "w", encoding="utf-8") as claim:
            fcntl.lockf(claim, fcntl.LOCK_EX)
            with concurrent.futures.ThreadPoolExecutor() as other:
                waiting = [other.submit(self.findings), other.submit(self.findings, "--quiet")]
                self.assertEqual(concurrent.futures.wait(waiting, timeout=9).done, set())
                kept.rename(entry)
                before = entry.stat()
                fcntl.lockf(claim, fcntl.LOCK_UN)
                self.assertEqual([one.result() for one in waiting], [compiled, compiled])
        self.assertEqual(self.entries(), [entry])  # and no claim
        self.assertEqual(entry.stat().st_ino, before.st_ino)
        words = "gpumemtrace: waiting for another process that compiles kernels with checks (5 s so far)\n"
        self.assertIn(words, self.said[()])
        self.assertEqual(self.said[("--quiet",)], "")

    def test_without_a_folder_all_is_as_with_one(self):
        compiled = self.findings()
        self.environment["XDG_CACHE_HOME"] = "/proc/none"
        self.assertEqual(self.findings(), compiled)

    def test_the_command_lists_and_removes_it(self):
        self.assertIn("0 files, 0 bytes", self.run_command("cache").stdout)
        self.findings()
        others = self.code.parent / "mine"
        others.mkdir()
        listed = self.run_command("cache")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertRegex(listed.stdout, r" 1 file +code +checked code, compiled\n")
        self.assertIn("'gpumemtrace cache --remove' removes them", listed.stdout)
        self.assertEqual(len(self.entries()), 1)
        self.assertIn("removed 1 file, ", self.run_command("cache", "--remove").stdout)
        self.assertEqual(self.entries(), [])
        self.assertTrue(others.exists())
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        self.code.symlink_to(elsewhere)
        kept = self.run_command("cache", "--remove")
        self.assertIn("(stays: it is a link)", kept.stdout)
        self.assertEqual(kept.returncode, 1)
        self.assertTrue(elsewhere.exists())
        self.assertEqual(self.run_command("cache", "all").returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
