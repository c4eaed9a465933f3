#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The price of tracing a PyTorch training step: 10 interleaved runs plain and ours, medians with their interval.

torch_cost.py --gpumemtrace PATH [--runs 10] [--peer compute-sanitizer]
The interval of the ratio's median is that of the middle 8 of 10 paired ratios (about 89 % coverage for 10 pairs).
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

STEP = str(pathlib.Path(__file__).resolve().parent / "torch_step.py")


def milliseconds(prefix, folder, timeout=200):
    done = subprocess.run([*prefix, "python3", STEP], cwd=folder, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        sys.exit(f"torch_cost: {' '.join(prefix)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--peer", default="")
    options = parser.parse_args()
    plain, ours = [], []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for _ in range(options.runs):
            plain.append(milliseconds([], folder))
            ours.append(milliseconds([options.gpumemtrace, "record"], folder))
    ratios = sorted(o / p for o, p in zip(ours, plain))
    margin = 1 if len(ratios) >= 8 else 0
    print(f"PyTorch step, median of {options.runs} interleaved runs: plain {statistics.median(plain):.3f} ms "
          f"({min(plain):.3f} to {max(plain):.3f}), ours {statistics.median(ours):.3f} ms ({min(ours):.3f} to "
          f"{max(ours):.3f}), ratio of pairs {statistics.median(ratios):.3f} "
          f"({ratios[margin]:.3f} to {ratios[-1 - margin]:.3f}), budget 1.02")
    if options.peer and shutil.which(options.peer):
        with tempfile.TemporaryDirectory() as folder:
            peer = milliseconds([options.peer, "--tool", "memcheck", "--log-file", os.path.join(folder, "log")], folder)
        print(f"PyTorch step under {options.peer}: {peer:.3f} ms, ratio {peer / statistics.median(plain):.1f}")


if __name__ == "__main__":
    main()
