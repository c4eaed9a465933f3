#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the documents to their form, to one another and to the repository.

usage: check_documents.py REPOSITORY [GPUMEMTRACE]

Lines have at most 100 columns; tables, code and HTML comments may have more. README.md has at most 150 lines. Links
lead to a file and a heading that exist. Paths of the repository that stand in code marks exist. The table of
docs/findings.md lists every finding of the command with its severity.
"""

import pathlib
import re
import shutil
import subprocess
import sys

COLUMNS = 100
README_LINES = 150
# The first folders of paths that must exist. Others in code marks are the user's or the build's.
FOLDERS = (
    "analyzer",
    "cmake",
    "device_hooks",
    "docs",
    "interposer",
    "ptx",
    "samples",
    "scripts",
    "simulated_cuda",
    "tests",
    "trace",
)
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
CODE = re.compile(r"`([^`\s]+)`")


def documents(root):
    """What the repository holds; a copy without git has at least these."""
    words = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    if shutil.which("git"):
        listed = subprocess.run(words, capture_output=True, text=True, check=False)
        if listed.returncode == 0 and listed.stdout:
            return sorted(root / name for name in listed.stdout.split() if (root / name).exists())
    return sorted([root / "README.md", *root.glob("*/*.md"), *root.glob("docs/*/*.md")])


def prose(text):
    """(number, line) of what is neither code in fences nor indented code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def anchors(path):
    """What GitHub makes of the headings."""
    found = set()
    for _, line in prose(path.read_text(encoding="utf-8")):
        if line.startswith("#"):
            heading = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            found.add(heading.replace(" ", "-"))
    return found


def check_lines(root, path, text):
    return [
        f"{path.relative_to(root)}:{number}: {len(line)} columns"
        for number, line in prose(text)
        if len(line) > COLUMNS and not line.startswith(("|", "<!--"))
    ]


def check_links(root, path, text):
    problems = []
    for number, line in prose(text):
        for link in LINK.findall(line):
            if re.match(r"[a-z]+:", link):
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            where = f"{path.relative_to(root)}:{number}: link {link}"
            if not target.exists():
                problems.append(f"{where} leads to no file")
            elif anchor and anchor not in anchors(target):
                problems.append(f"{where} leads to no heading")
    return problems


def check_paths(root, path, text):
    problems = []
    for number, line in prose(text):
        for word in CODE.findall(line):
            first, slash, _ = word.partition("/")
            if not slash or first not in FOLDERS or re.search(r"[<>…$]|\.\.\.", word):
                continue
            pattern = word.rstrip("/").split(":")[0]
            if not any(root.glob(pattern)):
                problems.append(f"{path.relative_to(root)}:{number}: no such path: {word}")
    return problems


def check_findings_table(root, command):
    text = (root / "docs" / "findings.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| \[`([a-z-]+)`\]\(findings/[a-z-]+\.md#\1\) \| (error|warning|note) \|", text, re.M))
    known = set(
        re.findall(
            r"^([a-z-]+) +(error|warning|note) ",
            subprocess.run([command, "help", "findings"], check=True, capture_output=True, text=True).stdout,
            re.M,
        )
    )
    return [f"docs/findings.md: the table lacks {row}" for row in sorted(known - listed)] + [
        f"docs/findings.md: the table has {row}, which is no finding" for row in sorted(listed - known)
    ]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    problems = []
    paths = documents(root)
    for path in paths:
        text = path.read_text(encoding="utf-8")
        problems += check_lines(root, path, text) + check_links(root, path, text) + check_paths(root, path, text)
    lines = len((root / "README.md").read_text(encoding="utf-8").splitlines())
    if lines > README_LINES:
        problems.append(f"README.md: {lines} lines, more than {README_LINES}")
    if len(sys.argv) > 2:
        problems += check_findings_table(root, sys.argv[2])
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(paths)} documents, {len(problems)} problems")
    return 1 if problems or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
