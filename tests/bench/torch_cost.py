#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The price of tracing a PyTorch training step, beside a plain run of the same moment.

torch_cost.py --gpumemtrace PATH [--runs 14] [--rounds 24] [--peer compute-sanitizer]

Three processes train in turns of 50 steps, one while the others wait: plain, ours, and ours without Python's lines. So
what else the machine does meets all alike, where runs one after the other differ by a tenth and more. The ratio to the
plain step of the same turn is taken; the median of --rounds of them counts, with its interval (95 %, by order). --runs new
sets of processes follow each other, because where a process lies in memory matters too. The peer runs once. Exit status 1
if a run failed.
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

WITHOUT = "ours without Python's lines"
BUDGETS = {"ours": 1.06, WITHOUT: None}
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


def compare(prefixes, rounds, folder):
    """{name: the milliseconds of each turn}, each process in the first, second and last position of a turn as often."""
    with contextlib.ExitStack() as stack:
        trainers = {name: stack.enter_context(Trainer(prefix, folder)) for name, prefix in prefixes.items()}
        for trainer in trainers.values():
            trainer.milliseconds()  # it is up
        steps = {name: [] for name in trainers}
        names = list(trainers)
        for turn in range(rounds):
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                steps[name].append(trainers[name].milliseconds())
        return steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True)
    parser.add_argument("--runs", type=int, default=14)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--peer", default="")
    options = parser.parse_args()
    record = [options.gpumemtrace, "record"]
    prefixes = {"plain": [], "ours": record, WITHOUT: [*record, "--python-frames=0"]}
    medians = {name: [] for name in BUDGETS}
    plain_steps = []
    for run in range(1, options.runs + 1):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
            steps = compare(prefixes, options.rounds, folder)
        plain_steps.extend(steps["plain"])
        for name in BUDGETS:
            ratios = sorted(mine / plain for mine, plain in zip(steps[name], steps["plain"]))
            low, high = interval(ratios)
            medians[name].append(statistics.median(ratios))
            print(
                f"PyTorch step, processes {run}: plain {statistics.median(steps['plain']):.3f} ms, {name} "
                f"{statistics.median(steps[name]):.3f} ms, ratio {medians[name][-1]:.3f} ({low:.3f} to {high:.3f})",
                flush=True,
            )
    for name, budget in BUDGETS.items():
        low, high = interval(sorted(medians[name]))
        print(
            f"PyTorch step, {name}: median of the {options.runs} ratios {statistics.median(medians[name]):.3f} "
            f"({low:.3f} to {high:.3f})" + (f", budget {budget}" if budget else "")
        )
    if options.peer and shutil.which(options.peer):
        with (
            tempfile.TemporaryDirectory() as folder,
            Trainer([options.peer, "--tool", "memcheck", "--log-file", os.path.join(folder, "log")], folder) as trainer,
        ):
            peer = trainer.milliseconds()
        print(f"PyTorch step under {options.peer}: {peer:.3f} ms, ratio {peer / statistics.median(plain_steps):.1f}")


if __name__ == "__main__":
    main()
