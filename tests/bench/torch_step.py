# SPDX-License-Identifier: Apache-2.0
"""A small PyTorch training loop (8 layers of 1024, Adam) that prints its milliseconds a step: the median of ten times
5 steps for each line of its standard input, or, given a number of seconds, the mean of as many steps as they take.

The steps are those in which no neighbour used the core's other hardware thread, as tests/bench/quiet_core.h explains.
A loop of Python's that takes 15 % longer than its quickest turn tells. All threads are bound to one core, which is left
when it stays noisy."""

import os
import pathlib
import statistics
import sys
import time

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()
optimizer = torch.optim.Adam(model.parameters())
batch = torch.randn(256, 1024, device="cuda")


def step():
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()


def timed(steps):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / steps * 1e3


class QuietCore:
    NOISE = 1.15

    def __init__(self):
        self.cores = sorted(os.sched_getaffinity(0))
        self.fastest = 1.0
        for _ in self.cores:
            self.move_on()
            for _ in range(5):
                self.quiet()

    def quiet(self):
        """True if the core is this process's alone at this moment."""
        begin = time.perf_counter()
        for _ in range(20000):
            pass
        took = time.perf_counter() - begin
        self.fastest = min(self.fastest, took)
        return took <= self.NOISE * self.fastest

    def move_on(self):
        self.cores.append(self.cores.pop(0))
        for thread in pathlib.Path("/proc/self/task").iterdir():
            os.sched_setaffinity(int(thread.name), self.cores[:1])


def timed_quiet(core, steps):
    """Milliseconds a step over so many quiet steps; over all of four times as many, if there were not enough."""
    part = 5
    quiet_parts, parts = [], []
    quiet = core.quiet()
    while len(quiet_parts) * part < steps and len(parts) * part < 4 * steps:
        parts.append(timed(part))
        quiet_before, quiet = quiet, core.quiet()
        if quiet_before and quiet:
            quiet_parts.append(parts[-1])
        elif not quiet_before and not quiet:
            core.move_on()
    return statistics.median(quiet_parts or parts)  # a neighbour's burst may fill a part, seldom half of them


timed(50)
if len(sys.argv) > 1:
    begin = time.perf_counter()
    rounds = []
    while time.perf_counter() - begin < float(sys.argv[1]):
        rounds.append(timed(200))
    print(f"{sum(rounds) / len(rounds):.4f}")
else:
    core = QuietCore()
    for _ in sys.stdin:
        print(f"{timed_quiet(core, 50):.4f}", flush=True)
