#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What malloc and free cost in kernels: plain, with logging that is off, logged, and under the peer.

device_malloc_cost.py --gpumemtrace PATH --program PROGRAM [--peer compute-sanitizer] [--seconds 45] [--rounds 5]

PROGRAM is device_malloc_cost, which times plain and logged calls in turns. A round runs it alone and under gpumemtrace; rounds follow
for as many seconds, and at least as many as given. Each round has the device heap lie elsewhere, because its place alone
changes figures by half. A ratio is that of one process, logged over plain; of all rounds the median counts, and the table has
the lowest and the highest beside it. Times are medians too. The peer runs once. The budget: from 4,096 calling threads up 1.05
times the plain cost, below 2 us more a call. Exit status 1 if a run failed.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

MIB_BEFORE = (0, 2, 4, 8, 32)  # what the program allocates first
MANY_THREADS, RATIO, ADDED_US = 4096, 1.05, 2.0
CALLS = ("malloc", "free")


def figures(command, timeout=300):
    """{(call, bytes, blocks, callers): (plain us, logged us)} of one run."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        sys.exit(f"device_malloc_cost: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 7 and words[0].isdigit():  # else the peer's own lines
            for i, call in enumerate(CALLS):
                found[(call, *map(int, words[:3]))] = tuple(map(float, words[3 + 2 * i : 5 + 2 * i]))
    return found


def says(threads, plain, logged, ratio):
    within = ratio <= RATIO if threads >= MANY_THREADS else logged <= plain + ADDED_US
    return "within" if within else "over"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--peer", default="")
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    alone, traced = [], []
    while len(traced) < options.rounds or time.monotonic() < end:
        words = [options.program, "3", str(MIB_BEFORE[len(traced) % len(MIB_BEFORE)])]
        alone.append(figures(words))
        traced.append(figures([options.gpumemtrace, "record", *words]))
    peer = {}
    if options.peer and shutil.which(options.peer):
        peer = figures([options.peer, "--tool", "memcheck", "--leak-check", "full", options.program, "1"])
    print(
        f"us a call, medians of {len(traced)} processes; 'silent' has logging that is off, 'ours' runs under gpumemtrace; ratios to "
        "plain calls of the same process"
    )
    print(
        f"{'call':6} {'bytes':>6} {'blocks':>6} {'callers':>7} {'plain':>9} {'silent':>7} {'ours':>9} {'ratio':>6} "
        f"{'lowest':>7} {'highest':>8} {'budget':>8} {'peer':>9}"
    )
    for key in sorted(traced[0], key=lambda key: (CALLS.index(key[0]), key[1:])):
        call, size, blocks, callers = key
        ratios = [found[key][1] / found[key][0] for found in traced]
        silent = statistics.median(found[key][1] / found[key][0] for found in alone)
        plain, logged = (statistics.median(found[key][i] for found in traced) for i in (0, 1))
        ratio = statistics.median(ratios)
        print(
            f"{call:6} {size:6} {blocks:6} {callers:7} {plain:9.4f} {silent:7.2f} {logged:9.4f} {ratio:6.2f} "
            f"{min(ratios):7.2f} {max(ratios):8.2f} {says(blocks * callers, plain, logged, ratio):>8} "
            f"{f'{peer[key][0]:9.4f}' if key in peer else '':>9}"
        )


if __name__ == "__main__":
    main()
