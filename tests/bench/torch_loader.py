# SPDX-License-Identifier: Apache-2.0
"""Steps of a small network of PyTorch whose batches a DataLoader pins and copies without blocking. Prints the median of
blocks of ten steps. The words are how many workers load, and how many steps are made: 0 and 400 by default."""

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WORKERS, STEPS = (int(word) for word in (sys.argv[1:3] if len(sys.argv) > 2 else ("0", "400")))


class Batches(Dataset):
    def __len__(self):
        return STEPS + 40

    def __getitem__(self, i):
        if i >= len(self):
            raise IndexError(i)
        return torch.full((64, 3, 32, 32), float(i % 7)), torch.arange(64) % 10


torch.manual_seed(0)
convolutions = [layer for size in (3, 64, 64) for layer in (nn.Conv2d(size, 64, 3, padding=1), nn.ReLU())]
head = (nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 10))
model = nn.Sequential(*convolutions, *head).cuda()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
times, total, begin = [], 0.0, time.perf_counter()
for number, batch in enumerate(DataLoader(Batches(), batch_size=None, num_workers=WORKERS, pin_memory=True), 1):
    inputs, labels = (one.cuda(non_blocking=True) for one in batch)
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    if number % 10 == 0:
        total += loss.item()
        now = time.perf_counter()
        times.append((now - begin) / 10)
        begin = now
times = sorted(times[3:])
print(f"median {times[len(times) // 2] * 1e3:.3f} ms, loss {total:.4f}")
