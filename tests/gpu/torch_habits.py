# SPDX-License-Identifier: Apache-2.0
"""More mistakes with the memory of tensors, each beside its correct twin: what loggers, caches, threads, workers, pools
and optimizers keep, and what a copy or a graph still uses. torch_habits.py NAME [correct].

torch_cases.py says what its words and comments are. check_torch_mistakes.py runs them all.
"""

import collections
import concurrent.futures
import copy
import functools
import gc
import itertools
import logging
import logging.handlers
import threading
import weakref

from gpu_torch import torch
from torch import nn
from torch_cases import CORRECT, STEPS, Training, main, mistake


@mistake
def log_that_keeps_arguments():
    """A handler that holds records back holds what their texts are made of."""
    training = Training()
    handler = logging.handlers.MemoryHandler(100_000)
    log = logging.getLogger("training")
    log.addHandler(handler)
    log.propagate = False
    log.setLevel(logging.INFO)
    for step, batch in enumerate(training.batches()):
        training.step(batch)
        error = (training.model(batch) - batch).square().mean(dim=1)  # found: growth
        log.info("step %d: %s", step, error.mean().item() if CORRECT else error)
    return handler


@mistake
def context_that_keeps_its_result():
    """A result that is an attribute of the function's context keeps the graph that keeps it. Python's collector would
    find the two, but trainings turn it off."""
    gc.disable()

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            result = x * 2  # found: growth
            if CORRECT:
                context.save_for_backward(result)
            else:
                context.result = result
            return result

        @staticmethod
        def backward(context, slope):
            return slope * 2

    training = Training()
    for batch in training.batches():
        training.optimizer.zero_grad()
        Scale.apply(training.model(batch)).square().mean().backward()
        training.optimizer.step()


@mistake
def memo_without_bound():
    training = Training()

    @functools.lru_cache(maxsize=8 if CORRECT else None)
    def mask(step):
        return torch.rand(128, 512, device="cuda", generator=source) < 0.9 - step * 1e-3  # found: growth

    source = torch.Generator(device="cuda")
    for step, batch in enumerate(training.batches()):
        training.step(batch * mask(step))
    return mask


@mistake
def table_by_identity():
    """What is forgotten by another key than it was stored with stays."""
    training, known = Training(), {}

    class Batch:
        def __init__(self, rows):
            self.rows = rows

    for rows in training.batches():
        batch = Batch(rows)
        known[id(batch), len(known)] = rows.abs()  # found: growth
        training.step(rows)
        if CORRECT:
            known.clear()
        else:
            known.pop(id(batch), None)
    return known


@mistake
def what_threads_keep_for_themselves():
    training, own = Training(), threading.local()

    def evaluate(batch):
        with torch.no_grad():
            error = (training.model(batch) - batch).abs()  # found: growth
        own.seen = [error] if CORRECT else [*getattr(own, "seen", []), error]
        return error.mean().item()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for batch in training.batches():
            training.step(batch)
            pool.submit(evaluate, batch).result()


@mistake
def futures_that_keep_results():
    training, waiting = Training(), collections.deque(maxlen=4 if CORRECT else None)

    def evaluate(batch):
        with torch.no_grad():
            return training.model(batch) - batch  # found: growth

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for batch in training.batches():
            training.step(batch)
            waiting.append(pool.submit(evaluate, batch))
            waiting[-1].result()
    return waiting


class CachingSamples(torch.utils.data.Dataset):
    def __init__(self, bound):
        self.cache, self.bound = {}, bound

    def __len__(self):
        return STEPS * 4

    def __getitem__(self, index):
        key = index % self.bound
        if key not in self.cache:
            self.cache[key] = torch.full((16384,), float(key), device="cuda")  # found: growth
        return self.cache[key].mean().item()


@mistake
def worker_whose_cache_grows():
    """In a process of its own."""
    samples = CachingSamples(16 if CORRECT else STEPS * 4)
    loader = torch.utils.data.DataLoader(samples, batch_size=4, num_workers=1, multiprocessing_context="spawn")
    total = torch.zeros((), device="cuda")
    for batch in loader:
        total += batch.cuda().sum()
    return total


@mistake
def iterator_that_is_read_by_one():
    """The other one's batches wait for it."""
    training = Training()
    batches = (torch.randn(128, 512, device="cuda") for _ in range(STEPS))  # found: growth
    one, other = itertools.tee(batches)
    for batch in one:
        training.step(batch)
        if CORRECT:
            next(other)
    return other


@mistake
def snapshots_of_a_model():
    training, snapshots = Training(layers=2), collections.deque(maxlen=2 if CORRECT else None)
    for step, batch in enumerate(training.batches()):
        training.step(batch)
        if step % 4 == 3:
            snapshots.append(copy.deepcopy(training.model))  # found: growth
    return snapshots


@mistake
def norms_of_gradients():
    """512 bytes a step."""
    training, norms = Training(width=128), []
    for batch in training.batches(400):
        training.step(batch)
        norm = nn.utils.clip_grad_norm_(training.model.parameters(), 1.0)  # found: growth
        norms.append(norm.item() if CORRECT else norm)
    return norms


@mistake
def parameters_that_are_added():
    training = Training()
    optimizer = torch.optim.Adam(training.model.parameters())
    for batch in training.batches(80):
        extra = nn.Parameter(torch.zeros(512, device="cuda"))  # found: growth
        if not CORRECT:
            optimizer.add_param_group({"params": [extra]})
        (training.model(batch + extra) - batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


@mistake
def callbacks_at_the_end():
    """A finalizer keeps its arguments until what it belongs to ends."""
    training = Training()
    for batch in training.batches():
        training.step(batch)
        largest = batch.abs()  # found: growth
        owner = batch if CORRECT else training
        weakref.finalize(owner, id, largest.mean().item() if CORRECT else largest).atexit = False
    return training


@mistake
def results_read_too_early():  # options: --host-races
    """A copy to pinned memory that is non_blocking may still write when it is read."""
    big, host = torch.randn(4096, 4096, device="cuda"), torch.zeros(4096).pin_memory()
    total = 0.0
    for _ in range(4):
        sums = (big @ big).sum(dim=1)
        host.copy_(sums, non_blocking=True)
        if CORRECT:
            torch.cuda.current_stream().synchronize()
        total += host.sum().item()  # found: host-race
    return total


@mistake
def pool_for_each_step():
    """Tensors are dropped, but memory that a pool has is no other pool's."""
    training, pools = Training(), []
    shared = torch.cuda.MemPool()
    for batch in training.batches():
        pool = shared if CORRECT else torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            doubled = batch * 2  # found: growth
        training.step(doubled)
        pools.append(pool)
    return pools


@mistake
def cache_emptied_in_each_step():
    weight = torch.randn(512, 512, device="cuda")
    for _ in range(1100):
        product = weight @ torch.ones(512, 2048, device="cuda")  # found: churn
        del product
        if not CORRECT:
            torch.cuda.empty_cache()


@mistake
def pinned_buffers_that_are_kept():
    training, kept = Training(), collections.deque(maxlen=4 if CORRECT else None)
    for batch in training.batches():
        loss = training.step(batch)
        host = torch.empty(128, 512, pin_memory=True)  # found: growth
        host.copy_(batch, non_blocking=True)
        kept.append((loss.item(), host))
    return kept


@mistake
def graph_whose_input_was_dropped():
    """A graph that runs again reads where its input lay, which is another tensor's by then."""
    weight = torch.randn(512, 512, device="cuda")
    weight @ weight
    given = torch.zeros(512, 512, device="cuda")  # found: use-after-free
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = given + weight
    if not CORRECT:
        del given
    others = [torch.ones(512, 512, device="cuda") for _ in range(4)]
    for _ in range(3):
        graph.replay()
    return result, others


if __name__ == "__main__":  # the worker imports this, too
    main()
