# SPDX-License-Identifier: Apache-2.0
"""interposer/python/layouts.def says what the headers of each version say."""

import os
import re
import subprocess

import python_case
from python_case import COMPILER, HERE, KNOWN, KNOWN_ONES, PythonCase, with_each

SOURCES = os.environ["GMT_SOURCES"]
ROW = re.compile(r"^LAYOUT\((\d+), (\d+), (.*)\)$", re.MULTILINE)


def has_headers(python):
    return COMPILER and os.path.exists(os.path.join(python.headers, "internal/pycore_frame.h"))


def table():
    with open(os.path.join(SOURCES, "interposer/python/layouts.def"), encoding="utf-8") as file:
        return {(int(row[1]), int(row[2])): row[3].split(", ") for row in ROW.finditer(file.read())}


class Layouts(PythonCase):
    def test_versions(self):
        self.assertEqual(tuple(table()), KNOWN)

    @with_each([python for python in KNOWN_ONES if has_headers(python)])
    def test_offsets(self, python):
        program = os.path.join(self.folder, "layout")
        subprocess.run(
            [COMPILER, "-w", "-I", python.headers, os.path.join(HERE, "layout.c"), "-o", program],
            check=True,
            timeout=100,
        )
        printed = subprocess.run([program], capture_output=True, text=True, check=True, timeout=20).stdout
        self.assertEqual(printed.split(), table()[python.version[:2]])


if __name__ == "__main__":
    python_case.main()
