# SPDX-License-Identifier: Apache-2.0
"""PyTorch's distributed training, its threads and its pinned memory: torch_distributed.py WORD

Words: collectives (NCCL's, with one rank on one GPU), ddp (DistributedDataParallel over NCCL), sharded (fully_shard,
which has streams of its own and frees storage between layers), threads (eight threads, each with a stream), pinned (copies
that overlap kernels; memory of NumPy's that is registered), pool (workers of a process pool), interrupted (a training
loop that Ctrl-C ends). Nothing is wrong with any of them. Exit status: 0, 77 without PyTorch or GPU.
"""
# run: collectives
# expect: clean
# run: collectives
# options: --guard
# expect: clean
# run: ddp
# expect: clean
# run: ddp
# options: --guard
# expect: clean
# run: sharded
# expect: clean
# run: sharded
# options: --guard=tensors
# expect: clean
# run: threads
# expect: clean
# run: threads
# options: --guard
# expect: clean
# run: pinned
# expect: clean
# run: pinned
# options: --guard=tensors
# expect: clean
# run: pool
# expect: clean
# run: interrupted
# expect: clean

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import socket
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_torch import torch

warnings.simplefilter("ignore")  # of what is no final interface yet


@contextlib.contextmanager
def one_rank():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(0)
    torch.distributed.init_process_group("nccl", rank=0, world_size=1, device_id=torch.device("cuda", 0))
    yield
    torch.distributed.destroy_process_group()


def make_model():
    layers = [torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU()) for _ in range(6)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(512, 1)).cuda()


def train(model, steps=20):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    inputs = torch.randn(256, 512, device="cuda")
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(inputs) - 1).square().mean()
        loss.backward()
        optimizer.step()
    assert loss.isfinite().item()


def collectives():
    with one_rank():
        for size in (1, 1000, 1 << 20):
            tensor = torch.ones(size, device="cuda")
            parts = [torch.empty_like(tensor)]
            work = torch.distributed.all_reduce(tensor, async_op=True)
            work.wait()
            torch.distributed.broadcast(tensor, 0)
            torch.distributed.all_gather(parts, tensor)
            torch.distributed.reduce_scatter(torch.empty_like(tensor), parts)
            torch.distributed.all_to_all_single(torch.empty_like(tensor), tensor)
            assert parts[0].sum().item() == size
        torch.distributed.barrier()
        group = torch.distributed.new_group([0])
        torch.distributed.all_reduce(tensor, group=group)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            torch.distributed.all_reduce(tensor)
            doubled = tensor * 2
        graph.replay()
        torch.cuda.synchronize()
        assert doubled.sum().item() == 2 * size
        del graph


def ddp():
    with one_rank():
        model = torch.nn.parallel.DistributedDataParallel(make_model(), device_ids=[0], gradient_as_bucket_view=True)
        train(model)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            train(torch.nn.parallel.DistributedDataParallel(make_model(), device_ids=[0], bucket_cap_mb=1))


def sharded():
    with one_rank():
        from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

        model = make_model()
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
        train(model)
        train(FullyShardedDataParallel(make_model(), device_id=0, use_orig_params=True))


def threads():
    def work(number):
        torch.cuda.set_device(0)
        stream = torch.cuda.Stream()
        total = torch.zeros((), device="cuda")
        torch.cuda.current_stream().synchronize()
        with torch.cuda.stream(stream):
            for size in range(1, 40):
                made = torch.full((size * 1000,), number, device="cuda", dtype=torch.float32)
                total += made.sum() / (size * 1000)
        stream.synchronize()
        return total.item()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(16)))
    assert all(abs(value - 39 * number) < 0.1 for number, value in enumerate(found))


def pinned():
    import numpy

    copying, computing = torch.cuda.Stream(), torch.cuda.Stream()
    batches = [torch.randn(1 << 18).pin_memory() for _ in range(6)]
    results = [torch.empty(1 << 18).pin_memory() for _ in batches]
    for batch, result in zip(batches, results):
        with torch.cuda.stream(copying):
            moved = batch.to("cuda", non_blocking=True)
            arrived = copying.record_event()
        with torch.cuda.stream(computing):
            computing.wait_event(arrived)
            moved.record_stream(computing)
            result.copy_(moved.sin().exp(), non_blocking=True)
    torch.cuda.synchronize()
    assert all(torch.allclose(result, batch.sin().exp(), atol=1e-4) for result, batch in zip(results, batches))

    own = numpy.ones(1 << 16, dtype=numpy.float32)
    runtime = torch.cuda.cudart()
    assert int(runtime.cudaHostRegister(own.ctypes.data, own.nbytes, 0)) == 0
    view = torch.from_numpy(own)
    assert view.is_pinned()
    doubled = view.to("cuda", non_blocking=True) * 2
    view.copy_(doubled, non_blocking=True)
    torch.cuda.synchronize()
    assert int(runtime.cudaHostUnregister(own.ctypes.data)) == 0
    assert own.sum() == 2 << 16


def square_on_gpu(size):
    return torch.arange(size, device="cuda", dtype=torch.float64).square().sum().item()


def pool():
    context = torch.multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as workers:
        assert list(workers.map(square_on_gpu, [10, 1000, 100000])) == [285.0, 332833500.0, 333328333350000.0]


def interrupted():
    model = make_model()
    try:
        for turn in range(1000):
            train(model, 2)
            if turn == 3:
                os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        print("interrupted")
        return
    raise AssertionError("not interrupted")


if __name__ == "__main__":
    torch.manual_seed(0)
    words = (collectives, ddp, sharded, threads, pinned, pool, interrupted)
    {word.__name__: word for word in words}[sys.argv[1]]()
