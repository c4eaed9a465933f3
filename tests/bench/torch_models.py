# SPDX-License-Identifier: Apache-2.0
"""The time of a training step of ResNet-50 (mixed precision, channels last) or of GPT-2 (mixed precision, AdamW):
torch_models.py resnet50|gpt2 [STEPS]. Prints milliseconds a step, the median, and the peak of PyTorch's memory."""

import statistics
import sys
import time

import torch

torch.manual_seed(0)
torch.backends.cudnn.benchmark = True


def resnet50():
    import torchvision

    model = torchvision.models.resnet50(weights=None).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    pictures = torch.randn(64, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (64,), device="cuda")
    return optimizer, lambda: torch.nn.functional.cross_entropy(model(pictures), labels)


def gpt2():
    import transformers

    model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).cuda()
    words = torch.randint(0, 50000, (4, 512), device="cuda")
    return torch.optim.AdamW(model.parameters(), lr=1e-4), lambda: model(words, labels=words).loss


optimizer, loss_of = {"resnet50": resnet50, "gpt2": gpt2}[sys.argv[1]]()
scaler = torch.amp.GradScaler()


def step():
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.float16):
        loss = loss_of()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


steps = int(sys.argv[2]) if len(sys.argv) > 2 else 60
times = []
for _ in range(min(8, steps) + steps):
    torch.cuda.synchronize()
    began = time.perf_counter()
    step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - began)
peak = torch.cuda.max_memory_allocated() >> 20
print(f"{sys.argv[1]}: {statistics.median(times[-steps:]) * 1e3:.2f} ms a step, peak {peak} MiB")
