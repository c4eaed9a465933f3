#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plain, ours and the peer side by side: what a CUDA call costs under each, from one run of this script.

call_cost.py --gpumemtrace PATH --program CALL_COST [--beside PATH] [--peer compute-sanitizer] [--rounds 10]

A round is a pair of runs, plain and ours, one right behind the other; which one is first changes with the round. The
figures are medians over the rounds, the ratio is the median of the pairs' ratios. Ours without the scan of launch
arguments joins each round of the first setting. Another build of gpumemtrace (--beside) joins each round of all. The
peer runs once at the first setting, because it is an order of magnitude slower. Prints a table in which "over" marks
what misses its budget; exit status 1 if a run failed.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

SETTINGS = ((10, 1), (25, 1), (10, 8), (25, 8))
NO_SCAN = "--launch-arguments=0"
LAUNCH_BUDGET = 1.05  # with whole stacks and the scan of the arguments


def budget_of(call, threads):
    """The largest ratio to plain that is good enough; None if the call has no budget."""
    if call.startswith("launch"):
        return LAUNCH_BUDGET
    if call == "cudaMallocAsync+cudaFreeAsync":
        return 1.45 if threads >= 8 else 1.35
    return None


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


def run_rounds(options, frames, threads, scan_too):
    """{"plain" | "ours" | NO_SCAN | "beside": [the figures of each round]}"""
    words = [options.program, str(frames), str(threads)]
    commands = {"plain": words, "ours": [options.gpumemtrace, "record", *words]}
    if scan_too:
        commands[NO_SCAN] = [options.gpumemtrace, "record", NO_SCAN, *words]
    if options.beside:
        commands["beside"] = [options.beside, "record", *words]
    found = {name: [] for name in commands}
    for number in range(options.rounds):
        for name in list(commands)[:: 1 if number % 2 == 0 else -1]:
            with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
                found[name].append(figures(commands[name], folder))
    return found


def median_ratio(ours, plain, key):
    return statistics.median(mine[key] / alone[key] for mine, alone in zip(ours, plain))


def run_peer(options):
    """The figures of the peer at the first setting; nothing if it is not installed."""
    if not options.peer or not shutil.which(options.peer):
        return {}
    frames, threads = SETTINGS[0]
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "peer.log")
        words = [options.peer, "--tool", "memcheck", "--leak-check", "full", "--log-file", log]
        return figures([*words, options.program, str(frames), str(threads)], folder)


def row(name, key, plain, ours, peer):
    call, frames, threads = key
    alone, mine = (statistics.median(round[key] for round in rounds) for rounds in (plain, ours))
    ratio, budget = median_ratio(ours, plain, key), budget_of(call, threads)
    words = f"{name:36} {frames:6} {threads:7} {alone:9.3f} {mine:9.3f} {ratio:6.3f}"
    words += f" {budget:6.2f} {'over' if ratio > budget else '':4}" if budget else f" {'':6} {'':4}"
    if key in peer:
        words += f" {peer[key]:9.3f} {peer[key] / alone:6.2f}"
    return words.rstrip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--beside", default="")
    parser.add_argument("--peer", default="")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    print(
        f"{'call':36} {'frames':>6} {'threads':>7} {'plain us':>9} {'ours us':>9} {'ratio':>6} {'budget':>6} {'':4} "
        f"{'peer us':>9} {'ratio':>6}"
    )
    peer = run_peer(options)
    for setting in SETTINGS:
        found = run_rounds(options, *setting, scan_too=setting == SETTINGS[0])
        keys = sorted(found["plain"][0])
        for key in keys:
            print(row(key[0], key, found["plain"], found["ours"], peer if setting == SETTINGS[0] else {}), flush=True)
        for name in (NO_SCAN, "beside"):
            for key in keys if name in found else []:
                if name == "beside" or key[0].startswith("launch"):
                    print(row(f"{key[0]} {name}", key, found["plain"], found[name], {}), flush=True)


if __name__ == "__main__":
    main()
