# SPDX-License-Identifier: Apache-2.0
"""Correct training of timm's models, with random weights and made-up data, by timm's own optimizers and losses.

timm_programs.py NAME. Exit status: 0 the program ran, 2 no such program.
"""

import sys

import timm
import timm.data
import timm.loss
import timm.optim
import timm.utils
import torch
from program import main, program

CUDA = "cuda"


def train(name, *, batch=16, size=None, steps=10, half=torch.float16, channels_last=True, optimizer="adamw"):
    torch.backends.cudnn.benchmark = True
    arguments = {"img_size": size} if size and not channels_last else {}
    model = timm.create_model(name, pretrained=False, num_classes=50, drop_path_rate=0.1, **arguments).to(CUDA)
    size = size or 160
    images = torch.randn(batch, 3, size, size, device=CUDA)
    if channels_last:
        model, images = model.to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last)
    mix = timm.data.Mixup(mixup_alpha=0.2, num_classes=50)
    loss_of = timm.loss.SoftTargetCrossEntropy()
    steps_of = timm.optim.create_optimizer_v2(model, opt=optimizer, lr=1e-3)
    average = timm.utils.ModelEmaV3(model, decay=0.9)
    scaler = timm.utils.NativeScaler()
    for step in range(steps):
        labels = torch.randint(0, 50, (batch,), device=CUDA)
        mixed, targets = mix(images.clone(), labels)
        with torch.autocast(CUDA, half):
            loss = loss_of(model(mixed), targets)
        steps_of.zero_grad()
        scaler(loss, steps_of, clip_grad=1.0, parameters=model.parameters())
        average.update(model, step=step)
    torch.cuda.synchronize()
    assert torch.isfinite(loss), loss


@program
def resnet26d():
    train("resnet26d", optimizer="sgd")


@program
def efficientnetv2_rw_t():
    train("efficientnetv2_rw_t", steps=6)


@program
def convnextv2_atto():
    train("convnextv2_atto", half=torch.bfloat16)


@program
def vit_tiny():
    train("vit_tiny_patch16_224", size=224, half=torch.bfloat16, channels_last=False)


@program
def swinv2_cr_tiny():
    train("swinv2_cr_tiny_ns_224", size=224, batch=8, steps=6, channels_last=False)


@program
def mobilevit_s():
    train("mobilevit_s", size=None, steps=6, optimizer="lamb")


if __name__ == "__main__":
    sys.exit(main())
