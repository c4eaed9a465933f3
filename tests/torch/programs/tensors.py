# SPDX-License-Identifier: Apache-2.0
"""One way to use tensors for each word. test_tensors.py knows what the report has to say.

It is one file because it is one list: a function for each word."""

import collections
import ctypes
import os
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))

import standin  # noqa: E402
from standin import Graph, Pinned, Stream, Tensor, allocator, c10, cuda, fill  # noqa: E402


def clean():
    weights = [Tensor(1 << 20) for _ in range(4)]
    for _ in range(20):
        activation = Tensor(1 << 19)
        activation.fill()
    del activation
    for weight in weights:
        weight.fill()
    return weights


def past():
    weight = Tensor(4096)
    weight.fill(4096 + 40)
    return weight


def after():
    gone = Tensor(4096)
    address = gone.address
    keep = Tensor(4096)
    del gone
    fill(address, 100)
    return keep


def again():  # the address is another tensor's
    gone = Tensor(4096)
    address = gone.address
    del gone
    taken = Tensor(4096)
    if taken.address != address:
        raise ValueError("the allocator gave out another block")
    fill(address, 4096)
    return taken


def threads():
    def work():
        for _ in range(50):
            Tensor(1000).fill()

    started = [threading.Thread(target=work) for _ in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def forked():
    kept = Tensor(2048)
    if os.fork() == 0:
        Tensor(1024)  # the child's allocator is its parent's copy, and it has no context
        os._exit(0)
    os.wait()
    return kept


def host():
    buffer = ctypes.create_string_buffer(64)
    for size in (64, -64):
        c10.standin_host_storage(buffer, ctypes.c_int64(size))
    return Tensor(512)


def beside_cupy():
    pool = ctypes.CDLL(os.path.join(os.environ["GMT_TORCH"], "cupy", "cuda", "memory.standin.so"))
    if not pool.standin_fill_pool(ctypes.c_size_t(1 << 20)):
        raise MemoryError
    return Tensor(512)


def silent():
    allocator.standin_be_silent()
    return Tensor(512)


def refused():
    kept = [Tensor(64 << 20) for _ in range(3)]
    try:
        Tensor(1 << 50)
    except MemoryError:
        return kept
    raise ValueError("2 to the 50th bytes")


def refused_between_pieces():
    kept = [Tensor(1 << 16) for _ in range(32)]  # a segment
    kept.append(Tensor(3 << 19))
    del kept[:32:2]
    try:
        Tensor(1 << 50)
    except MemoryError:
        return kept
    raise ValueError("2 to the 50th bytes")


def refused_while_some_rest():
    resting = [Tensor(1 << 20) for _ in range(4)]
    for tensor in resting:
        tensor.fill()
    working = [Tensor(1 << 20) for _ in range(6)]
    for _ in range(5):
        time.sleep(0.01)
        for tensor in working:
            tensor.fill(512)
    try:
        Tensor(1 << 50)
    except MemoryError:
        return resting, working
    raise ValueError("2 to the 50th bytes")


def refused_beside_small_tensors():
    """The cache has as much as is asked for, and had it in one piece."""
    halves = [Tensor((1 << 20) + 512) for _ in range(5)]  # a segment each, of which the rest is too small
    large = Tensor(64 << 20)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    cuda.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
    rest = Tensor((free.value - (32 << 20)) >> 21 << 21)
    del large
    small = Tensor(3 << 20)
    try:
        Tensor(64 << 20)
    except MemoryError:
        return halves, rest, small
    raise ValueError("there was room")


def fragmenting():
    """A tensor is larger in each step than what was freed before."""
    for step in range(100):
        larger = Tensor((2 << 20) + step * 512)
        for _ in range(4):
            larger.fill(512)
        del larger


def emptying():
    sys.path.insert(0, os.path.dirname(standin.__file__))
    from torch.cuda.memory import empty_cache

    for _ in range(1100):
        Tensor(1 << 20).fill(512)
        empty_cache()


def pinned_kept(kept=None):
    kept = [] if kept is None else kept
    for _ in range(100):
        work = Tensor(4096)
        for _ in range(4):
            work.fill()
        kept.append(Pinned(1 << 16))
    return kept


def pinned_again():
    return pinned_kept(collections.deque(maxlen=4))


def graph_of(given):
    """It has a tensor of its own, too. What it does keeps neither."""

    def work(stream):
        own = Tensor(4096)
        own.fill(stream=stream)
        given.fill(stream=stream)

    return Graph(work)


def graph_without_its_tensor():
    given = Tensor(1 << 20)
    graph = graph_of(given)
    del given
    graph.replay()
    other = Tensor(1 << 20)
    for _ in range(3):
        graph.replay()
    return other


def graph_with_its_tensor():
    given = Tensor(1 << 20)
    graph = graph_of(given)
    graph.replay()
    others = [Tensor(4096), Tensor(1 << 20)]
    for _ in range(3):
        graph.replay()
    return given, others


def on_a_side_stream(before_drop=None, before_reuse=None):
    default, side = Stream(0), Stream()
    for _ in range(3):
        lent = Tensor(4096)
        lent.fill(stream=default)
        side.wait_stream(default)
        lent.fill(stream=side)
        if before_drop is not None:
            before_drop(default, side)
        del lent
        if before_reuse is not None:
            before_reuse(side)
        taken = Tensor(4096)
        taken.fill(stream=default)
        del taken


def side():
    on_a_side_stream()


def side_waited():
    on_a_side_stream(before_drop=lambda default, side: default.wait_stream(side))


def side_recorded():
    on_a_side_stream(before_drop=lambda _, side: side.record(), before_reuse=lambda side: side.is_done())


def batches_of_another_stream(before_drop=None, before_next=None):
    default, side = Stream(0), Stream()
    for _ in range(3):
        with side:
            if before_next is not None:
                before_next(default)
            batch = Tensor(4096)
            batch.fill(stream=side)
        default.wait_stream(side)
        batch.fill(stream=default)
        if before_drop is not None:
            before_drop(default)
        del batch


def prefetched():
    batches_of_another_stream()


def prefetched_recorded():
    batches_of_another_stream(
        before_drop=lambda default: default.record(), before_next=lambda default: default.is_done()
    )


def looking():
    import gpumemtrace

    kept = [[Tensor(4096) for _ in range(2)], Tensor(512)]
    tensors = gpumemtrace.snapshot().tensors
    print([(one.bytes, one.blocks) for one in tensors])
    lines = {frame.line for frame in tensors[0].stack.frames if (frame.file or "") == os.path.abspath(__file__)}
    if looking.__code__.co_firstlineno + 3 not in lines:
        raise ValueError(lines)
    return kept


def training_for_long():
    """A trace of several times the size that it may have. Waits where the command is slower than we are."""
    kept, until = [], time.monotonic() + 60
    for step in range(10_000):
        layers = [Tensor(1 << 14) for _ in range(4)]
        for layer in layers:
            layer.fill()
        value = Tensor(512)
        value.fill()
        if step % 10 == 0:
            kept.append(value)
        while step % 100 == 0 and len(plain_logs()) > 3 and time.monotonic() < until:
            time.sleep(0.02)
    return kept


def plain_logs():
    return [
        name for name in os.listdir(standin.trace()) if name.startswith(f"t{os.getpid()}-") and name.endswith(".log")
    ]


def growing():
    kept = []
    for _ in range(100):
        activations = [Tensor(1 << 14) for _ in range(4)]
        for activation in activations:
            activation.fill()
            activation.fill()
        loss = Tensor(512)
        loss.fill()
        kept.append((activations[2], loss))
    return kept


def evaluating():
    """Training ends early: what the long evaluation leaves behind is not of the optimizer's steps."""
    sys.path.insert(0, os.path.dirname(standin.__file__))
    from torch.optim.optimizer import SGD

    sgd = SGD([Tensor(1 << 14)])
    for _ in range(10):
        sgd.step()
    results = []
    for _ in range(100):
        activations = [Tensor(1 << 14) for _ in range(2)]
        for activation in activations:
            activation.fill()
        results.append(Tensor(4096))
        results[-1].fill()
    return results


def training():
    """Each step adds up the gradients of four batches, so most call stacks come back four times a step."""
    sys.path.insert(0, os.path.dirname(standin.__file__))
    from torch.autograd.graph import _engine_run_backward
    from torch.nn.modules.container import Sequential
    from torch.nn.modules.module import Module
    from torch.optim.optimizer import SGD

    weights, seen = [Tensor(1 << 14) for _ in range(2)], []

    class Layer(Module):
        def forward(self, value):
            result = Tensor(1 << 14)
            result.fill()
            value.fill()
            if is_last_batch:
                seen.append(Tensor(4096))
                seen[-1].fill()
            return result

    class Block(Module):
        def __init__(self):
            self.conv = Layer()

        def forward(self, value):
            return self.conv(value)

    class Model(Module):
        def __init__(self):
            self.blocks = Sequential(Block(), Block())
            self.head = Layer()

        def forward(self, value):
            value = self.blocks(value)
            return self.head(value)

    model, optimizer = Model(), SGD(weights)
    for _ in range(50):
        for batch in range(4):
            is_last_batch = batch == 3
            model(Tensor(1 << 14)).fill()
            _engine_run_backward(weights)
        optimizer.step()
    return seen


def in_ranges():
    """Each step has two batches; PyTorch opens ranges of its own around what an optimizer does."""
    sys.path.insert(0, os.path.dirname(standin.__file__))
    from torch.autograd.profiler import library, record_function
    from torch.optim.optimizer import SGD

    sgd, errors = SGD([Tensor(1 << 14)]), []
    with record_function("the whole program"):
        for _ in range(50):
            with record_function("train"):
                for _ in range(2):
                    with record_function("batch"):
                        Tensor(1 << 14).fill()
                        errors.append(Tensor(4096))
                        errors[-1].fill()
                sgd.step()
    print(library.standin_ranges())
    return errors


def loading():
    return [made for _ in range(300) for made in (Tensor(1 << 14),) if made.fill() == 0]


def bounded():
    kept = []
    for step in range(200):
        activations = [Tensor(1 << 14) for _ in range(4)]
        for activation in activations:
            activation.fill()
            activation.fill()
        kept.append(activations[2])
        if step % 20 == 19:
            kept.clear()  # as an evaluation does
    return kept


standin.cuda.cudaFree(None)
left = globals()[sys.argv[1]]()
print(c10.standin_usage_reports(), c10.standin_refusals(), flush=True)
allocator.standin_set_stream(ctypes.c_void_p())
os._exit(0)  # as many a script ends: what is alive stays so
