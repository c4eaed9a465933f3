# SPDX-License-Identifier: Apache-2.0
"""Frameworks that use two GPUs in one process: two_gpus.py WORD

Words: torch (DataParallel, a model whose layers lie on both GPUs, copies in streams of either), jax (an array that is
sharded over both, with sums between them), cupy (arrays of both, copied from one to the other while either is current).
Nothing is wrong with any of them. Exit status: 0, 77 without the framework or two GPUs.
"""
# run: torch
# devices: 2
# expect: clean
# run: torch
# devices: 2
# options: --guard
# expect: clean
# run: torch
# devices: 2
# options: --guard=tensors
# expect: clean
# run: jax
# devices: 2
# expect: clean
# run: jax
# devices: 2
# options: --guard
# expect: clean
# run: cupy
# devices: 2
# expect: clean
# run: cupy
# devices: 2
# options: --guard
# expect: clean

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))


def need_two(count):
    if count < 2:
        print(f"skipped: {count} GPU")
        sys.exit(77)


def train(model, inputs, steps=20):
    import torch

    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(inputs) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses


def with_torch():
    from gpu_torch import torch

    need_two(torch.cuda.device_count())
    torch.manual_seed(0)

    class Halves(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(256, 256).to("cuda:0")
            self.second = torch.nn.Linear(256, 1).to("cuda:1")

        def forward(self, x):
            return self.second(torch.relu(self.first(x.to("cuda:0"))).to("cuda:1"))

    inputs = torch.randn(128, 256, device="cuda:0")
    train(Halves(), inputs)
    layers = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).to("cuda:0")
    train(torch.nn.DataParallel(layers, device_ids=[0, 1]), inputs)
    for current in (0, 1):
        with torch.cuda.device(current):
            host = torch.arange(1 << 16, dtype=torch.float32).pin_memory()
            sides = [torch.empty(1 << 16, device=f"cuda:{device}") for device in (0, 1)]
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                sides[0].copy_(host, non_blocking=True)
                sides[1].copy_(sides[0], non_blocking=True)
                sides[0].copy_(sides[1] + 1, non_blocking=True)
            stream.synchronize()
            for device in (0, 1):
                torch.cuda.synchronize(device)
            assert torch.equal(sides[0].cpu(), host + 1)


def with_jax():
    from gpu_jax import jax

    need_two(len(jax.devices("gpu")))
    import jax.numpy as jnp
    import numpy
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    sharding = NamedSharding(Mesh(numpy.array(jax.devices("gpu")[:2]), ("x",)), PartitionSpec("x"))
    values = jax.device_put(jnp.ones((1024, 256)), sharding)
    for _ in range(10):
        values = jax.jit(lambda v: v @ v.T @ v / v.sum())(values)  # the sum and the product need both halves
    assert bool(jnp.isfinite(values).all())
    moved = jax.device_put(jnp.arange(1000.0), jax.devices("gpu")[1])
    assert float(jax.device_put(moved, jax.devices("gpu")[0]).sum()) == 499500.0


def with_cupy():
    from gpu_cupy import cupy

    need_two(cupy.cuda.runtime.getDeviceCount())
    for current in (0, 1):
        with cupy.cuda.Device(1 - current):
            other = cupy.arange(1 << 16, dtype=cupy.float32)
            cupy.cuda.get_current_stream().synchronize()
        with cupy.cuda.Device(current):
            own = cupy.asarray(other)  # copied over
            own += 1
            assert (own.get() - 1 == other.get()).all()
            with cupy.cuda.Device(1 - current):
                back = cupy.empty_like(own)
            back.data.copy_from_device(own.data, own.nbytes)
            cupy.cuda.get_current_stream().synchronize()
            assert (back.get() == own.get()).all()


if __name__ == "__main__":
    {"torch": with_torch, "jax": with_jax, "cupy": with_cupy}[sys.argv[1]]()
