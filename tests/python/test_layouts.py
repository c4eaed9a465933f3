# SPDX-License-Identifier: Apache-2.0
"""interposer/python/layouts.def says what the headers of each version say."""

import os
import re
import subprocess

import python_case
from python_case import COMPILER, HERE, KNOWN, KNOWN_ONES, PythonCase, with_each

SOURCES = os.environ["GMT_SOURCES"]


def has_headers(python):
    return COMPILER and os.path.exists(os.path.join(python.headers, "internal/pycore_frame.h"))


def table(name):
    """The rows of that name, by version."""
    row = re.compile(rf"^{name}\((\d+), (\d+), (.*)\)$", re.MULTILINE)
    with open(os.path.join(SOURCES, "interposer/python/layouts.def"), encoding="utf-8") as file:
        return {(int(found[1]), int(found[2])): found[3].split(", ") for found in row.finditer(file.read())}


class Layouts(PythonCase):
    def test_versions(self):
        self.assertEqual(tuple(table("LAYOUT")), KNOWN)
        self.assertEqual(tuple(table("OFFSETS")), tuple(version for version in KNOWN if version >= (3, 13)))

    @with_each([python for python in KNOWN_ONES if has_headers(python)])
    def test_offsets(self, python):
        program = os.path.join(self.folder, "layout")
        subprocess.run(
            [COMPILER, "-w", "-I", python.headers, os.path.join(HERE, "layout.c"), "-o", program],
            check=True,
            timeout=100,
        )
        printed = subprocess.run([program], capture_output=True, text=True, check=True, timeout=20).stdout
        members, groups = (line.split() for line in printed.splitlines())
        self.assertEqual(members, table("LAYOUT")[python.version[:2]])
        self.assertEqual(groups, table("OFFSETS").get(python.version[:2], []))


if __name__ == "__main__":
    python_case.main()
