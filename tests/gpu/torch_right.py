# SPDX-License-Identifier: Apache-2.0
"""More training without a mistake: what fills up to a bound, second derivatives, graphs, pools and streams that are in
order. torch_right.py NAME. Without a word it prints the names. check_torch_mistakes.py runs them all: no finding.
"""

import collections
import copy
import os

from gpu_torch import torch
from torch import nn
from torch_cases import STEPS, Training, main, mistake


@mistake
def history_of_an_optimizer():
    """LBFGS keeps as many steps as it was asked for."""
    training = Training(width=128)
    batch = next(training.batches())[:, :128].contiguous()
    optimizer = torch.optim.LBFGS(training.model.parameters(), history_size=50, max_iter=1)

    def closure():
        optimizer.zero_grad()
        loss = (training.model(batch) - batch).square().mean()
        loss.backward()
        return loss

    for _ in range(250):
        optimizer.step(closure)


@mistake
def learning_to_learn():
    """Second derivatives through three inner steps."""
    training = Training(width=128, layers=2)
    names, weights = zip(*training.model.named_parameters(), strict=True)
    for batch in training.batches():
        fast = list(weights)
        for _ in range(3):
            result = torch.func.functional_call(training.model, dict(zip(names, fast, strict=True)), batch)
            slopes = torch.autograd.grad((result - batch).square().mean(), fast, create_graph=True)
            fast = [weight - 0.1 * slope for weight, slope in zip(fast, slopes, strict=True)]
        training.optimizer.zero_grad()
        result = torch.func.functional_call(training.model, dict(zip(names, fast, strict=True)), batch)
        (result - batch).square().mean().backward()
        training.optimizer.step()


@mistake
def derivatives_by_functions():
    weight = torch.randn(64, 64, device="cuda")
    for _ in range(STEPS):
        rows = torch.randn(16, 64, device="cuda")
        torch.func.vmap(torch.func.jacrev(lambda row: torch.tanh(weight @ row)))(rows).sum().item()


@mistake
def best_model_is_kept():
    training, best, least = Training(), None, float("inf")
    for step, batch in enumerate(training.batches()):
        loss = training.step(batch)
        if step % 10 == 9 and loss.item() < least:
            least, best = loss.item(), copy.deepcopy(training.model.state_dict())
    return best


@mistake
def averages_that_move():
    training = Training()
    average = torch.optim.swa_utils.AveragedModel(training.model, avg_fn=lambda old, new, _: 0.9 * old + 0.1 * new)
    for batch in training.batches():
        training.step(batch)
        average.update_parameters(training.model)


@mistake
def replay_that_fills():
    training, memory = Training(), collections.deque(maxlen=60)
    for batch in training.batches(300):
        memory.append((batch[:16].clone(), batch[16:32].clone()))
        training.step(torch.cat([memory[i % len(memory)][0] for i in range(8)]))


@mistake
def sparse_tables():
    table = nn.EmbeddingBag(5000, 64, sparse=True).cuda()
    optimizer = torch.optim.SparseAdam(table.parameters())
    for step in range(STEPS):
        words = torch.randint(0, 5000, (32 + step % 7, 12), device="cuda")
        optimizer.zero_grad()
        table(words).square().mean().backward()
        optimizer.step()


@mistake
def rows_of_any_length():
    encoder = nn.TransformerEncoderLayer(64, 4, batch_first=True).cuda()
    optimizer = torch.optim.Adam(encoder.parameters())
    for step in range(STEPS):
        lengths = torch.randint(4, 100, (16,), generator=torch.Generator().manual_seed(step))
        rows = nn.utils.rnn.pad_sequence([torch.randn(n, 64) for n in lengths.tolist()], batch_first=True)
        hidden = torch.arange(rows.shape[1])[None] >= lengths[:, None]
        optimizer.zero_grad()
        encoder(rows.cuda(), src_key_padding_mask=hidden.cuda()).square().mean().backward()
        optimizer.step()


@mistake
def compiled_for_any_length():
    training = Training(width=64)
    model = torch.compile(training.model, dynamic=True)
    for step in range(100):
        training.optimizer.zero_grad()
        model(torch.randn(16 + step % 40, 64, device="cuda")).square().mean().backward()
        training.optimizer.step()


@mistake
def functions_made_graphs():
    model = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 128)).cuda()
    graphed = torch.cuda.make_graphed_callables(model, (torch.randn(64, 128, device="cuda"),))
    optimizer = torch.optim.SGD(graphed.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        graphed(torch.randn(64, 128, device="cuda")).square().mean().backward()
        optimizer.step()


@mistake
def pool_that_is_dropped():
    training = Training()
    for step, batch in enumerate(training.batches()):
        if step % 20 == 0:
            pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            doubled = batch * 2
        training.step(doubled)
        del doubled


@mistake
def streams_in_order_by_events():
    side, weight = torch.cuda.Stream(), torch.randn(1024, 1024, device="cuda")
    for _ in range(STEPS):
        batch = torch.randn(1024, 1024, device="cuda")
        side.wait_event(torch.cuda.current_stream().record_event())
        with torch.cuda.stream(side):
            product = batch @ weight
            done = side.record_event()
        torch.cuda.current_stream().wait_event(done)
        result = product + batch
        product.record_stream(torch.cuda.current_stream())
        del batch, product
    return result


@mistake
def losses_copied_by_a_stream():
    """Figures go to the host on a stream of their own, and are read a step later."""
    training, side = Training(), torch.cuda.Stream()
    host, last = [torch.zeros(1).pin_memory() for _ in range(2)], None
    for step, batch in enumerate(training.batches()):
        loss = training.step(batch).detach()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            host[step % 2].copy_(loss, non_blocking=True)
            loss.record_stream(side)
            done = side.record_event()
        if last is not None:
            last[1].synchronize()
            last[0].item()
        last = host[step % 2], done


@mistake
def processes_by_gloo():
    from torch.distributed import destroy_process_group, init_process_group

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    init_process_group("gloo", rank=0, world_size=1, store=torch.distributed.HashStore())
    training = Training()
    training.model = nn.parallel.DistributedDataParallel(training.model, device_ids=[0])
    for batch in training.batches():
        training.step(batch)
    destroy_process_group()


@mistake
def mixed_precision_that_overflows():
    """Steps with infinite gradients are left out."""
    training, scaler = Training(), torch.amp.GradScaler(init_scale=2.0**40)
    for batch in training.batches():
        training.optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = (training.model(batch) - batch).square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(training.optimizer)
        nn.utils.clip_grad_norm_(training.model.parameters(), 1.0)
        scaler.step(training.optimizer)
        scaler.update()


main()
