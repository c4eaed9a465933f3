#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""logged_calls.ptx is what nvcc makes of logged_calls.cu and of device_hooks.

test_logged_calls.py NVCC INCLUDE FOLDER [unittest's arguments]

With GMT_WRITE=1 the file is written instead. Another version of nvcc than the one that wrote it writes other code: then
the test is skipped.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

NVCC, INCLUDE, FOLDER = sys.argv[1:4]
FLAGS = (
    "-std=c++17",
    "-O2",
    "-rdc=true",
    "-arch=compute_75",
    "-ptx",
    "-I",
    INCLUDE,
    "-I",
    str(pathlib.Path(FOLDER).parents[3]),
)
TEXT = pathlib.Path(FOLDER, "logged_calls.ptx")


def compiler_of(text):
    return re.search(r"^// Cuda compilation tools, .*$", text, re.MULTILINE)[0]


class LoggedCalls(unittest.TestCase):
    def test_the_text_is_of_its_source(self):
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder, TEXT.name)
            command = [NVCC, *FLAGS, pathlib.Path(FOLDER, "logged_calls.cu"), "-o", made]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            text = made.read_text()
        if os.environ.get("GMT_WRITE") == "1":
            TEXT.write_text(text)
        kept = TEXT.read_text()
        if compiler_of(kept) != compiler_of(text):
            self.skipTest("another compiler wrote it: " + compiler_of(kept))
        self.assertEqual(kept, text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
