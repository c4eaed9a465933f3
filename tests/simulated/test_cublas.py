# SPDX-License-Identifier: Apache-2.0
"""The simulated cuBLAS: its results are those of plain loops, and mistakes in its arguments are findings."""

import concurrent.futures
import ctypes
import itertools
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

COMMAND = os.environ["GMT_COMMAND"]
PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
FORMATS = {"S": "f", "D": "d", "H": "e", "I": "i", "B": "b"}
NOT_SUPPORTED, INVALID_VALUE = 15, 7
R_32F, R_64F, R_16F, R_8I, R_32I = 0, 1, 2, 3, 10
COMPUTE_16F, COMPUTE_32F, COMPUTE_64F, COMPUTE_32I = 64, 68, 70, 72


# ---- the program, which runs under the command


def numbers(count, first=0):
    """Small ones, which all types can hold, and their products, too."""
    return [float((first + 7 * i) % 11 - 5) for i in range(count)]


class Blas:
    def __init__(self):
        from gpumemtrace._device import Device

        self.device = Device()
        self.library = ctypes.CDLL("libcublas.so.13")
        self.handle = ctypes.c_void_p()
        self.must("Create_v2", ctypes.byref(self.handle))

    def call(self, name, *words):
        return getattr(self.library, "cublas" + name)(*words)

    def must(self, name, *words):
        status = self.call(name, *words)
        assert status == 0, f"cublas{name} answers {status}"

    def put(self, values, kind="S"):
        data = struct.pack(f"{len(values)}{FORMATS[kind]}", *map(int if kind in "IB" else float, values))
        address = self.device.allocate(len(data))
        buffer = ctypes.create_string_buffer(data, len(data))
        self.device.to_device(address, ctypes.addressof(buffer), len(data))
        return ctypes.c_uint64(address)

    def get(self, address, count, kind="S"):
        size = count * struct.calcsize(FORMATS[kind])
        buffer = ctypes.create_string_buffer(size)
        self.device.to_host(ctypes.addressof(buffer), address.value, size)
        self.device.free(address.value)
        return list(struct.unpack(f"{count}{FORMATS[kind]}", buffer.raw))


def number(value, kind="S"):
    return ctypes.create_string_buffer(struct.pack(FORMATS[kind], int(value) if kind in "IB" else value))


def element(values, leading, transposed, i, j):
    return values[j + i * leading] if transposed else values[i + j * leading]


def product(a, lda, ta, b, ldb, tb, c, ldc, sizes, alpha, beta):
    m, n, k = sizes
    result = list(c)
    for i, j in itertools.product(range(m), range(n)):
        total = sum(element(a, lda, ta, i, p) * element(b, ldb, tb, p, j) for p in range(k))
        result[i + j * ldc] = alpha * total + (beta * c[i + j * ldc] if beta else 0)
    return result


def check_gemm(blas):
    m, n, k, lda, ldb, ldc = 5, 4, 3, 7, 6, 9
    a, b, c = numbers(lda * 7), numbers(ldb * 7, 3), numbers(ldc * n, 5)
    for kind, ta, tb, beta in itertools.product("SDH", (0, 1, 2), (0, 1), (0.0, 2.0)):
        given = [blas.put(values, kind) for values in (a, b, c)]
        name = "Hgemm" if kind == "H" else kind + "gemm_v2"
        scalars = [number(0.5, kind), number(beta, kind)]
        blas.must(
            name, blas.handle, ta, tb, m, n, k, scalars[0], given[0], lda, given[1], ldb, scalars[1], given[2], ldc
        )
        assert blas.get(given[2], len(c), kind) == product(a, lda, ta, b, ldb, tb, c, ldc, (m, n, k), 0.5, beta)
        for address in given[:2]:
            blas.device.free(address.value)
    assert blas.call("Sgemm_v2", blas.handle, 0, 0, m, n, k, None, None, 4, None, k, None, None, m) == INVALID_VALUE


def check_mixed(blas):
    m, n, k, batch = 3, 4, 5, 3
    cases = (
        (R_16F, "H", R_32F, "S", COMPUTE_32F, "S"),
        (R_16F, "H", R_16F, "H", COMPUTE_16F, "H"),
        (R_32F, "S", R_32F, "S", COMPUTE_32F, "S"),
        (R_64F, "D", R_64F, "D", COMPUTE_64F, "D"),
        (R_8I, "B", R_32I, "I", COMPUTE_32I, "I"),
    )
    a, b, c = (numbers(size * batch, size) for size in (m * k, k * n, m * n))
    want = []
    for i in range(batch):
        parts = (a[i * m * k :], b[i * k * n :], c[i * m * n : (i + 1) * m * n])
        want += product(parts[0], m, 0, parts[1], k, 0, parts[2], m, (m, n, k), 2, 1)
    for ab, ab_kind, ct, c_kind, compute, scalar in cases:
        x, y, z = blas.put(a, ab_kind), blas.put(b, ab_kind), blas.put(c, c_kind)
        alpha, beta = number(2, scalar), number(1, scalar)
        steps = [ctypes.c_longlong(step) for step in (m * k, k * n, m * n)]
        blas.must(
            "GemmStridedBatchedEx", blas.handle, 0, 0, m, n, k, alpha, x, ab, m, steps[0], y, ab, k, steps[1], beta, z,
            ct, m, steps[2], batch, compute, -1
        )  # fmt: skip
        assert blas.get(z, len(c), c_kind) == want, compute
        z = blas.put(c, c_kind)
        size, c_size = struct.calcsize(FORMATS[ab_kind]), struct.calcsize(FORMATS[c_kind])
        lists = [
            ctypes.c_uint64(blas.put_addresses([base.value + i * step for i in range(batch)]))
            for base, step in ((x, m * k * size), (y, k * n * size), (z, m * n * c_size))
        ]
        blas.must(
            "GemmBatchedEx", blas.handle, 0, 0, m, n, k, alpha, lists[0], ab, m, lists[1], ab, k, beta, lists[2], ct,
            m, batch, compute, -1
        )  # fmt: skip
        for address in (*lists, x, y):
            blas.device.free(address.value)
        assert blas.get(z, len(c), c_kind) == want, compute


def check_triangles(blas):
    m, n = 4, 3
    for kind, side, fill, operation, diagonal in itertools.product("SD", (0, 1), (0, 1), (0, 1), (0, 1)):
        order = n if side else m
        lda, ldb = order + 1, m + 2
        a = [float(2 + (3 * i) % 4) for i in range(lda * order)]
        x = numbers(ldb * n)

        def triangle(i, j, a=a, lda=lda, fill=fill, operation=operation, diagonal=diagonal):
            if operation:
                i, j = j, i
            if i == j and diagonal:
                return 1.0
            return a[i + j * lda] if (i >= j) == (fill == 0) or i == j else 0.0

        b = list(x)
        for i, j in itertools.product(range(m), range(n)):
            if side:
                b[i + j * ldb] = sum(x[i + p * ldb] * triangle(p, j) for p in range(n))
            else:
                b[i + j * ldb] = sum(triangle(i, p) * x[p + j * ldb] for p in range(m))
        given = blas.put(a, kind), blas.put(b, kind)
        half = number(0.5, kind)
        blas.must(
            kind + "trsm_v2", blas.handle, side, fill, operation, diagonal, m, n, half, given[0], lda, given[1], ldb
        )
        got = blas.get(given[1], len(b), kind)
        blas.device.free(given[0].value)
        for i, j in itertools.product(range(m), range(n)):
            assert abs(got[i + j * ldb] - 0.5 * x[i + j * ldb]) < 1e-3, (kind, side, fill, operation, diagonal)


def check_vectors(blas):
    count = 700
    x, y = numbers(2 * count), numbers(3 * count, 4)
    xs, ys = x[::2], y[::-3][:count]  # a negative step begins at the end
    ys = [y[(count - 1 - i) * 3] for i in range(count)]
    for kind in "SD":
        gx, gy = blas.put(x, kind), blas.put(y, kind)
        result, place = number(0, kind), ctypes.c_int()

        def value(result=result, kind=kind):
            return struct.unpack(FORMATS[kind], result.raw[: struct.calcsize(FORMATS[kind])])[0]

        blas.must(kind + "dot_v2", blas.handle, count, gx, 2, gy, -3, result)
        assert value() == sum(p * q for p, q in zip(xs, ys, strict=True))
        blas.must(kind + "asum_v2", blas.handle, count, gx, 2, result)
        assert value() == sum(map(abs, xs))
        blas.must(kind + "nrm2_v2", blas.handle, count, gx, 2, result)
        assert abs(value() ** 2 / sum(p * p for p in xs) - 1) < 1e-6
        for name, best in (("amax", max), ("amin", min)):
            blas.must(f"I{kind.lower()}{name}_v2", blas.handle, count, gx, 2, ctypes.byref(place))
            assert place.value == 1 + list(map(abs, xs)).index(best(map(abs, xs)))
        blas.must(kind + "axpy_v2", blas.handle, count, number(2, kind), gx, 2, gy, -3)
        blas.must(kind + "scal_v2", blas.handle, count, number(-1, kind), gx, 2)
        blas.must(kind + "swap_v2", blas.handle, count, gx, 2, gy, -3)
        got = blas.get(gx, len(x), kind)
        assert got[::2] == [q + 2 * p for p, q in zip(xs, ys, strict=True)] and got[1::2] == x[1::2]
        assert [blas.get(gy, len(y), kind)[(count - 1 - i) * 3] for i in range(1)] == [-xs[0]]


def check_zeros(blas):
    """Where alpha is zero, operands are not read: nothing has written them."""
    n = 4
    unwritten = [ctypes.c_uint64(blas.device.allocate(4 * n * n)) for _ in range(2)]
    a, b = unwritten
    blas.must("Strsm_v2", blas.handle, 0, 0, 0, 0, n, n, number(0), a, n, b, n)
    assert blas.get(b, n * n) == [0] * (n * n)
    y = blas.put(numbers(n))
    blas.must("Saxpy_v2", blas.handle, n, number(0), a, 1, y, 1)
    assert blas.get(y, n) == numbers(n)
    blas.device.free(a.value)


def check_others(blas):
    m, n, lda = 4, 3, 6
    a, x, y = numbers(lda * n), numbers(2 * n, 2), numbers(m, 1)
    ga, gx, gy = blas.put(a), blas.put(x), blas.put(y)
    alpha, beta = blas.put([2]), blas.put([3])
    blas.must("SetPointerMode_v2", blas.handle, 1)
    blas.must("Sgemv_v2", blas.handle, 0, m, n, alpha, ga, lda, gx, 2, beta, gy, 1)
    blas.must("SetPointerMode_v2", blas.handle, 0)
    want = [2 * sum(a[i + j * lda] * x[2 * j] for j in range(n)) + 3 * y[i] for i in range(m)]
    assert blas.get(gy, m) == want
    gy = blas.put(y)
    blas.must("Sger_v2", blas.handle, m, n, number(1), gy, 1, gx, 2, ga, lda)
    want = [v + (y[i % lda] * x[2 * (i // lda)] if i % lda < m else 0) for i, v in enumerate(a)]
    assert blas.get(ga, len(a)) == want
    ga, gc = blas.put(a), blas.put([0] * (m * n))
    blas.must("Sgeam", blas.handle, 1, 0, n, m, number(1), ga, lda, number(0), None, n, gc, n)
    assert blas.get(gc, m * n) == [a[i + j * lda] for i in range(m) for j in range(n)]
    for address in (ga, gx, gy, alpha, beta):
        blas.device.free(address.value)


def check_threads(blas):
    """Threads that have called nothing of CUDA use one handle at the same time."""
    ones = blas.put([1] * 300)

    def sums(count):
        result = number(0)
        for _ in range(20):
            blas.must("Sdot_v2", blas.handle, count, ones, 1, ones, 1, result)
            assert struct.unpack_from("f", result) == (count,)

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        list(threads.map(sums, (100, 300)))
    blas.device.free(ones.value)


def results():
    blas = Blas()
    blas.put_addresses = lambda addresses: put_addresses(blas, addresses)
    for check in (check_gemm, check_mixed, check_triangles, check_vectors, check_zeros, check_others, check_threads):
        check(blas)
        print(f"{check.__name__} holds")
    print("syrk answers", blas.call("Ssyrk_v2", blas.handle, 0, 0, 1, 1, None, None, 1, None, None, 1))
    blas.must("Destroy_v2", blas.handle)


def put_addresses(blas, addresses):
    data = struct.pack(f"{len(addresses)}Q", *addresses)
    address = blas.device.allocate(len(data))
    buffer = ctypes.create_string_buffer(data, len(data))
    blas.device.to_device(address, ctypes.addressof(buffer), len(data))
    return address


def mistakes():
    """B is a column short, C is copied before a stream is waited for, and nothing has written D."""
    blas = Blas()
    n = 16
    a, b, c = blas.put(numbers(n * n)), blas.put(numbers(n * (n - 1))), blas.put([0] * (n * n))
    d = ctypes.c_uint64(blas.device.allocate(4 * n * n))
    one, zero = number(1), number(0)
    blas.must("Sgemm_v2", blas.handle, 0, 0, n, n, n, one, a, n, b, n, zero, c, n)
    blas.must("Sgemm_v2", blas.handle, 0, 0, n, n, n, one, a, n, d, n, zero, c, n)
    stream = ctypes.c_void_p()
    blas.device.call("cuStreamCreate", ctypes.byref(stream), 1)  # not blocking
    blas.must("SetStream_v2", blas.handle, stream)
    blas.must("Sscal_v2", blas.handle, n * n, number(2), c, 1)
    blas.get(c, n * n)
    blas.device.call("cuCtxSynchronize")
    blas.device.call("cuStreamDestroy_v2", stream)
    blas.must("Destroy_v2", blas.handle)  # a handle may outlive its stream: it waits for the device
    for address in (a, b, d):
        blas.device.free(address.value)


# ---- the test


class Cublas(unittest.TestCase):
    def run_under_command(self, what):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gpumemtrace-test-"))
        self.addCleanup(shutil.rmtree, folder, True)
        report = folder / "report.json"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GPUMEMTRACE_", "PYTHON"))}
        options = ["--device", "simulated", "--trace-dir", folder, "--format", "json", "--output", report]
        done = subprocess.run(
            [COMMAND, *map(str, options), sys.executable, "-B", __file__, what],
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
            env={**kept, "PYTHONPATH": str(PACKAGE), "GMT_COMMAND": COMMAND},
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(report.read_text(encoding="utf-8")), done.stdout.splitlines()

    def test_results(self):
        report, printed = self.run_under_command("results")
        held = [
            f"check_{what} holds" for what in ("gemm", "mixed", "triangles", "vectors", "zeros", "others", "threads")
        ]
        self.assertEqual(printed, [*held, f"syrk answers {NOT_SUPPORTED}"])
        kinds = [(finding["kind"], finding["severity"]) for finding in report["findings"]]
        self.assertLessEqual(set(kinds), {("api-error", "note")}, report["findings"])
        named = json.dumps([report["findings"], report["not_checked"]])
        self.assertIn("cublasSsyrk_v2", named)

    def test_mistakes(self):
        report, _ = self.run_under_command("mistakes")
        kinds = {finding["kind"] for finding in report["findings"]}
        self.assertEqual(kinds, {"kernel-out-of-bounds", "kernel-uninitialized-read", "stream-race"})
        (outside,) = [finding for finding in report["findings"] if finding["kind"] == "kernel-out-of-bounds"]
        functions = [frame["function"] for stack in outside["stacks"] for frame in stack["frames"]]
        self.assertIn("cublas_gemm_f32", functions)
        self.assertIn("mistakes", functions)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("results", "mistakes"):
        {"results": results, "mistakes": mistakes}[sys.argv[1]]()
    else:
        unittest.main()
