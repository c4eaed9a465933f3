# SPDX-License-Identifier: Apache-2.0
"""Says which commits have two subjects: those that origin/main has not, and whose first line joins two sentences by a
semicolon.

lint_subjects.py [ROOT]. Without origin/main there is nothing to compare with. Exit status: 0 nothing found, 1 something."""

import subprocess
import sys


def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], check=False, capture_output=True, text=True)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    log = git(root, "log", "--no-merges", "--format=%h: %s", "origin/main..HEAD")
    found = [line for line in log.stdout.splitlines() if ";" in line]
    print("".join(f"{line}\n" for line in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
