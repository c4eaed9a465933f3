# SPDX-License-Identifier: Apache-2.0
"""Correct programs of CuPy: linear algebra, transforms, sparse matrices, kernels of its own.

cupy_programs.py NAME. Exit status: 0 the program ran, 2 no such program.
"""

import sys

import cupy
import cupyx.scipy.ndimage
import cupyx.scipy.signal
import cupyx.scipy.sparse
import cupyx.scipy.sparse.linalg
from program import main, program


@program
def eigenvalues():
    for size in (64, 200, 333):
        matrix = cupy.random.standard_normal((size, size), dtype=cupy.float32)
        values, _ = cupy.linalg.eigh(matrix @ matrix.T)
        left, singular, right = cupy.linalg.svd(matrix)
        assert cupy.allclose((left * singular) @ right, matrix, atol=1e-2)
        assert bool(cupy.isfinite(values).all())


@program
def transforms():
    signal = cupy.random.standard_normal((16, 4096))
    assert cupy.allclose(cupy.fft.ifft(cupy.fft.fft(signal)).real, signal)
    cupyx.scipy.signal.fftconvolve(signal[0], signal[1])
    picture = cupy.random.random((512, 512))
    cupyx.scipy.ndimage.gaussian_filter(picture, 3)
    cupyx.scipy.ndimage.label(picture > 0.7)
    cupy.sort(picture.ravel())
    cupy.histogram(picture, bins=64)


@program
def sparse_solver():
    size = 2000
    diagonals = [cupy.full(size, 4.0), cupy.full(size - 1, -1.0), cupy.full(size - 1, -1.0)]
    matrix = cupyx.scipy.sparse.diags(diagonals, [0, 1, -1], format="csr")
    wanted = cupy.ones(size)
    found, status = cupyx.scipy.sparse.linalg.cg(matrix, matrix @ wanted)
    assert status == 0 and cupy.allclose(found, wanted, atol=1e-3)


@program
def own_kernels():
    add = cupy.RawKernel(
        r"""extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < n) c[i] = a[i] + b[i];
        }""",
        "add",
    )
    squares = cupy.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squares")
    total = cupy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
    for step in range(30):
        with streams[step % 3] as stream:
            a, b = cupy.random.random(5000 + step, dtype=cupy.float32), cupy.ones(5000 + step, dtype=cupy.float32)
            c = cupy.empty_like(a)
            add(((a.size + 255) // 256,), (256,), (a, b, c, a.size))
            total(squares(a, b))
            stream.synchronize()
    pinned = cupy.cuda.alloc_pinned_memory(1 << 20)
    del pinned
    cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    sys.exit(main())
