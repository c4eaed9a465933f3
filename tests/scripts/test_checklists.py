# SPDX-License-Identifier: Apache-2.0
"""Every `scripts/check` of the checklists in docs/development.md, in a build folder that is made anew: each must pass.
scripts/test --long runs it. It builds nearly everything, each source by itself, and prints what each command took."""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
import unittest

import checklists

FOLDER = pathlib.Path(os.environ["GMT_BINARY_DIR"]) / "checklists"


class Checklists(unittest.TestCase):
    def test_they_all_pass_in_a_fresh_folder(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        commands = dict.fromkeys(tuple(check) for row in checklists.rows() for check in row.checks)
        self.assertGreater(len(commands), 20)
        environment = {**os.environ, "GPUMEMTRACE_BUILD_DIR": str(FOLDER)}
        for name in ("GPUMEMTRACE_NO_SYSTEM_CUDA", "GMT_LONG_TESTS"):  # the toolkit is that of this build
            environment.pop(name, None)
        failed = []
        for words in commands:
            begun = time.monotonic()
            done = subprocess.run(
                [checklists.SOURCES / "scripts/check", *words],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            line = f"{time.monotonic() - begun:7.1f} s  scripts/check {shlex.join(words)}"
            print(line, flush=True)
            if done.returncode != 0:
                failed.append(line)
                print(done.stdout[-4000:], flush=True)
        self.assertEqual(failed, [])
        shutil.rmtree(FOLDER)  # it stays where something failed


if __name__ == "__main__":
    sys.exit(unittest.main())
