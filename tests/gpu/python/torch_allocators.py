# SPDX-License-Identifier: Apache-2.0
"""PyTorch's allocators, and other ways in which it gets and shares memory: torch_allocators.py WORD

Words: caching (whatever allocator PYTORCH_CUDA_ALLOC_CONF names), reduce (torch.compile's own CUDA graphs), pools
(graphs with a pool of their own, a MemPool), processes (tensors given to another process), profiler (CUPTI in the same
process), jiterator (kernels compiled by NVRTC). Nothing is wrong with any of them, so no report may have an error or a
warning. Exit status: 0, 77 without PyTorch or GPU.
"""
# run: caching
# env: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
# expect: clean
# run: caching
# env: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
# options: --guard
# expect: clean
# run: caching
# env: PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync
# expect: clean
# run: caching
# env: PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync
# options: --guard
# expect: clean
# run: caching
# env: PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:20,garbage_collection_threshold:0.5
# expect: clean
# run: reduce
# expect: clean
# run: pools
# expect: clean
# run: processes
# expect: clean
# run: profiler
# expect: clean
# run: jiterator
# expect: clean

import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_torch import torch

warnings.simplefilter("ignore")  # of what is no final interface yet


def make_model():
    return torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1)).cuda()


def train(step, sizes=(64, 96, 128, 64, 96, 128)):
    for size in sizes:
        step(torch.randn(size, 512, device="cuda")).square().mean().backward()


def caching():
    model = make_model()
    train(model)
    kept = [torch.empty(size << 20, dtype=torch.uint8, device="cuda").fill_(1) for size in (1, 3, 30, 70, 150)]
    del kept[1::2]
    kept += [torch.zeros(size << 18, device="cuda") for size in (5, 25, 90)]
    with torch.cuda.stream(torch.cuda.Stream()):
        kept.append(torch.ones(1 << 20, device="cuda"))
    torch.cuda.synchronize()
    kept.clear()
    torch.cuda.empty_cache()
    train(model)


def reduce():
    model = make_model()
    step = torch.compile(model, mode="reduce-overhead")
    for _ in range(4):
        torch.compiler.cudagraph_mark_step_begin()
        train(step, sizes=(64,))
        model.zero_grad()  # the next run of a graph overwrites what the one before gave out


def pools():
    x = torch.ones(1 << 16, device="cuda")
    graphs, pool = [torch.cuda.CUDAGraph() for _ in range(2)], torch.cuda.graph_pool_handle()
    for graph in graphs:
        with torch.cuda.graph(graph, pool=pool):
            y = (x * 2).cumsum(0)
    for graph in graphs:
        graph.replay()
    assert y[-1].item() == 2 << 16
    with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
        z = torch.zeros(1 << 20, device="cuda") + 1
    assert z.sum().item() == 1 << 20


def double(given, answers):
    while (tensor := given.get()) is not None:
        answers.put((tensor * 2).sum().item())
        del tensor


def processes():
    context = torch.multiprocessing.get_context("spawn")
    given, answers = context.Queue(), context.Queue()
    worker = context.Process(target=double, args=(given, answers))
    worker.start()
    for size in (10, 1000, 1 << 20):
        tensor = torch.ones(size, device="cuda")
        given.put(tensor)
        assert answers.get(timeout=60) == 2 * size
    given.put(None)
    worker.join()
    assert worker.exitcode == 0


def profiler():
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        train(make_model())
    assert profile.key_averages()


def jiterator():
    scaled = torch.cuda.jiterator._create_jit_fn("template <typename T> T scaled(T x, T a) { return a * x; }", a=3)
    assert scaled(torch.ones(1000, device="cuda")).sum().item() == 3000


if __name__ == "__main__":
    torch.manual_seed(0)
    words = {"caching": caching, "reduce": reduce, "pools": pools, "processes": processes, "profiler": profiler}
    (words | {"jiterator": jiterator})[sys.argv[1]]()
    torch.cuda.synchronize()
