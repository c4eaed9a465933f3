# SPDX-License-Identifier: Apache-2.0
"""Training and inference without a mistake, as many programs do it: torch_correct.py NAME. Without a word it prints the names.

A report on any of them has no finding. Exit status 77 without PyTorch or GPU. check_torch_mistakes.py runs them all.
"""

import collections
import os
import sys

from gpu_torch import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.project, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        rows, length, width = x.shape
        shape = rows, length, self.heads, width // self.heads
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.project(x).chunk(3, dim=-1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.join(mixed.transpose(1, 2).reshape(rows, length, width))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.feed(self.second(x))


class Language(nn.Module):
    """As GPT-2, small."""

    def __init__(self, tokens=2048, width=256, layers=4, checkpoints=False):
        super().__init__()
        self.words, self.places = nn.Embedding(tokens, width), nn.Embedding(512, width)
        self.layers = nn.ModuleList(Layer(width, 8) for _ in range(layers))
        self.end, self.tokens, self.checkpoints = nn.LayerNorm(width), tokens, checkpoints

    def forward(self, words):
        x = self.words(words) + self.places.weight[: words.shape[1]]
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.checkpoints else layer(x)
        return functional.linear(self.end(x), self.words.weight)

    def loss(self, words):
        guessed = self(words[:, :-1])
        return functional.cross_entropy(guessed.reshape(-1, self.tokens), words[:, 1:].reshape(-1))


def train(model, steps=120, length=lambda _: 128, clip=1.0, scaler=None, after=None):
    module = getattr(model, "module", model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for step in range(steps):
        words = torch.randint(0, module.tokens, (8, length(step) + 1), device="cuda")
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.float16, enabled=scaler is not None):
            guessed = model(words[:, :-1])
            loss = functional.cross_entropy(guessed.float().reshape(-1, module.tokens), words[:, 1:].reshape(-1))
        if scaler is None:
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        schedule.step()
        if step % 10 == 0:
            losses.append(loss.item())
        if after is not None:
            after(step)
    return losses


@program
def language_model():
    train(Language().cuda(), steps=300)


@program
def mixed_precision():
    train(Language().cuda(), scaler=torch.amp.GradScaler())


@program
def gradient_checkpointing():
    train(Language(checkpoints=True).cuda())


@program
def ragged_batches():
    lengths = torch.randint(16, 256, (200,), generator=torch.Generator().manual_seed(1)).tolist()
    train(Language().cuda(), steps=200, length=lambda step: lengths[step])


@program
def longer_and_longer_batches():  # a curriculum
    train(Language().cuda(), steps=200, length=lambda step: 32 + step)


@program
def evaluation_now_and_then():
    model = Language().cuda()
    best, history = {}, collections.deque(maxlen=5)

    def after(step):
        if step % 25 != 24:
            return
        model.eval()
        with torch.no_grad():
            losses = [model.loss(torch.randint(0, 2048, (16, 200), device="cuda")) for _ in range(6)]
            history.append(torch.stack(losses).mean().item())
        best.update({name: value.detach().clone() for name, value in model.state_dict().items()})
        torch.cuda.empty_cache()
        model.train()

    train(model, steps=200, after=after)


@program
def compiled():
    train(torch.compile(Language(layers=2).cuda()), steps=60)


@program
def compiled_with_graphs():
    train(torch.compile(Language(layers=2).cuda(), mode="reduce-overhead"), steps=60)


@program
def distributed():
    from torch.distributed import destroy_process_group, init_process_group

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    store = torch.distributed.HashStore()
    init_process_group("nccl", rank=0, world_size=1, store=store, device_id=torch.device("cuda", 0))
    train(nn.parallel.DistributedDataParallel(Language().cuda(), device_ids=[0]))
    destroy_process_group()


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.path = nn.Sequential(
            *(nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()),
            *(nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)),
        )

    def forward(self, x):
        return functional.relu(x + self.path(x))


def pictures_model():
    first = nn.Conv2d(3, 32, 3, stride=2, padding=1)
    last = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    return nn.Sequential(first, *(Residual(32) for _ in range(4)), *last).cuda()


class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 32 * 60

    def __getitem__(self, index):
        return torch.randn(3, 64, 64, generator=torch.Generator().manual_seed(index)), index % 10


@program
def workers_and_pinned_memory():
    model = pictures_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    for _ in range(2):
        loader = torch.utils.data.DataLoader(Pictures(), batch_size=32, num_workers=3, pin_memory=True, shuffle=True)
        running = torch.zeros((), device="cuda")
        for pictures, labels in loader:
            x, y = pictures.cuda(non_blocking=True), labels.cuda(non_blocking=True)
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.detach()
        print(running.item() / len(loader))


@program
def prefetched_batches():
    """The next batch is copied on a stream of its own while the present one trains."""
    model, side = pictures_model(), torch.cuda.Stream()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    pinned = [torch.randn(32, 3, 64, 64).pin_memory() for _ in range(4)]

    def copy(step):
        with torch.cuda.stream(side):
            return pinned[step % 4].to("cuda", non_blocking=True)

    following = copy(0)
    for step in range(120):
        torch.cuda.current_stream().wait_stream(side)
        batch = following
        batch.record_stream(torch.cuda.current_stream())
        following = copy(step + 1)
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


@program
def accumulated_gradients():
    model = pictures_model()
    optimizer = torch.optim.RMSprop(model.parameters())
    average = torch.optim.swa_utils.AveragedModel(model)
    for step in range(160):
        loss = model(torch.randn(8, 3, 64, 64, device="cuda")).square().mean() / 4
        loss.backward()
        if step % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
            average.update_parameters(model)


@program
def captured_steps():
    model, given = pictures_model(), torch.randn(32, 3, 64, 64, device="cuda")
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = model(given).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for _ in range(150):
        given.copy_(torch.randn(32, 3, 64, 64))
        graph.replay()
    print(loss.item())


@program
def recurrent_in_pieces():
    network, state = nn.LSTM(64, 128, num_layers=2).cuda(), None
    optimizer = torch.optim.Adagrad(network.parameters())
    for _ in range(200):
        result, state = network(torch.randn(20, 16, 64, device="cuda"), state)
        optimizer.zero_grad()
        result.square().mean().backward()
        optimizer.step()
        state = tuple(part.detach() for part in state)


@program
def two_networks():
    maker, judge = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 256)).cuda(), nn.Linear(256, 1).cuda()
    of_maker, of_judge = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
    samples = collections.deque(maxlen=30)
    for _ in range(150):
        made = maker(torch.randn(128, 64, device="cuda"))
        samples.append(made.detach())
        of_judge.zero_grad()
        (judge(torch.randn(128, 256, device="cuda")) - judge(samples[0])).mean().backward()
        of_judge.step()
        of_maker.zero_grad()
        (-judge(made).mean()).backward()
        of_maker.step()


@program
def offloaded_activations():
    model = pictures_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(60):
        optimizer.zero_grad()
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            loss = model(torch.randn(16, 3, 64, 64, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()


@program
def profiled():
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        train(Language(layers=2).cuda(), steps=20)
    print(len(profile.key_averages()))


@program
def text_that_is_made():  # a cache of keys and values that grows with each token and is dropped with each text
    width, attention = 256, nn.MultiheadAttention(256, 8, batch_first=True).cuda()
    with torch.inference_mode():
        for _ in range(12):
            known = torch.randn(4, 1, width, device="cuda")
            for _ in range(64):
                result, _ = attention(known[:, -1:], known, known)
                known = torch.cat([known, result], dim=1)


if len(sys.argv) == 1:
    print("\n".join(PROGRAMS))
    sys.exit(0)
torch.manual_seed(0)
PROGRAMS[sys.argv[1]]()
torch.cuda.synchronize()
print(f"{sys.argv[1]}: {torch.cuda.max_memory_allocated() >> 20} MiB at the peak")
