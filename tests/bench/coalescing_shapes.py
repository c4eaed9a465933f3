#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wall time of programs of many shapes, plain and with --coalescing, against its budget: 1.3 times plain plus 2 s.

coalescing_shapes.py --gpumemtrace PATH --static PROGRAM [--shared PROGRAM] [--limit SECONDS]

Runs of a shape alternate with their plain runs; each is one run of the whole command, report included. Of each run the
report's JSON tells how many launches of how many were measured and whether some kernel took more than 60 times as long
while it was: then the budget may be missed. Exit status 1 if a budget is missed otherwise, or a run failed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

# Kernel, milliseconds, launches, streams, how, and whether both link modes run it. At most 6 s plain each.
SHAPES = (
    ("strided", 1, 2000, 1, "runs-on", True),
    ("strided", 1, 2000, 8, "waits", False),
    ("compute", 1, 1000, 8, "runs-on", False),
    ("tiles", 1, 2000, 1, "waits", True),
    ("strided", 10, 200, 1, "runs-on", True),
    ("strided", 10, 100, 8, "runs-on", False),
    ("compute", 10, 400, 1, "waits", False),
    ("tiles", 10, 100, 1, "runs-on", True),
    ("strided", 18, 100, 1, "runs-on", False),
    ("strided", 100, 40, 1, "runs-on", False),
    ("tiles", 100, 40, 8, "waits", False),
    ("compute", 100, 20, 8, "runs-on", False),
    ("strided", 1000, 4, 1, "waits", False),
    ("tiles", 1000, 5, 1, "runs-on", False),
    ("compute", 5000, 1, 1, "runs-on", False),
    ("strided", 100, 1, 1, "waits", False),
)


def run(command, timeout):
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        begin = time.monotonic()
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, f"no end after {timeout} s"
        wall = time.monotonic() - begin
        if done.returncode != 0:
            return None, (done.stdout + done.stderr)[-800:]
        report = os.path.join(folder, "report.json")
        if os.path.exists(report):
            with open(report, encoding="utf-8") as file:
                return wall, json.load(file)
        return wall, done.stdout


def figures(report):
    """(launches that were measured, whether the report names a factor above 60)."""
    process = report["processes"][0]
    kernels = (process.get("accesses") or {"kernels": []})["kernels"]
    measured = sum(k["measured_launches"] or 0 for k in kernels)
    why = " ".join(n["why"] for n in report.get("not_checked", []) + process.get("not_checked", []))
    factor = re.search(r"([\d,]+) times as long as by itself", why)
    return measured, bool(factor and int(factor.group(1).replace(",", "")) > 60)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpumemtrace", required=True)
    parser.add_argument("--static", required=True)
    parser.add_argument("--shared")
    parser.add_argument(
        "--limit", type=float, default=480, help="seconds for all; what has not begun by then is not run"
    )
    options = parser.parse_args()
    bad, began = [], time.monotonic()
    print(
        f"{'kernel':8} {'ms':>5} {'launches':>8} {'streams':>7} {'':8} {'link':7} {'plain s':>8} {'ours s':>8} "
        f"{'budget s':>8} {'measured':>8}"
    )
    for kernel, milliseconds, launches, streams, how, both in SHAPES:
        for link, program in (("static", options.static), ("shared", options.shared)):
            if not program or (link == "shared" and not both):
                continue
            name = f"{kernel:8} {milliseconds:5} {launches:8} {streams:7} {how:8} {link:7}"
            if time.monotonic() - began > options.limit:
                bad.append(f"{name}: not run, time was up")
                continue
            words = [program, kernel, str(milliseconds), str(launches), str(streams), how]
            plain, output = run(words, 30)
            if plain:
                words.append(output.split()[0])
                plain, output = run(words, 30)
            tool = [
                options.gpumemtrace,
                "--device",
                "real",
                "--coalescing",
                "--format",
                "json",
                "--output",
                "report.json",
            ]
            ours, report = run([*tool, *words], 90) if plain else (None, output)
            if ours is None:
                bad.append(f"{name}: {report}")
                print(f"{name} failed", flush=True)
                continue
            budget = 1.3 * plain + 2
            measured, dear = figures(report)
            note = "" if ours <= budget else " (a factor above 60, as the report says)" if dear else " over its budget"
            if note.endswith("budget"):
                bad.append(f"{name}: {ours:.2f} s, {budget:.2f} s are its budget")
            print(f"{name} {plain:8.2f} {ours:8.2f} {budget:8.2f} {measured:8}{note}", flush=True)
    for line in bad:
        print(line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
