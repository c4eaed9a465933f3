# SPDX-License-Identifier: Apache-2.0
"""Kernels of Triton as its users write them, and what each has to give, computed by NumPy.

Each function of CASES launches one kernel or two, and returns the kernel's result, NumPy's, and how far both may be
apart. Run it by `gpumemtrace --device simulated python3 -m gpumemtrace.simulated`. It is one file: it runs as a script.
"""

import sys

import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, x + y, mask=inside)


@triton.jit
def past_the_end(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at <= n)  # mistake: reads x[n]
    tl.store(out_ptr + at, x, mask=at < n)


@triton.jit
def softmax(out_ptr, x_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=at < n, other=-float("inf"))
    power = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + at, power / tl.sum(power, axis=0), mask=at < n)


@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    kept = tl.rand(seed, at) > p
    tl.store(out_ptr + at, tl.where(kept, x / (1 - p), 0.0), mask=at < n)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    a_at = a_ptr + rows[:, None] * K + inner[None, :]
    b_at = b_ptr + inner[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = K - k * BK
        a = tl.load(a_at, mask=(rows[:, None] < M) & (inner[None, :] < left), other=0.0)
        b = tl.load(b_at, mask=(inner[:, None] < left) & (columns[None, :] < N), other=0.0)
        total = tl.dot(a, b, total)
        a_at += BK
        b_at += BK * N
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total, mask=inside)


@triton.jit
def matmul_int8(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(a_ptr + at[:, None] * N + at[None, :])
    b = tl.load(b_ptr + at[:, None] * N + at[None, :])
    tl.store(c_ptr + at[:, None] * N + at[None, :], tl.dot(a, b))


@triton.jit
def matmul_descriptors(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        total = tl.dot(a.load([row, k * BK]), b.load([column, k * BK]).T, total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def layer_norm(x_ptr, out_ptr, weight_ptr, bias_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for begin in range(0, n, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for begin in range(0, n, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
        x = tl.where(at < n, x - mean, 0.0)
        squares += x * x
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    for begin in range(0, n, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        inside = at < n
        x = tl.load(x_ptr + row * n + at, mask=inside)
        weight = tl.load(weight_ptr + at, mask=inside)
        bias = tl.load(bias_ptr + at, mask=inside)
        tl.store(out_ptr + row * n + at, (x - mean) * scale * weight + bias, mask=inside)


@triton.jit
def weight_gradient(x_ptr, dy_ptr, dw_ptr, lock_ptr, n, BLOCK: tl.constexpr):
    """Rows add to one of two sums, each under a lock, as the tutorial on layer norms does."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < n
    part = tl.load(x_ptr + row * n + at, mask=inside) * tl.load(dy_ptr + row * n + at, mask=inside)
    group = row % 2
    lock = lock_ptr + group
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    part += tl.load(dw_ptr + group * n + at, mask=inside)
    tl.store(dw_ptr + group * n + at, part, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out_ptr, scale, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Causal, with the softmax on the way."""
    start = tl.program_id(0) * BM
    head = tl.program_id(1) * n * D
    rows = start + tl.arange(0, BM)
    inner = tl.arange(0, D)
    q = tl.load(q_ptr + head + rows[:, None] * D + inner[None, :], mask=rows[:, None] < n, other=0.0)
    largest = tl.full([BM], -float("inf"), tl.float32)
    weight = tl.zeros([BM], tl.float32)
    total = tl.zeros([BM, D], tl.float32)
    for begin in range(0, start + BM, BN):
        columns = begin + tl.arange(0, BN)
        k = tl.load(k_ptr + head + columns[None, :] * D + inner[:, None], mask=columns[None, :] < n, other=0.0)
        score = tl.where(rows[:, None] >= columns[None, :], tl.dot(q, k) * (scale * 1.44269504), -float("inf"))
        now = tl.maximum(largest, tl.max(score, 1))
        power = tl.math.exp2(score - now[:, None])
        fade = tl.math.exp2(largest - now)
        weight = weight * fade + tl.sum(power, 1)
        v = tl.load(v_ptr + head + columns[:, None] * D + inner[None, :], mask=columns[:, None] < n, other=0.0)
        total = tl.dot(power.to(tl.float16), v, total * fade[:, None])
        largest = now
    out = (total / weight[:, None]).to(tl.float16)
    tl.store(out_ptr + head + rows[:, None] * D + inner[None, :], out, mask=rows[:, None] < n)


@triton.jit
def arc_sine(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, libdevice.asin(x), mask=at < n)


@triton.jit
def histogram(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.atomic_add(out_ptr + x, 1, mask=at < n)


@triton.jit
def running_sums(x_ptr, sums_ptr, sorted_ptr, best_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(sums_ptr + at, tl.cumsum(x, 0))
    tl.store(sorted_ptr + at, tl.sort(x))
    tl.store(best_ptr, tl.argmax(x, 0))


@triton.jit
def transpose(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at[:, None] * N + at[None, :])
    tl.store(out_ptr + at[:, None] * N + at[None, :], tl.trans(x))


@triton.jit
def grouped_matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr):
    """Blocks by groups of rows, and an activation behind, as the tutorial on products does."""
    rows_of_blocks, columns_of_blocks = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = tl.program_id(0) // (G * columns_of_blocks)
    height = min(rows_of_blocks - group * G, G)
    row = group * G + tl.program_id(0) % (G * columns_of_blocks) % height
    column = tl.program_id(0) % (G * columns_of_blocks) // height
    rows = (row * BM + tl.arange(0, BM)) % M
    columns = (column * BN + tl.arange(0, BN)) % N
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        at = k * BK + inner
        a = tl.load(a_ptr + rows[:, None] * K + at[None, :], mask=at[None, :] < K, other=0.0)
        b = tl.load(b_ptr + at[:, None] * N + columns[None, :], mask=at[:, None] < K, other=0.0)
        total = tl.dot(a, b, total)
    total = tl.where(total >= 0, total, 0.01 * total)
    to_rows, to_columns = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN)
    inside = (to_rows[:, None] < M) & (to_columns[None, :] < N)
    tl.store(c_ptr + to_rows[:, None] * N + to_columns[None, :], total, mask=inside)


@triton.jit
def split_matmul(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, BK: tl.constexpr):
    """Each block a part of the inner dimension; whole numbers, so that the order of sums does not matter."""
    at = tl.arange(0, N)
    inner = tl.program_id(0) * BK + tl.arange(0, BK)
    a = tl.load(a_ptr + at[:, None] * K + inner[None, :])
    b = tl.load(b_ptr + inner[:, None] * N + at[None, :])
    tl.atomic_add(c_ptr + at[:, None] * N + at[None, :], tl.dot(a, b))


@triton.jit
def matmul_fp8(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(a_ptr + at[:, None] * N + at[None, :]).to(tl.float8e4nv)
    b = tl.load(b_ptr + at[:, None] * N + at[None, :]).to(tl.float8e4nv)
    tl.store(c_ptr + at[:, None] * N + at[None, :], tl.dot(a, b))


@triton.jit
def matmul_int4(a_ptr, packed_ptr, scale_ptr, c_ptr, N: tl.constexpr, K: tl.constexpr):
    """Weights of 4 bits, two in a byte, with a scale for each column."""
    at, inner = tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + at[:, None] * K + inner[None, :])
    packed = tl.load(packed_ptr + (inner[:, None] // 2) * N + at[None, :])
    weight = ((packed >> (inner[:, None] % 2 * 4).to(tl.uint8)) & 15).to(tl.float16) - 8
    tl.store(c_ptr + at[:, None] * N + at[None, :], tl.dot(a, weight) * tl.load(scale_ptr + at)[None, :])


@triton.jit
def rms_norm(x_ptr, weight_ptr, out_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
    scale = tl.rsqrt(tl.sum(x * x, 0) / n + eps)
    tl.store(out_ptr + row * n + at, x * scale * tl.load(weight_ptr + at, mask=at < n), mask=at < n)


@triton.jit
def rotate(x_ptr, angle_ptr, out_ptr, HALF: tl.constexpr):
    """Rotary embeddings: pairs of the two halves of a row turn by an angle."""
    row = tl.program_id(0)
    at = tl.arange(0, HALF)
    angle = tl.load(angle_ptr + row * HALF + at)
    sine, cosine = tl.sin(angle), tl.cos(angle)
    x, y = tl.load(x_ptr + row * 2 * HALF + at), tl.load(x_ptr + row * 2 * HALF + HALF + at)
    tl.store(out_ptr + row * 2 * HALF + at, x * cosine - y * sine)
    tl.store(out_ptr + row * 2 * HALF + HALF + at, x * sine + y * cosine)


@triton.jit
def cross_entropy(x_ptr, label_ptr, loss_ptr, slope_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf"))
    label = tl.load(label_ptr + row)
    largest = tl.max(x, 0)
    total = tl.sum(tl.exp(x - largest), 0)
    tl.store(loss_ptr + row, tl.log(total) + largest - tl.load(x_ptr + row * n + label))
    slope = tl.exp(x - largest) / total - tl.where(at == label, 1.0, 0.0)
    tl.store(slope_ptr + row * n + at, slope, mask=at < n)


@triton.jit
def gelu(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, 0.5 * x * (1 + libdevice.tanh(0.7978845608 * (x + 0.044715 * x * x * x))), mask=at < n)


@triton.jit
def step(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def recurrence(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    """h[i] = a[i] * h[i - 1] + b[i], by an associative scan."""
    row = tl.program_id(0)
    at = tl.arange(0, N)
    a, b = tl.load(a_ptr + row * N + at), tl.load(b_ptr + row * N + at)
    tl.store(out_ptr + row * N + at, tl.associative_scan((a, b), 0, step)[1])


@triton.jit
def query_gradient(q_ptr, k_ptr, v_ptr, do_ptr, dq_ptr, scale, N: tl.constexpr, D: tl.constexpr):
    """Backwards through the attention of one head, for its queries."""
    rows, inner = tl.arange(0, N), tl.arange(0, D)
    at = rows[:, None] * D + inner[None, :]
    q, k, v, do = tl.load(q_ptr + at), tl.load(k_ptr + at), tl.load(v_ptr + at), tl.load(do_ptr + at)
    score = tl.dot(q, k.T) * scale
    power = tl.exp(score - tl.max(score, 1)[:, None])
    p = power / tl.sum(power, 1)[:, None]
    dp = tl.dot(do, v.T)
    ds = p * (dp - tl.sum(p * dp, 1)[:, None]) * scale
    tl.store(dq_ptr + at, tl.dot(ds.to(tl.float16), k))


@triton.jit
def convolve(x_ptr, w_ptr, out_ptr, height, width, BLOCK: tl.constexpr):
    """3 x 3, with zeros around."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for dy in tl.static_range(3):
        for dx in tl.static_range(3):
            y, x = row + dy - 1, at + dx - 1
            inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
            total += tl.load(x_ptr + y * width + x, mask=inside, other=0.0) * tl.load(w_ptr + dy * 3 + dx)
    tl.store(out_ptr + row * width + at, total, mask=at < width)


@triton.jit
def largest_by_atomics(x_ptr, most_ptr, least_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.atomic_max(most_ptr + x % 7, x, mask=at < n)
    tl.atomic_min(least_ptr + x % 7, x, mask=at < n)


@triton.jit
def gathered(table_ptr, index_ptr, out_ptr, D: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of a table, as of an embedding."""
    rows = tl.load(index_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    inner = tl.arange(0, D)
    x = tl.load(table_ptr + rows[:, None] * D + inner[None, :])
    to = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + to[:, None] * D + inner[None, :], x)


@triton.jit
def in_assembly(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    """Instructions of PTX by hand: sums of bytes, four at a time."""
    at = tl.arange(0, N)
    total = tl.inline_asm_elementwise(
        "vadd4.u32.u32.u32 $0, $1, $2, 0;", "=r,r,r", [tl.load(x_ptr + at), tl.load(y_ptr + at)], tl.uint8, True, 4
    )
    tl.store(out_ptr + at, total)


class Tensor:
    """As much of PyTorch's tensors of the processor as a tensor's descriptor asks for."""

    def __init__(self, array):
        self.array, self.dtype, self.shape = array, array.dtype, array.shape
        self.device = type("Device", (), {"type": "cpu"})()

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def nbytes(self):
        return self.array.nbytes

    def descriptor(self, *box):
        return TensorDescriptor(self, list(self.shape), [self.shape[1], 1], list(box))


def values(*shape, dtype=np.float32):
    """Multiples of 1/8 between -2 and 2, always the same."""
    count = int(np.prod(shape))
    numbers = np.arange(count, dtype=np.int64) * 2654435761 >> 7
    aligned = np.zeros(count + 64, dtype)
    begin = -aligned.ctypes.data % 64 // aligned.itemsize
    result = aligned[begin : begin + count].reshape(shape)
    result[:] = ((numbers % 33 - 16) / 8).reshape(shape)
    return result.copy() if result.base.dtype == np.float32 else result


def run_add():
    x, y, out = values(1000), values(1000)[::-1].copy(), np.empty(1000, np.float32)
    add[(triton.cdiv(1000, 256),)](x, y, out, 1000, BLOCK=256)
    yield out, x + y, 0


def run_views():
    """Arguments that look into one array: they share its block."""
    all_of_it = values(3, 256)
    before = all_of_it.copy()
    add[(1,)](all_of_it[0], all_of_it[1], all_of_it[2], 256, BLOCK=256)
    yield all_of_it, np.stack([before[0], before[1], before[0] + before[1]]), 0


def run_past_the_end():
    x, out = values(500), np.zeros(500, np.float32)
    past_the_end[(2,)](x, out, 500, BLOCK=256)
    yield out, x, 0


def run_softmax():
    x, out = values(5, 300), np.empty((5, 300), np.float32)
    softmax[(5,)](out, x, 300, 300, BLOCK=512)
    power = np.exp(x - x.max(1, keepdims=True))
    yield out, power / power.sum(1, keepdims=True), 1e-6


def run_dropout():
    x, out, again = np.ones(1000, np.float32), np.empty(1000, np.float32), np.empty(1000, np.float32)
    for result in (out, again):
        dropout[(1,)](x, result, 1000, 0.3, 42, BLOCK=1024)
    yield np.abs(np.mean(out == 0) - 0.3), 0, 0.05
    yield out[out != 0], np.float32(1 / (1 - np.float32(0.3))), 1e-6
    yield again, out, 0


def run_matmul():
    for rows, columns, inner, dtype in ((64, 64, 64, np.float16), (50, 40, 30, np.float16), (32, 32, 32, np.float32)):
        a, b = values(rows, inner, dtype=dtype), values(inner, columns, dtype=dtype)
        c = np.empty((rows, columns), np.float32)
        grid = (triton.cdiv(rows, 64), triton.cdiv(columns, 64))
        matmul[grid](a, b, c, rows, columns, inner, BM=64, BN=64, BK=32, num_stages=3)
        yield c, a.astype(np.float64) @ b.astype(np.float64), 1e-5


def run_matmul_int8():
    a, b = (values(64, 64) * 8).astype(np.int8), (values(64, 64).T * 8).astype(np.int8).copy()
    c = np.empty((64, 64), np.int32)
    matmul_int8[(1,)](a, b, c, N=64)
    yield c, a.astype(np.int64) @ b.astype(np.int64), 0


def run_matmul_descriptors():
    a, b, c = values(64, 96, dtype=np.float16), values(64, 96, dtype=np.float16), values(64, 64, dtype=np.float16)
    boxes = (Tensor(a).descriptor(64, 32), Tensor(b).descriptor(64, 32), Tensor(c).descriptor(64, 64))
    matmul_descriptors[(1, 1)](*boxes, 96, BM=64, BN=64, BK=32)
    yield c, a.astype(np.float64) @ b.astype(np.float64).T, 0.07


def run_layer_norm():
    x, out = values(3, 200), np.empty((3, 200), np.float32)
    weight, bias = values(200), values(200)
    layer_norm[(3,)](x, out, weight, bias, 200, 1e-5, BLOCK=128)
    want = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * weight + bias
    yield out, want, 1e-5


def run_weight_gradient():
    x, dy = values(6, 100), values(6, 100)[::-1].copy()
    sums, locks = np.zeros((2, 100), np.float32), np.zeros(2, np.int32)
    weight_gradient[(6,)](x, dy, sums, locks, 100, BLOCK=128)
    yield sums.sum(0), (x * dy).sum(0), 1e-5


def run_attention():
    q, k, v = values(2, 80, 32, dtype=np.float16), values(2, 80, 32, dtype=np.float16)[::-1].copy(), values(2, 80, 32)
    v, out = v.astype(np.float16), np.empty((2, 80, 32), np.float16)
    attention[(2, 2)](q, k, v, out, 0.25, 80, D=32, BM=64, BN=32)
    score = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) * 0.25
    score = np.where(np.tril(np.ones((80, 80))), score, -np.inf)
    weight = np.exp(score - score.max(-1, keepdims=True))
    yield out, weight / weight.sum(-1, keepdims=True) @ v.astype(np.float64), 2e-3


def run_arc_sine():
    x, out = values(100) / 2, np.empty(100, np.float32)
    arc_sine[(1,)](x, out, 100, BLOCK=128)
    yield out, np.arcsin(x), 1e-6


def run_histogram():
    x, out = (values(1000) * 8 + 16).astype(np.int32), np.zeros(33, np.int32)
    histogram[(4,)](x, out, 1000, BLOCK=256)
    yield out, np.bincount(x, minlength=33), 0


def run_running_sums():
    x = values(256)
    x[77] = 3
    sums, in_order, best = np.empty_like(x), np.empty_like(x), np.zeros(1, np.int32)
    running_sums[(1,)](x, sums, in_order, best, BLOCK=256)
    yield sums, np.cumsum(x), 1e-5
    yield in_order, np.sort(x), 0
    yield best, 77, 0


def run_transpose():
    x, out = values(32, 32), np.empty((32, 32), np.float32)
    transpose[(1,)](x, out, N=32)
    yield out, x.T, 0


def run_grouped_matmul():
    a, b = values(100, 70, dtype=np.float16), values(70, 130, dtype=np.float16)
    c = np.empty((100, 130), np.float32)
    grouped_matmul[(4 * 5,)](a, b, c, 100, 130, 70, BM=32, BN=32, BK=32, G=3)
    want = a.astype(np.float64) @ b.astype(np.float64)
    yield c, np.where(want >= 0, want, 0.01 * want), 1e-4


def run_split_matmul():
    a, b, c = (values(32, 256) * 8).astype(np.float16), (values(256, 32) * 8).astype(np.float16), np.zeros((32, 32))
    c = c.astype(np.float32)
    split_matmul[(4,)](a, b, c, 256, N=32, BK=64)
    yield c, a.astype(np.float64) @ b.astype(np.float64), 0


def run_matmul_fp8():
    a, b, c = values(64, 64), values(64, 64)[::-1].copy(), np.empty((64, 64), np.float32)
    matmul_fp8[(1,)](a, b, c, N=64)
    yield c, a.astype(np.float64) @ b.astype(np.float64), 0.25


def run_matmul_int4():
    a = values(32, 64, dtype=np.float16).copy()
    weight = (np.arange(64 * 32).reshape(64, 32) * 7 % 16).astype(np.uint8)
    packed, scale = (weight[::2] | weight[1::2] << 4).copy(), np.abs(values(32)) + 1
    c = np.empty((32, 32), np.float32)
    matmul_int4[(1,)](a, packed, scale, c, N=32, K=64)
    yield c, a.astype(np.float64) @ (weight.astype(np.float64) - 8) * scale, 1e-3


def run_rms_norm():
    x, weight, out = values(4, 200), values(200), np.empty((4, 200), np.float32)
    rms_norm[(4,)](x, weight, out, 200, 1e-5, BLOCK=256)
    yield out, x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * weight, 1e-5


def run_rotate():
    x, angle, out = values(6, 64), values(6, 32), np.empty((6, 64), np.float32)
    rotate[(6,)](x, angle, out, HALF=32)
    low, high = x[:, :32], x[:, 32:]
    yield out[:, :32], low * np.cos(angle) - high * np.sin(angle), 1e-5
    yield out[:, 32:], low * np.sin(angle) + high * np.cos(angle), 1e-5


def run_cross_entropy():
    x, labels = values(5, 100), np.arange(5, dtype=np.int32) * 19
    loss, slope = np.empty(5, np.float32), np.empty((5, 100), np.float32)
    cross_entropy[(5,)](x, labels, loss, slope, 100, BLOCK=128)
    power = np.exp(x - x.max(1, keepdims=True))
    share = power / power.sum(1, keepdims=True)
    yield loss, -np.log(share[np.arange(5), labels]), 1e-5
    share[np.arange(5), labels] -= 1
    yield slope, share, 1e-6


def run_gelu():
    x, out = values(500), np.empty(500, np.float32)
    gelu[(4,)](x, out, 500, BLOCK=128)
    yield out, 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), 1e-6


def run_recurrence():
    a, b, out = values(3, 128) / 4, values(3, 128)[::-1].copy(), np.empty((3, 128), np.float32)
    recurrence[(3,)](a, b, out, N=128)
    want, before = np.empty((3, 128)), np.zeros(3)
    for i in range(128):
        want[:, i] = before = a[:, i] * before + b[:, i]
    yield out, want, 1e-4


def run_query_gradient():
    q, k, v, do = (values(64, 32, dtype=np.float16).copy() * f for f in (1, 0.5, -1, 0.25))
    q = q[::-1].copy()
    dq = np.empty((64, 32), np.float32)
    query_gradient[(1,)](q, k, v, do, dq, 0.25, N=64, D=32)
    q, k, v, do = (x.astype(np.float64) for x in (q, k, v, do))
    score = q @ k.T * 0.25
    power = np.exp(score - score.max(1, keepdims=True))
    p, dp = power / power.sum(1, keepdims=True), do @ v.T
    yield dq, (p * (dp - (p * dp).sum(1, keepdims=True)) * 0.25) @ k, 2e-3


def run_convolve():
    x, w, out = values(20, 30), values(3, 3), np.empty((20, 30), np.float32)
    convolve[(20,)](x, w, out, 20, 30, BLOCK=32)
    around = np.pad(x, 1).astype(np.float64)
    yield out, sum(around[y : y + 20, x : x + 30] * w[y, x] for y in range(3) for x in range(3)), 1e-4


def run_largest_by_atomics():
    x = (values(1000) * 1000 + 2000).astype(np.int32) + np.arange(1000, dtype=np.int32)
    most, least = np.full(7, -1, np.int32), np.full(7, 1 << 30, np.int32)
    largest_by_atomics[(4,)](x, most, least, 1000, BLOCK=256)
    yield most, [x[x % 7 == r].max() for r in range(7)], 0
    yield least, [x[x % 7 == r].min() for r in range(7)], 0


def run_gathered():
    table, index = values(50, 64), (np.arange(32, dtype=np.int64) * 37 % 50).copy()
    out = np.empty((32, 64), np.float32)
    gathered[(2,)](table, index, out, D=64, BLOCK=16)
    yield out, table[index], 0


def run_in_assembly():
    x = (np.arange(256) * 73 % 251).astype(np.uint8)
    y, out = x[::-1].copy(), np.empty(256, np.uint8)
    in_assembly[(1,)](x, y, out, N=256)
    yield out, (x.astype(np.int32) + y) % 256, 0


CASES = {name.removeprefix("run_"): case for name, case in list(globals().items()) if name.startswith("run_")}


def main(names):
    wrong = 0
    for name in names or CASES:
        for got, want, most in CASES[name]():
            apart = np.max(np.abs(np.asarray(got, np.float64) - want), initial=0)
            print(f"{name}: apart by {apart:.3g}, {'right' if apart <= most else 'WRONG'}", flush=True)
            wrong += not apart <= most
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
