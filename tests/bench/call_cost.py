#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plain, ours and the peer side by side: what a CUDA call costs under each, from one run of this script.

call_cost.py --gpumemtrace PATH --program CALL_COST [--peer compute-sanitizer] [--rounds 3]

Runs are interleaved (plain, ours, ours without the scan of launch arguments, plain, ...), the figure is the best of the
rounds; the peer runs once, at one setting, because it is an order of magnitude slower, and the runs without the scan at
one setting too. Prints a table; exit status 1 if a run failed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

SETTINGS = ((10, 1), (25, 1), (10, 8), (25, 8))
NO_SCAN = "--launch-arguments=0"
BUDGETS = {("cudaMallocAsync+cudaFreeAsync", 10): 1.5, ("cudaMallocAsync+cudaFreeAsync", 25): 1.9}
LAUNCH_BUDGET = 1.15  # with whole stacks and the scan of the arguments
LAUNCH_BUDGET_NO_SCAN = 1.05


def figures(command, folder):
    """{(call, frames, threads): microseconds} of one run."""
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=240)
    if done.returncode != 0:
        sys.exit(f"call_cost: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    found = {}
    for line in done.stdout.splitlines():
        call, frames, threads, value = line.split()
        found[call, int(frames), int(threads)] = float(value)
    return found


def best(into, new):
    for key, value in new.items():
        into[key] = min(value, into.get(key, value))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--peer", default="")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    plain, ours, no_scan, peer = {}, {}, {}, {}
    for frames, threads in SETTINGS:
        words = [options.program, str(frames), str(threads)]
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
                best(plain, figures(words, folder))
                best(ours, figures([options.gpumemtrace, "record", *words], folder))
                if (frames, threads) == SETTINGS[0]:
                    best(no_scan, figures([options.gpumemtrace, "record", NO_SCAN, *words], folder))
    if options.peer and shutil.which(options.peer):
        with tempfile.TemporaryDirectory() as folder:
            found = figures(
                [
                    options.peer,
                    "--tool",
                    "memcheck",
                    "--leak-check",
                    "full",
                    "--log-file",
                    os.path.join(folder, "peer.log"),
                    options.program,
                    "10",
                    "1",
                ],
                folder,
            )
            best(peer, found)
    print(
        f"{'call':32} {'frames':>6} {'threads':>7} {'plain us':>9} {'ours us':>9} {'ratio':>6} {'budget':>6} "
        f"{'peer us':>9} {'ratio':>6}"
    )
    for key in sorted(plain):
        call, frames, threads = key
        budget = LAUNCH_BUDGET if call.startswith("launch") else BUDGETS.get((call, frames), "")
        theirs = f"{peer[key]:9.3f} {peer[key] / plain[key]:6.2f}" if key in peer else ""
        print(
            f"{call:32} {frames:6} {threads:7} {plain[key]:9.3f} {ours[key]:9.3f} {ours[key] / plain[key]:6.2f} "
            f"{budget:>6} {theirs}"
        )
    for call, frames, threads in (key for key in sorted(no_scan) if key[0].startswith("launch")):
        mine, alone = no_scan[call, frames, threads], plain[call, frames, threads]
        print(
            f"{call:18} {NO_SCAN} {frames:4} {threads:4} {alone:9.3f} {mine:9.3f} {mine / alone:6.2f} "
            f"{LAUNCH_BUDGET_NO_SCAN:>6}"
        )


if __name__ == "__main__":
    main()
