# SPDX-License-Identifier: Apache-2.0
"""What files of planted mistakes share: PROGRAM NAME [correct] runs a mistake, or its correct twin.

Without a word the names are printed. The line that a finding has to name carries a comment "found: KIND", the first one
of a mistake that only an option shows "options: OPTIONS". Exit status 77 without PyTorch or GPU.
"""

import sys

from gpu_torch import torch
from torch import nn

CORRECT = sys.argv[2:] == ["correct"]
STEPS = 160
_mistakes = {}


def mistake(function):
    _mistakes[function.__name__] = function
    return function


class Training:
    """A small model and the steps that train it."""

    def __init__(self, width=512, layers=4):
        blocks = [layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.ReLU())]
        self.model = nn.Sequential(*blocks).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.width = width

    def batches(self, count=STEPS):
        for _ in range(count):
            yield torch.randn(128, self.width, device="cuda")

    def step(self, batch):
        self.optimizer.zero_grad()
        loss = (self.model(batch) - batch).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss


def main():
    if len(sys.argv) == 1:
        print("\n".join(_mistakes))
        sys.exit(0)
    torch.manual_seed(0)
    left = _mistakes[sys.argv[1]]()
    torch.cuda.synchronize()
    print(f"{sys.argv[1]}: {torch.cuda.max_memory_allocated() >> 10} KiB at the peak")
    del left
