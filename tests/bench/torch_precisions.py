# SPDX-License-Identifier: Apache-2.0
"""Steps of PyTorch in TF32 and bf16, with small and large batches: 8 layers of 1,024 with GELU, Adam. Prints the median
of the last two thirds. The first word is how many steps are made, by default 20."""

import sys
import time

import torch

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 20


def run(kind, batch):
    torch.manual_seed(0)
    layers = [layer for _ in range(8) for layer in (torch.nn.Linear(1024, 1024), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    inputs, wanted = (torch.randn(batch, 1024, device="cuda") for _ in range(2))
    times = []
    for _ in range(STEPS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=kind == "bf16"):
            loss = torch.nn.functional.mse_loss(model(inputs), wanted)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    times = sorted(times[len(times) // 3 :])
    print(f"{kind} batch {batch}: {times[len(times) // 2] * 1e3:.2f} ms, loss {loss.item():.6f}", flush=True)


torch.backends.cuda.matmul.allow_tf32 = True
for setting in (("tf32", 4096), ("bf16", 4096), ("bf16", 65536)):
    run(*setting)
