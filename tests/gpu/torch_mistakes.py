# SPDX-License-Identifier: Apache-2.0
"""Mistakes with the memory of tensors, each beside its correct twin: torch_mistakes.py NAME [correct].

torch_cases.py says what its words and comments are. check_torch_mistakes.py runs them all.
It is one file because it is one list: a function for each mistake.
"""

import collections
import ctypes
import queue
import sys
import threading

from gpu_torch import torch
from planted_leak import runtime
from torch import nn
from torch_cases import CORRECT, STEPS, Training, main, mistake


@mistake
def list_of_losses():
    training, losses = Training(), []
    for batch in training.batches():
        training.optimizer.zero_grad()
        loss = (training.model(batch) - batch).square().mean(dim=1)  # found: growth
        loss.sum().backward()
        training.optimizer.step()
        losses.append(loss.detach().sum().item() if CORRECT else loss)
    return losses


@mistake
def evaluation_with_graph():
    training, total = Training(), 0
    for batch in training.batches():
        training.step(batch)
        loss = (training.model(batch) - batch).square().mean()  # found: growth
        total = total + (loss.item() if CORRECT else loss)
    return total


@mistake
def forward_hook():
    training, seen = Training(), collections.deque(maxlen=8 if CORRECT else None)

    def keep(_module, _arguments, result):
        seen.append(result.detach() * 1.0)  # found: growth

    training.model[3].register_forward_hook(keep)
    for batch in training.batches():
        training.step(batch)
    return seen


@mistake
def gradient_hook():
    training, norms = Training(), []
    weight = training.model[2].weight
    weight.register_hook(lambda g: norms.append(g.norm().item() if CORRECT else g.abs()))  # found: growth
    for batch in training.batches():
        training.step(batch)
    return norms


@mistake
def closure():
    training, callbacks = Training(), []
    for batch in training.batches():
        loss = training.step(batch)
        error = (batch - loss.detach()).abs()  # found: growth
        kept = error.mean().item() if CORRECT else error
        callbacks.append(lambda kept=kept: print(kept))
    return callbacks


@mistake
def exception_with_frame():
    training, errors = Training(), []

    def fails(batch):
        scaled = batch * 2  # found: growth
        raise ValueError(f"{tuple(scaled.shape)} is not what was expected")

    for batch in training.batches():
        training.step(batch)
        try:
            fails(batch)
        except ValueError as error:
            errors.append(str(error) if CORRECT else error)
    return errors


@mistake
def hidden_state_with_graph():
    network = nn.GRUCell(256, 256).cuda()
    state = torch.zeros(64, 256, device="cuda")
    for _ in range(STEPS):
        state = network(torch.randn(64, 256, device="cuda"), state)  # found: growth
        if CORRECT:
            state = state.detach()
    return state


@mistake
def retained_graph():
    training, total = Training(), 0
    for batch in training.batches(80):
        training.optimizer.zero_grad()
        total = total + (training.model(batch) - batch).square().mean()  # found: growth
        total.backward(retain_graph=not CORRECT)
        if CORRECT:
            training.optimizer.step()
            total = 0
    return total


@mistake
def gradients_with_graph():
    training = Training(layers=2)
    for batch in training.batches(80):
        loss = (training.model(batch) - batch).square().mean()  # found: growth
        if CORRECT:
            training.optimizer.zero_grad()
        loss.backward(create_graph=True)
    return training


@mistake
def data_set_that_caches():
    class Samples(torch.utils.data.Dataset):
        def __init__(self):
            self.cache = {}

        def __len__(self):
            return STEPS * 4

        def __getitem__(self, index):
            key = index % 16 if CORRECT else index
            if key not in self.cache:
                self.cache[key] = torch.full((256,), float(key), device="cuda")  # found: growth
            return self.cache[key]

    training = Training(width=256)
    samples = Samples()
    for batch in torch.utils.data.DataLoader(samples, batch_size=4):
        training.step(batch)
    return samples


@mistake
def cache_by_step():
    training, cache = Training(), {}
    for step, batch in enumerate(training.batches()):
        training.step(batch)
        cache[step % 10 if CORRECT else step] = torch.tril(torch.ones(64, 64, device="cuda"))  # found: growth
    return cache


@mistake
def predictions_kept():
    training, predictions = Training(), []
    for batch in training.batches():
        training.step(batch)
        with torch.no_grad():
            prediction = training.model(batch)  # found: growth
        predictions.append(prediction.argmax(dim=1).cpu() if CORRECT else prediction)
    return predictions


@mistake
def replay_memory():
    training, memory = Training(), collections.deque(maxlen=20 if CORRECT else None)
    for batch in training.batches():
        training.step(batch)
        memory.append(batch[:32].clone())  # found: growth
        training.step(memory[len(memory) // 2].repeat(4, 1))
    return memory


@mistake
def averages_of_weights():
    training, averages = Training(), []
    for batch in training.batches():
        training.step(batch)
        copy = {name: p.detach().clone() for name, p in training.model.named_parameters()}  # found: growth
        averages = [copy] if CORRECT else [*averages, copy]
    return averages


@mistake
def a_thread_that_falls_behind():
    training, waiting = Training(), queue.Queue(maxsize=4 if CORRECT else 0)

    def produce():
        for _ in range(STEPS):
            waiting.put(torch.randn(128, 512, device="cuda"))  # found: growth
            if not CORRECT:
                turn.acquire()
        waiting.put(None)

    turn = threading.Semaphore(0)
    threading.Thread(target=produce, daemon=True).start()
    kept = []
    for step in range(STEPS):
        batch = waiting.get() if CORRECT or step % 4 == 0 else training.model[0].weight[:128].detach()
        training.step(batch)
        turn.release()
    return kept


@mistake
def a_graph_for_each_shape():
    weight, graphs = torch.randn(256, 256, device="cuda"), {}
    weight @ weight
    for step in range(60):
        rows = (step % 4 + 1) * 8 if CORRECT else (step + 1) * 8
        if rows not in graphs:
            given = torch.zeros(rows, 256, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = given @ weight  # found: growth
            graphs[rows] = graph, given, result
        graphs[rows][0].replay()
    return graphs


@mistake
def side_stream():
    side, big = torch.cuda.Stream(), torch.randn(4096, 4096, device="cuda")
    for _ in range(3):
        lent = torch.ones(1 << 20, device="cuda")  # found: stream-race
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            big @ big
            doubled = lent * 2
        if CORRECT:
            lent.record_stream(side)
        del lent
        torch.zeros(1 << 20, device="cuda")
    torch.cuda.synchronize()
    return doubled


@mistake
def prefetched_on_a_side_stream():
    """A batch is copied on a stream of its own. When it is dropped its memory is that stream's again."""
    side, big = torch.cuda.Stream(), torch.randn(4096, 4096, device="cuda")
    source = torch.randn(1 << 20).pin_memory()
    total = torch.zeros(1 << 20, device="cuda")
    for _ in range(8):
        with torch.cuda.stream(side):
            batch = source.to("cuda", non_blocking=True)  # found: stream-race
        torch.cuda.current_stream().wait_stream(side)
        big @ big
        total += batch
        if CORRECT:
            batch.record_stream(torch.cuda.current_stream())
        del batch
    torch.cuda.synchronize()
    return total


@mistake
def copied_without_a_wait():
    side, source = torch.cuda.Stream(), torch.randn(1 << 22).pin_memory()
    batch = torch.zeros(1 << 22, device="cuda")  # found: stream-race
    torch.cuda.synchronize()
    kept = torch.zeros(1 << 22, device="cuda")
    for _ in range(4):
        with torch.cuda.stream(side):
            batch.copy_(source, non_blocking=True)
        if CORRECT:
            torch.cuda.current_stream().wait_stream(side)
        kept.copy_(batch)
        side.wait_stream(torch.cuda.current_stream())
    torch.cuda.synchronize()
    return kept


@mistake
def pinned_buffer_filled_again():  # options: --host-races
    """The next batch is written where the copy of the last one may still read."""
    buffer, big = torch.zeros(4096).pin_memory(), torch.randn(4096, 4096, device="cuda")
    total = torch.zeros(4096, device="cuda")
    for step in range(4):
        buffer.fill_(float(step))  # found: host-race
        big @ big
        total += buffer.to("cuda", non_blocking=True)
        if CORRECT:
            torch.cuda.current_stream().synchronize()
    return total


@mistake
def parts_that_keep_and_accumulated_gradients():
    """A step of the optimizer has four batches."""

    class Part(nn.Module):
        def __init__(self, width, kept):
            super().__init__()
            self.linear, self.kept = nn.Linear(width, width), kept

        def forward(self, batch):
            result = self.linear(batch)
            size = result.detach().abs()  # found: growth
            self.kept.append(size.mean().item() if CORRECT else size)
            return result

    kept = []
    model = nn.Sequential(Part(256, []), nn.ReLU(), nn.Sequential(Part(256, kept))).cuda()
    model[0].kept = collections.deque(maxlen=2)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    for index in range(STEPS):
        model(torch.randn(64, 256, device="cuda")).square().mean().backward()
        if index % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
    return kept


@mistake
def ranges_of_a_profiler():
    training, seen = Training(), []

    @torch.profiler.record_function("evaluate")
    def evaluate(batch):
        return training.model(batch).square().mean(dim=1)

    for index, batch in enumerate(training.batches()):
        with torch.profiler.record_function(f"step {index}"):
            for _ in range(2):
                training.step(batch)
            error = evaluate(batch) * 1.0  # found: growth
            seen.append(error.mean().item() if CORRECT else error)
    return seen


@mistake
def set_past_the_end():
    _, fill, _ = runtime()
    weight = torch.zeros(1024, device="cuda")  # found: copy-out-of-bounds
    fill(ctypes.c_void_p(weight.data_ptr()), 0, ctypes.c_size_t(4096 + (0 if CORRECT else 40)))
    return weight


@mistake
def address_of_a_dropped_tensor():
    _, fill, _ = runtime()
    buffer = torch.zeros(1024, device="cuda")  # found: use-after-free
    address = buffer.data_ptr()
    if not CORRECT:
        del buffer
    fill(ctypes.c_void_p(address), 0, ctypes.c_size_t(4096))


def kernel(name, text):
    try:
        import cupy
    except ImportError:
        sys.exit(77)
    return cupy.RawKernel(f'extern "C" __global__ void {name}{text}', name)


@mistake
def kernel_on_a_dropped_tensor():
    scale = kernel("scale", "(float *x) { x[threadIdx.x] *= 2; }")
    transposed = torch.ones(64, 64, device="cuda").t()
    copy = transposed.contiguous()  # found: use-after-free
    address = copy.data_ptr()
    if not CORRECT:
        del copy
    scale((1,), (256,), (address,))


@mistake
def kernel_past_a_tensor():  # options: --kernel-checks
    fill = kernel("fill", "(float *x, long long n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }")
    weight = torch.zeros(256, device="cuda")  # found: kernel-out-of-bounds
    fill((1,), (512,), (weight.data_ptr(), 256 if CORRECT else 260))
    return weight


@mistake
def kernel_finds_a_dropped_tensor():  # options: --kernel-checks
    scale = kernel("scale", "(float **x) { x[0][threadIdx.x] *= 2; }")
    weight = torch.ones(256, device="cuda")  # found: kernel-use-after-free
    table = torch.tensor([weight.data_ptr()], device="cuda")
    if not CORRECT:
        del weight
    scale((1,), (256,), (table.data_ptr(),))


@mistake
def too_much_held():
    free, _ = torch.cuda.mem_get_info()
    kept = [torch.empty(256 << 20, dtype=torch.uint8, device="cuda") for _ in range(4)]  # found: out-of-memory
    try:
        torch.empty(1 << 20 if CORRECT else free + (1 << 40), dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        pass
    return kept


main()
