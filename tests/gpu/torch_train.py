# SPDX-License-Identifier: Apache-2.0
"""Trains a small model with PyTorch on the GPU. Exit status: the first word (see planted_leak.py), or 77 without PyTorch or GPU.

The caching allocator's blocks are never given back, which is no mistake: gpumemtrace must not call it one.
"""

from gpu_torch import torch
from planted_leak import finish

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
inputs = torch.randn(512, 256).pin_memory()
targets = inputs.square().mean(dim=1, keepdim=True)
losses = []
for _ in range(50):
    x, y = inputs.cuda(non_blocking=True), targets.cuda()
    optimizer.zero_grad()
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
assert losses[-1] < losses[0]
finish()
