# SPDX-License-Identifier: Apache-2.0
"""Correct training and inference of torchvision's models, with random weights and made-up data.

torchvision_programs.py NAME. Exit status: 0 the program ran, 2 no such program.
"""

import sys

import torch
import torchvision
from program import main, program

CUDA = "cuda"


def train_classifier(model, *, batch=16, size=160, steps=12, classes=100, half=torch.float16, channels_last=True):
    model = model.to(CUDA)
    images = torch.randn(batch, 3, size, size, device=CUDA)
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    labels = torch.randint(0, classes, (batch,), device=CUDA)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scaler = torch.amp.GradScaler(enabled=half == torch.float16)
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(CUDA, half):
            outputs = model(images)
            loss = torch.nn.functional.cross_entropy(getattr(outputs, "logits", outputs), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.cuda.synchronize()
    assert torch.isfinite(loss), loss


@program
def resnet50_amp():
    torch.backends.cudnn.benchmark = True
    train_classifier(torchvision.models.resnet50(num_classes=1000), batch=64, size=224, steps=40, classes=1000)


@program
def mobilenet_v3():
    torch.backends.cudnn.benchmark = True
    train_classifier(torchvision.models.mobilenet_v3_large(num_classes=100))


@program
def efficientnet_b0():
    train_classifier(torchvision.models.efficientnet_b0(num_classes=100), half=torch.bfloat16)


@program
def densenet121():
    torch.backends.cudnn.benchmark = True
    train_classifier(torchvision.models.densenet121(num_classes=100), steps=8)


@program
def vit_b_16():
    model = torchvision.models.vit_b_16(num_classes=100, image_size=160)
    train_classifier(model, half=torch.bfloat16, channels_last=False)


@program
def convnext_tiny():
    train_classifier(torchvision.models.convnext_tiny(num_classes=100), half=torch.bfloat16)


@program
def swin_t():
    train_classifier(torchvision.models.swin_t(num_classes=100), channels_last=False)


@program
def faster_rcnn():
    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_fpn(
        weights=None, weights_backbone=None, num_classes=5
    ).to(CUDA)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    images = [torch.rand(3, 320 + 16 * i, 320, device=CUDA) for i in range(4)]
    boxes = torch.tensor([[20.0, 20.0, 120.0, 120.0], [60.0, 40.0, 200.0, 220.0]], device=CUDA)
    targets = [{"boxes": boxes, "labels": torch.tensor([1, 3], device=CUDA)} for _ in images]
    model.train()
    for _ in range(6):
        optimizer.zero_grad()
        sum(model(images, targets).values()).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        found = model(images)
    assert len(found) == len(images)


@program
def deeplab_v3():
    torch.backends.cudnn.benchmark = True
    model = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=8
    ).to(CUDA)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images = torch.randn(8, 3, 192, 192, device=CUDA)
    masks = torch.randint(0, 8, (8, 192, 192), device=CUDA)
    for _ in range(8):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images)["out"], masks)
        loss.backward()
        optimizer.step()
    assert torch.isfinite(loss)


@program
def video_r3d_18():
    torch.backends.cudnn.benchmark = True
    model = torchvision.models.video.r3d_18(num_classes=10).to(CUDA)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    clips, labels = torch.randn(4, 3, 8, 96, 96, device=CUDA), torch.randint(0, 10, (4,), device=CUDA)
    for _ in range(8):
        optimizer.zero_grad()
        with torch.autocast(CUDA, torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(clips), labels)
        loss.backward()
        optimizer.step()
    assert torch.isfinite(loss)


if __name__ == "__main__":
    sys.exit(main())
