# SPDX-License-Identifier: Apache-2.0
"""Trains with automatic mixed precision inside a captured CUDA graph. Exit status: the first word (see planted_leak.py), or
77 without PyTorch or GPU.

The graph's private memory pool, the loss scaler and cuBLAS workspaces live until the end, which is no mistake.
"""

from gpu_torch import torch
from planted_leak import finish

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
inputs = torch.randn(1024, 256, device="cuda")
targets = inputs.square().mean(dim=1, keepdim=True)


def step():
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.float16, cache_enabled=False):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    static_loss = step()
first = static_loss.item()
for _ in range(200):
    graph.replay()
torch.cuda.synchronize()
print(f"loss {first:.4f} -> {static_loss.item():.4f}")
scaler = torch.amp.GradScaler("cuda")
for _ in range(10):  # and with a scaler, eagerly
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
assert torch.isfinite(loss)
finish()
