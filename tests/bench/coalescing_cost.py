#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wall time plain, with --coalescing and under Nsight Compute: samples of access patterns, and a PyTorch training loop.

coalescing_cost.py --gpumemtrace PATH --samples FOLDER [--ncu NCU] [--rounds 2] [--torch-seconds 20]

Runs of a sample are interleaved and the best of the rounds counts; ncu runs once and collects what scripts/compare-ncu
compares. 'ours' measures the launches that --coalescing chooses by itself, 'all' every one. The training loop runs for
--torch-seconds each time, which its sampling is to spread over; its budget is 1.3 times the plain time of a step. The
table of global_writes follows, over more memory than the L2 cache holds. Exit status 1 if a run failed.
"""

import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

STEP = str(pathlib.Path(__file__).resolve().parent / "torch_step.py")
SAMPLES = (
    ("coalescing", "aligned"),
    ("coalescing", "stride32"),
    ("aos_soa", "structs"),
    ("transpose", "naive"),
    ("transpose", "tile32"),
    ("global_writes",),
    ("unrolled_add", "neighbours"),
)
COALESCING = "--coalescing"
ALL = "--coalescing-launches=all"
TORCH_BUDGET = 1.3
failures = []


def seconds(command, timeout):
    """(wall time, output), or (None, "") after a failure, which is noted."""
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
            failures.append(f"{' '.join(command)}: no end after {timeout} s")
            return None, ""
        wall = time.monotonic() - begin
    if done.returncode != 0:
        failures.append(f"{' '.join(command)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-1500:]}")
        return None, ""
    return wall, done.stdout


def cell(value, width=8):
    return f"{'-' if value is None else format(value, '.2f'):>{width}}"


def print_samples(options):
    print("wall time in seconds, best of", options.rounds, "rounds; ncu: one run")
    print(f"{'sample':28} {'plain':>8} {'ours':>8} {'all':>8} {'ncu':>8} {'ours/plain':>10} {'ncu/ours':>8}")
    record = [options.gpumemtrace, "record", "--device", "real", COALESCING]
    for sample, *words in SAMPLES:
        program = [os.path.join(options.samples, f"{sample}-O2-static"), *words]
        prefixes = {"plain": [], "ours": record, "all": [*record, ALL]}
        best = {}
        for _ in range(options.rounds):
            for how, prefix in prefixes.items():
                wall, _ = seconds([*prefix, *program], 40)
                best[how] = min(filter(None, (wall, best.get(how))), default=None)
            if None in best.values():
                break
        best["ncu"] = (
            seconds(
                [options.ncu, "--section", "SourceCounters", "--force-overwrite", "--export", "report", *program], 120
            )[0]
            if options.ncu
            else None
        )
        ratios = [best[a] / best[b] if best[a] and best[b] else None for a, b in (("ours", "plain"), ("ncu", "ours"))]
        print(
            f"{' '.join([sample, *words]):28} "
            + " ".join(cell(best[how]) for how in ("plain", "ours", "all", "ncu"))
            + f" {cell(ratios[0], 10)} {cell(ratios[1])}",
            flush=True,
        )


def print_torch(options):
    if not importlib.util.find_spec("torch"):
        print("PyTorch: not run: it is not here")
        return
    loop = ["python3", STEP, str(options.torch_seconds)]
    limit = 60 + 3 * options.torch_seconds
    figures = {}
    for how, prefix in (("plain", []), ("ours", [options.gpumemtrace, "record", "--device", "real", COALESCING])):
        wall, output = seconds([*prefix, *loop], limit)
        figures[how] = (float(output.split()[-1]) if output.split() else None, wall)
    (plain, plain_wall), (ours, ours_wall) = figures["plain"], figures["ours"]
    ratio = ours / plain if ours and plain else None
    print(
        f"PyTorch loop of {options.torch_seconds:g} s: plain {cell(plain)} ms a step ({cell(plain_wall)} s in all), "
        f"with {COALESCING} {cell(ours)} ms ({cell(ours_wall)} s in all), ratio {cell(ratio)}, budget {TORCH_BUDGET}"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True)
    parser.add_argument("--samples", required=True)
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--torch-seconds", type=float, default=20)
    options = parser.parse_args()
    options.ncu = shutil.which(options.ncu) or shutil.which("/usr/local/cuda/bin/ncu")
    print_samples(options)
    print_torch(options)
    print(seconds([os.path.join(options.samples, "global_writes-O2-static"), "1024"], 60)[1])
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
