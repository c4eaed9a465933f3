#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What malloc and free cost in kernels: plain, with logging and nobody listening, logged, and under the peer.

device_malloc_cost.py --gpumemtrace PATH --plain PROGRAM --logged PROGRAM [--peer compute-sanitizer] [--seconds 45]
                      [--rounds 2]

PROGRAM is device_malloc_cost, built without and with <gpumemtrace/device.h>. A round runs each of the three once, each round
begins with another one; rounds follow for as many seconds, and at least as many as told. Two and two they have the device
heap lie elsewhere, because its place alone changes figures by half, by chance. The best figure of each counts; the peer
runs once. The budget: from 4,096 calling threads up 1.05 times the plain cost, below 2 us more a call. It is missed
("over") if the best figures of all rounds say so, and those of the even and of the odd ones alone; where these differ it is
"unclear", because runs of the same program differ by as much. Exit status 1 if a run failed.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

MIB_BEFORE = (0, 2, 4, 8, 32) # what the program allocates first
MANY_THREADS, RATIO, ADDED_US = 4096, 1.05, 2.0


def figures(command, timeout=300):
    """{(bytes, blocks, callers): (us a malloc, us a free)} of one run."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        sys.exit(f"device_malloc_cost: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 5 and words[0].isdigit():  # else the peer's own lines
            found[tuple(map(int, words[:3]))] = tuple(map(float, words[3:]))
    return found


def within_budget(threads, plain, logged):
    return logged <= plain * RATIO if threads >= MANY_THREADS else logged <= plain + ADDED_US


def best(rounds):
    """The best figures of several rounds."""
    merged = {}
    for found in rounds:
        for key, value in found.items():
            merged[key] = tuple(map(min, value, merged.get(key, value)))
    return merged


def verdict(threads, which, key, plain, logged):
    """What the lists of the rounds' figures say about the budget of one call."""
    halves = [slice(0, None, 2), slice(1, None, 2)] if len(plain) > 1 else []
    says = [within_budget(threads, best(plain[part])[key][which], best(logged[part])[key][which])
            for part in (slice(None), *halves)]
    return "within" if all(says) else "unclear" if any(says) else "over"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True)
    parser.add_argument("--plain", required=True)
    parser.add_argument("--logged", required=True)
    parser.add_argument("--peer", default="")
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    ways = [([options.plain], []), ([options.logged], []), ([options.gpumemtrace, "record", options.logged], [])]
    end = time.monotonic() + options.seconds
    done = 0
    while done < options.rounds or time.monotonic() < end:
        for i in range(len(ways)):
            command, found = ways[(done + i) % len(ways)]
            found.append(figures([*command, "5", str(MIB_BEFORE[done // 2 % len(MIB_BEFORE)])]))
        done += 1
    (_, plain), (_, silent), (_, logged) = ways
    peer = {}
    if options.peer and shutil.which(options.peer):
        peer = figures([options.peer, "--tool", "memcheck", "--leak-check", "full", options.plain, "1"])
    print(f"us a call, best of {done} rounds; 'silent' is built with logging and run alone, 'ours' under gpumemtrace")
    print(f"{'call':6} {'bytes':>6} {'blocks':>6} {'callers':>7} {'plain':>9} {'silent':>9} {'ours':>9} {'ratio':>6} "
          f"{'budget':>8} {'peer':>9}")
    for which, call in enumerate(("malloc", "free")):
        for key in sorted(best(plain)):
            size, blocks, callers = key
            of_plain, of_silent, mine = (best(rounds)[key][which] for rounds in (plain, silent, logged))
            says = verdict(blocks * callers, which, key, plain, logged)
            print(f"{call:6} {size:6} {blocks:6} {callers:7} {of_plain:9.4f} {of_silent:9.4f} {mine:9.4f} "
                  f"{mine / of_plain:6.2f} {says:>8} {f'{peer[key][which]:9.4f}' if key in peer else '':>9}")


if __name__ == "__main__":
    main()
