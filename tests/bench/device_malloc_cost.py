#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What malloc and free cost in kernels: plain, with logging and nobody listening, logged, and under the peer.

device_malloc_cost.py --gpumemtrace PATH --plain PROGRAM --logged PROGRAM [--peer compute-sanitizer] [--rounds 3]

PROGRAM is device_malloc_cost, built without and with <gpumemtrace/device.h>. Runs are interleaved and the best figure
counts; the peer runs once. The budget: from 4,096 calling threads up 1.05 times the plain cost, below 2 us more a call.
Exit status 1 if a run failed.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

MANY_THREADS, RATIO, ADDED_US = 4096, 1.05, 2.0


def figures(command, into, timeout=300):
    """Merges {(bytes, blocks, callers): (us a malloc, us a free)} of one run, keeping the best."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        sys.exit(f"device_malloc_cost: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) != 5 or not words[0].isdigit():
            continue  # the peer's own lines
        key, value = tuple(map(int, words[:3])), tuple(map(float, words[3:]))
        into[key] = tuple(map(min, value, into.get(key, value)))


def within_budget(threads, plain, logged):
    return logged <= plain * RATIO if threads >= MANY_THREADS else logged <= plain + ADDED_US


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True)
    parser.add_argument("--plain", required=True)
    parser.add_argument("--logged", required=True)
    parser.add_argument("--peer", default="")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    plain, silent, logged, peer = {}, {}, {}, {}
    for _ in range(options.rounds):
        figures([options.plain], plain)
        figures([options.logged], silent)
        figures([options.gpumemtrace, "record", options.logged], logged)
    if options.peer and shutil.which(options.peer):
        figures([options.peer, "--tool", "memcheck", "--leak-check", "full", options.plain, "1"], peer)
    print("us a call; 'silent' is built with logging and run alone, 'ours' under gpumemtrace")
    print(f"{'call':6} {'bytes':>6} {'blocks':>6} {'callers':>7} {'plain':>9} {'silent':>9} {'ours':>9} {'ratio':>6} "
          f"{'budget':>8} {'peer':>9}")
    for which, call in enumerate(("malloc", "free")):
        for key in sorted(plain):
            size, blocks, callers = key
            threads, mine, theirs = blocks * callers, logged[key][which], peer.get(key)
            verdict = "within" if within_budget(threads, plain[key][which], mine) else "over"
            print(f"{call:6} {size:6} {blocks:6} {callers:7} {plain[key][which]:9.4f} {silent[key][which]:9.4f} {mine:9.4f} "
                  f"{mine / plain[key][which]:6.2f} {verdict:>8} {f'{theirs[which]:9.4f}' if theirs else '':>9}")


if __name__ == "__main__":
    main()
