#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The price of tracing a PyTorch training step, beside a plain run of the same moment.

torch_cost.py --gpumemtrace PATH [--runs 3] [--rounds 150] [--peer compute-sanitizer]

Two processes, plain and ours, train in turns of 50 steps, one while the other waits, so that what else the machine does meets
both alike: runs one after the other differ by a tenth and more. The ratio of the two of a turn is taken; the median of
--rounds of them counts, with its interval (95 %, by order). --runs new pairs of processes follow each other, because where a
process lies in memory matters too. The peer runs once. Exit status 1 if a run failed.
"""

import argparse
import contextlib
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

STEP = str(pathlib.Path(__file__).resolve().parent / "torch_step.py")


class Trainer:
    """A process that trains when it is asked to."""

    def __init__(self, prefix, folder):
        self.command = [*prefix, "python3", STEP]
        self.errors = tempfile.TemporaryFile("w+", dir=folder)
        self.process = subprocess.Popen(
            self.command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True
        )

    def milliseconds(self):
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            return float(self.process.stdout.readline())
        except (OSError, ValueError):
            self.process.kill()
            self.errors.seek(0)
            sys.exit(
                f"torch_cost: {' '.join(self.command)} ended with {self.process.wait()}:\n{self.errors.read()[-2000:]}"
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait()


def interval(ordered):
    """The order statistics between which the median lies with a probability of 95 %."""
    half = 0.98 * math.sqrt(len(ordered))
    middle = len(ordered) / 2
    return ordered[max(0, math.floor(middle - half))], ordered[min(len(ordered) - 1, math.ceil(middle + half) - 1)]


def compare(options, folder):
    """The pairs (plain, ours) of the turns of two processes."""
    with Trainer([], folder) as plain, Trainer([options.gpumemtrace, "record"], folder) as ours:
        plain.milliseconds(), ours.milliseconds()  # both are up
        pairs = []
        for turn in range(options.rounds):
            first, second = (plain, ours) if turn % 2 == 0 else (ours, plain)
            one, other = first.milliseconds(), second.milliseconds()
            pairs.append((one, other) if first is plain else (other, one))
        return pairs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--peer", default="")
    options = parser.parse_args()
    ratios, plain_steps = [], []
    for run in range(1, options.runs + 1):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
            pairs = compare(options, folder)
        plain, ours = zip(*pairs)
        ratios.append(statistics.median(o / p for p, o in pairs))
        low, high = interval(sorted(o / p for p, o in pairs))
        plain_steps.extend(plain)
        print(
            f"PyTorch step, processes {run}: plain {statistics.median(plain):.3f} ms, ours {statistics.median(ours):.3f} ms, "
            f"ratio {ratios[-1]:.3f} ({low:.3f} to {high:.3f})",
            flush=True,
        )
    print(f"PyTorch step: median of the {options.runs} ratios {statistics.median(ratios):.3f}, budget 1.01")
    if options.peer and shutil.which(options.peer):
        with (
            tempfile.TemporaryDirectory() as folder,
            Trainer([options.peer, "--tool", "memcheck", "--log-file", os.path.join(folder, "log")], folder) as trainer,
        ):
            peer = trainer.milliseconds()
        print(f"PyTorch step under {options.peer}: {peer:.3f} ms, ratio {peer / statistics.median(plain_steps):.1f}")


if __name__ == "__main__":
    main()
