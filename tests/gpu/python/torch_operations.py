# SPDX-License-Identifier: Apache-2.0
"""Many operations of PyTorch, by the library that does them: torch_operations.py GROUP

Nothing is wrong with any of them, so no report may have an error or a warning. Exit status: 0, 77 without PyTorch or GPU.
"""
# run: linear
# expect: clean
# run: networks
# expect: clean
# run: others
# expect: clean
# run: linear
# options: --guard
# expect: clean
# run: networks
# options: --guard=tensors
# expect: clean
# run: others
# options: --guard=tensors
# expect: clean

import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_torch import torch

F = torch.nn.functional
warnings.simplefilter("ignore")  # beta states of sparse tensors


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def products():  # cuBLAS, cuBLASLt
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64):
        for rows, inner, columns in ((1, 4096, 1), (7, 333, 5), (64, 256, 1), (512, 512, 512), (32, 16384, 32)):
            a, b = random(rows, inner, dtype=dtype), random(inner, columns, dtype=dtype)
            (a @ b).abs().sum()
            torch.addmm(random(columns, dtype=dtype), a, b, beta=0.5, alpha=2)
            torch.bmm(a.expand(3, -1, -1), b.expand(3, -1, -1))
            torch.mv(a, b[:, 0])
    F.linear(random(64, 256), random(1, 256), random(1))
    torch._int_mm(
        torch.ones(32, 64, device="cuda", dtype=torch.int8), torch.ones(64, 32, device="cuda", dtype=torch.int8)
    )


def factorizations():  # cuSOLVER, MAGMA
    for size in (3, 64, 200):
        a = random(size, size)
        spd = a @ a.T + size * torch.eye(size, device="cuda")
        torch.linalg.cholesky(spd)
        torch.linalg.qr(a)
        torch.linalg.svd(a)
        torch.linalg.eigh(spd)
        torch.linalg.solve(spd, random(size, 2))
        torch.linalg.inv(spd)
        torch.linalg.det(a)
        torch.linalg.lstsq(random(size * 2, size), random(size * 2, 1))
        torch.cholesky_solve(random(size, 1), torch.linalg.cholesky(spd))
    torch.linalg.eig(random(16, 16))
    torch.linalg.inv(random(5, 8, 8) + 8 * torch.eye(8, device="cuda"))


def sparse():  # cuSPARSE
    dense = random(128, 128) * (random(128, 128) > 1)
    csr = dense.to_sparse_csr()
    csr @ random(128, 8)
    csr @ random(128)
    dense.to_sparse() @ random(128, 8)
    torch.sparse.mm(dense.to_sparse(), dense.to_sparse())
    (csr + csr).to_dense()


def transforms():  # cuFFT
    for shape in ((1024,), (37,), (16, 100), (8, 16, 32)):
        a = random(*shape)
        torch.fft.irfftn(torch.fft.rfftn(a), s=shape)
        torch.fft.fftn(a.to(torch.complex64))
    torch.stft(random(4000), 256, return_complex=True, window=torch.hann_window(256, device="cuda"))


def convolutions():  # cuDNN
    for channels_last in (False, True):
        for dtype in (torch.float32, torch.float16):
            model = torch.nn.Sequential(
                torch.nn.Conv2d(3, 16, 3, padding=1),
                torch.nn.BatchNorm2d(16),
                torch.nn.ReLU(),
                torch.nn.MaxPool2d(2),
                torch.nn.Conv2d(16, 32, 3, groups=4),
                torch.nn.AdaptiveAvgPool2d(1),
                torch.nn.Flatten(),
                torch.nn.Linear(32, 10),
            ).to("cuda", dtype)
            images = random(8, 3, 32, 32, dtype=dtype)
            if channels_last:
                model, images = (
                    model.to(memory_format=torch.channels_last),
                    images.to(memory_format=torch.channels_last),
                )
            F.cross_entropy(model(images), torch.arange(8, device="cuda")).backward()
    torch.nn.Conv1d(4, 8, 5).cuda()(random(2, 4, 50)).sum().backward()
    torch.nn.ConvTranspose3d(4, 2, 3, stride=2).cuda()(random(1, 4, 5, 5, 5)).sum().backward()


def sequences():  # cuDNN's recurrent networks, attention, embeddings
    for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        kind(32, 64, num_layers=2, bidirectional=True, dropout=0.1).cuda()(random(10, 4, 32))[0].sum().backward()
    for dtype in (torch.float32, torch.float16):
        q, k, v = (random(2, 8, 128, 64, dtype=dtype).requires_grad_() for _ in range(3))
        F.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
    layer = torch.nn.TransformerEncoderLayer(64, 4, batch_first=True).cuda()
    layer(random(2, 16, 64)).sum().backward()
    layer.eval()(random(2, 16, 64))
    words = torch.randint(0, 100, (4, 20), device="cuda")
    torch.nn.Embedding(100, 32).cuda()(words).sum().backward()
    torch.nn.EmbeddingBag(100, 32).cuda()(words).sum().backward()
    F.ctc_loss(random(50, 4, 20).log_softmax(2), torch.randint(1, 20, (4, 10), device="cuda"), (50,) * 4, (10,) * 4)


def optimizers():
    for make in (torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad, torch.optim.RMSprop, torch.optim.NAdam):
        model = torch.nn.Linear(64, 64).cuda()
        optimizer = make(model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            model(random(16, 64)).square().mean().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    model = torch.nn.Linear(64, 64).cuda()
    fused = torch.optim.Adam(model.parameters(), fused=True)
    model(random(16, 64)).sum().backward()
    fused.step()


def indexing():  # Thrust, CUB
    a = random(1000, 50)
    a.sort(0), a.sort(1), a.topk(5), a.unique(), a.median(), a.kthvalue(3), a.mode()
    a[a > 0], a.nonzero(), a.cumsum(0), a.cumprod(1), a.argmax(1), a.logcumsumexp(0)
    index = torch.randint(0, 1000, (5000,), device="cuda")
    a[index], a.index_add_(0, index, random(5000, 50)), a.index_select(0, index)
    torch.zeros(1000, device="cuda").scatter_add_(0, index, random(5000))
    torch.bincount(index), torch.histc(a), torch.searchsorted(a[:, 0].sort()[0], a[:, 1])
    torch.unique_consecutive(index.sort()[0], return_counts=True)
    torch.repeat_interleave(index[:10], 3), torch.combinations(index[:10])
    F.grid_sample(random(2, 3, 8, 8), random(2, 4, 4, 2).tanh()), F.interpolate(random(2, 3, 8, 8), scale_factor=2)


def numbers():  # cuRAND's kernels, scans, reductions
    (
        torch.rand(1000, device="cuda"),
        torch.randperm(100000, device="cuda"),
        torch.multinomial(torch.ones(50, device="cuda"), 9),
    )
    torch.distributions.Gamma(torch.ones(100, device="cuda"), 1.0).sample()
    torch.distributions.Dirichlet(torch.ones(100, device="cuda")).sample()
    a = random(300, 300)
    a.std(), a.var(0), a.norm(), a.logsumexp(1), a.softmax(0), a.log_softmax(1), torch.cdist(a, a), a.prod(), a.erfinv()
    a.to(torch.float8_e4m3fn), a.cpu(), a.pin_memory() if not a.is_cuda else None, a.half().float(), a.T.contiguous()


def streams():
    streams = [torch.cuda.Stream() for _ in range(4)]
    parts = []
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            part = random(256, 256)
            parts.append(part @ part)
            part.record_stream(stream)
    for stream in streams:
        torch.cuda.current_stream().wait_stream(stream)
    sum(parts).sum().item()
    host = torch.empty(1 << 20).pin_memory()
    host.copy_(torch.ones(1 << 20, device="cuda"), non_blocking=True)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


GROUPS = {
    "linear": (products, factorizations, sparse, transforms),
    "networks": (convolutions, sequences, optimizers),
    "others": (indexing, numbers, streams),
}

if __name__ == "__main__":
    torch.manual_seed(0)
    for operations in GROUPS[sys.argv[1]]:
        operations()
        torch.cuda.synchronize()
