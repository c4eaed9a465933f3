# SPDX-License-Identifier: Apache-2.0
"""A small PyTorch training loop (8 layers of 1024, Adam) that prints its milliseconds a step: of 50 steps for each line of
its standard input, or, given a number of seconds, the mean of as many steps as they take."""

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


timed(50)
if len(sys.argv) > 1:
    begin = time.perf_counter()
    rounds = []
    while time.perf_counter() - begin < float(sys.argv[1]):
        rounds.append(timed(200))
    print(f"{sum(rounds) / len(rounds):.4f}")
else:
    for _ in sys.stdin:
        print(f"{timed(50):.4f}", flush=True)
