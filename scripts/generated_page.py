# SPDX-License-Identifier: Apache-2.0
"""What the scripts that write a document have in common: they write it, or with --check say what differs."""

import argparse
import difflib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def run(description, page, source, make, command=None):
    """Makes the page from `source` by make(there, command), with what is there now; `command` is the default of a
    program that the page comes from. Returns the exit status."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page says something else")
    if command is not None:
        parser.add_argument("command", nargs="?", default=command, help="the program, instead of %(default)s")
    options = parser.parse_args()
    name = page.relative_to(ROOT)
    there = page.read_text(encoding="utf-8") if page.exists() else ""
    text = make(there, options.command) if command is not None else make(there)
    if not options.check:
        page.write_text(text, encoding="utf-8")
        return 0
    for line in difflib.unified_diff(there.splitlines(), text.splitlines(), str(name), source, "", "", 0):
        print(line)
    if there != text:
        print(f"{name} differs from {source}: run scripts/{pathlib.Path(sys.argv[0]).name}")
    return 0 if there == text else 1
