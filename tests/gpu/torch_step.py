# SPDX-License-Identifier: Apache-2.0
"""The time of a training step of PyTorch: 8 layers of 1024, Adam. Prints one line as guard_costs.cu does. The first
word is how many steps are timed, by default 200. Exit status 77 without PyTorch or GPU."""

import sys
import time

from gpu_torch import torch

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
torch.manual_seed(0)
layers = [layer for _ in range(8) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
inputs = torch.randn(256, 1024, device="cuda")


def step():
    optimizer.zero_grad()
    loss = (model(inputs) - inputs).square().mean()
    loss.backward()
    optimizer.step()
    return loss


for _ in range(max(3, STEPS // 10)):
    step()
best = float("inf")
for _ in range(4):
    torch.cuda.synchronize()
    began = time.monotonic()
    for _ in range(STEPS // 4):
        step()
    torch.cuda.synchronize()
    best = min(best, (time.monotonic() - began) / (STEPS // 4))
print(f"PyTorch step\t{best * 1000:.3f}\tms")
