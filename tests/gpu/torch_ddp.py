# SPDX-License-Identifier: Apache-2.0
"""Trains a small model with DistributedDataParallel, in two processes. Exit status: as torch_train.py.

The processes talk by NCCL, whose kernels wait for one another: whatever waits for a kernel in one process waits for the other.
They share the GPU where there is only one.
"""

import os
import socket
import sys

from planted_leak import keep_a_block

try:
    import torch
    import torch.distributed
    import torch.multiprocessing
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(77)


def share_one_gpu(rank):
    """NCCL refuses two ranks on one GPU of a host. As ranks of two hosts they talk through sockets."""
    os.environ.update(NCCL_HOSTID=f"host {rank}", NCCL_SOCKET_IFNAME="lo", NCCL_IB_DISABLE="1")


def train(rank, ranks, port, word):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    gpus = torch.cuda.device_count()
    if gpus < ranks:
        share_one_gpu(rank)
    device = rank % gpus
    torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=ranks)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1)).cuda()
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    inputs = torch.randn(256, 1024, device="cuda")
    losses = []
    for step in range(200):
        optimizer.zero_grad()
        loss = (model(inputs) - 1).square().mean()
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == 199:
            losses.append(loss.item())
    print(f"rank {rank}: loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    assert losses[-1] < losses[0]
    torch.distributed.destroy_process_group()
    if rank == 0 and word == "leak":
        keep_a_block()


def main():
    if not torch.cuda.is_available():
        print("skipped: PyTorch sees no GPU")
        sys.exit(77)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    word = sys.argv[1] if len(sys.argv) > 1 else "0"
    torch.multiprocessing.spawn(train, args=(2, port, word), nprocs=2)
    sys.exit(0 if word == "leak" else int(word))


if __name__ == "__main__":
    main()
