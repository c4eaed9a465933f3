# SPDX-License-Identifier: Apache-2.0
"""The rows of the checklists in docs/development.md: tables whose columns are step, file and check."""

import os
import pathlib
import re
import shlex
import typing

SOURCES = pathlib.Path(os.environ["GMT_SOURCES"])
HEADER = ["step", "file", "check"]


class Row(typing.NamedTuple):
    line: int  # of the page
    step: str
    paths: list  # as they stand in the second column; a name without a folder is left out
    checks: list  # the words behind `scripts/check`, of each such command


def cells_of(line):
    return [cell.strip() for cell in line.strip()[1:-1].split("|")] if line.startswith("| ") else []


def rows():
    found, inside = [], False
    text = (SOURCES / "docs/development.md").read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        cells = cells_of(line)
        if cells == HEADER:
            inside = True
        elif inside and cells:
            step, files, check = cells
            paths = [path for path in re.findall(r"`([^`\s]+)`", files) if "/" in path.rstrip("/")]
            checks = [shlex.split(words) for words in re.findall(r"`scripts/check ([^`]+)`", check)]
            found.append(Row(number, step, paths, checks))
        elif not line.startswith("|"):
            inside = False
    return found
