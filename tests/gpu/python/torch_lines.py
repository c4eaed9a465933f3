# SPDX-License-Identifier: Apache-2.0
"""Keeps a block of raw memory in the middle of what PyTorch does: torch_lines.py WORD [clean]

Words: amp (a forward hook under autocast), graph (before a captured graph is replayed), compile (a function that
torch.compile leaves to Python), backward (on a thread of the autograd engine), workers (a DataLoader's worker),
parallel (a hook of DistributedDataParallel, in the second of two processes: each has a GPU and they talk by NCCL, or
both have the only GPU and talk by gloo). With `clean` the same is done and the block is freed. Exit status: 0, 77
without PyTorch or GPU.
"""
# run: amp
# expect: error leak count=1 bytes=12345 stacks="allocated here":LINE(amp)
# run: amp clean
# expect: clean
# run: graph
# expect: error leak count=1 bytes=12345 stacks="allocated here":LINE(graph)
# run: graph clean
# expect: clean
# run: compile
# expect: error leak count=1 bytes=12345 stacks="allocated here":LINE(compile)
# run: compile clean
# expect: clean
# run: backward
# expect: error leak count=1 bytes=12345 stacks="allocated here":LINE(backward)
# run: backward clean
# expect: clean
# run: workers
# expect: error leak count=1 bytes=12345 stacks="allocated here":LINE(workers)
# run: workers clean
# expect: clean
# run: parallel
# expect: error leak count=1 bytes=12345 stacks="allocated here":LINE(parallel)
# run: parallel clean
# expect: clean

import os
import pathlib
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_torch import torch
from planted_leak import keep_a_block
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

IS_CLEAN = "clean" in sys.argv


def used(free):
    if IS_CLEAN:
        assert free() == 0


class Once:
    """Calls a function at its own first call."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *_):
        if self.function:
            self.function, function = None, self.function
            function()


def make_model(width=256):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 1)).cuda()


def train(model, steps=5, step=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs = torch.randn(64, 256, device="cuda")
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = (step or model)(inputs).square().mean()
        loss.backward()
        optimizer.step()
    assert torch.isfinite(loss)


def amp():
    def hook():
        used(keep_a_block())  # @amp

    model = make_model()
    model[1].register_forward_hook(Once(hook))
    with torch.autocast("cuda", dtype=torch.float16):
        train(model)


def graph():
    model, inputs = make_model(), torch.randn(64, 256, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        model(inputs)
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        answers = model(inputs)
    for step in range(10):
        captured.replay()
        if step == 5:
            used(keep_a_block())  # @graph
    torch.cuda.synchronize()
    assert torch.isfinite(answers).all()


def compiled():
    @torch.compiler.disable
    def hook():
        used(keep_a_block())  # @compile

    model, once = make_model(), Once(hook)

    @torch.compile
    def step(inputs):
        middle = model[0](inputs).sin()
        once()
        return model[2](model[1](middle))

    train(model, step=step)


class Doubled(torch.autograd.Function):
    once = None

    @staticmethod
    def forward(context, values):
        return values * 2

    @staticmethod
    def backward(context, gradient):
        Doubled.once()
        return gradient * 2


def backward():
    def hook():
        used(keep_a_block())  # @backward

    Doubled.once = Once(hook)
    model = make_model()
    train(model, step=lambda inputs: Doubled.apply(model(inputs)))


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        row = torch.full((256,), float(index), device="cuda").cpu()
        if index == 7:
            used(keep_a_block())  # @workers
        return row


def workers():
    loader = torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=2, multiprocessing_context="spawn")
    total = sum(batch.sum().item() for batch in loader)
    assert total == 256 * sum(range(32)), total


def train_parallel(rank, port):
    gpus = torch.cuda.device_count()
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank % gpus)
    torch.distributed.init_process_group("nccl" if gpus > 1 else "gloo", rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(make_model(), device_ids=[rank % gpus])

    def keep():
        used(keep_a_block())  # @parallel

    once = Once(keep if rank == 1 else None)

    def reduce(state, bucket):
        once()
        return allreduce_hook(state, bucket)

    model.register_comm_hook(None, reduce)
    train(model)
    torch.distributed.destroy_process_group()


def parallel():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(train_parallel, args=(port,), nprocs=2)


if __name__ == "__main__":
    words = {"amp": amp, "graph": graph, "compile": compiled, "backward": backward, "workers": workers}
    (words | {"parallel": parallel})[sys.argv[1]]()
