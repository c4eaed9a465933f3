# SPDX-License-Identifier: Apache-2.0
"""Many operations of CuPy, by the library that does them. Nothing is wrong with any of them.

Exit status: 0, 77 without CuPy or GPU.
"""
# run:
# expect: clean
# run:
# options: --guard
# expect: clean

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_cupy import cupy


def linear():
    a = cupy.random.rand(200, 200)
    spd = a @ a.T + 200 * cupy.eye(200)
    cupy.linalg.svd(a), cupy.linalg.qr(a), cupy.linalg.eigh(spd), cupy.linalg.cholesky(spd), cupy.linalg.inv(spd)
    (
        cupy.linalg.solve(spd, a[:, 0]),
        cupy.linalg.lstsq(a, a[:, :2]),
        cupy.einsum("ij,kj->ik", a, a),
        cupy.tensordot(a, a),
    )


def sparse():
    from cupyx.scipy import sparse as scipy_sparse
    from cupyx.scipy.sparse import linalg as sparse_linalg

    matrix = scipy_sparse.random(300, 300, density=0.05, format="csr") + 2 * scipy_sparse.identity(300, format="csr")
    matrix @ cupy.ones(300), matrix @ matrix, matrix.T.tocsr(), matrix.tocoo().tocsc()
    sparse_linalg.cg(matrix @ matrix.T, cupy.ones(300), maxiter=5), sparse_linalg.spsolve(matrix, cupy.ones(300))


def transforms():
    from cupyx.scipy import ndimage, signal, special

    a = cupy.random.rand(64, 100)
    cupy.fft.irfft2(cupy.fft.rfft2(a)), cupy.fft.fft(a[:, 0]), cupy.fft.fftn(cupy.random.rand(8, 9, 10))
    signal.convolve2d(a, cupy.ones((3, 3))), ndimage.gaussian_filter(a, 2), ndimage.label(a > 0.5), special.gamma(a)


def others():
    a = cupy.random.randint(0, 1000, 50000)
    cupy.sort(a), cupy.argsort(a), cupy.unique(a), cupy.cumsum(a), cupy.bincount(a), cupy.histogram(a, 20)
    cupy.nonzero(a), a[a > 500], cupy.searchsorted(cupy.sort(a), a), cupy.lexsort(cupy.stack([a, a])), cupy.median(a)
    (
        cupy.random.normal(size=1000),
        cupy.random.permutation(1000),
        cupy.random.choice(100, 10),
        cupy.random.gamma(2, size=100),
    )
    cupy.ElementwiseKernel("T x", "T y", "y = x * 2", "doubled")(a)
    cupy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "summed")(a)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        total = cupy.ones(1000).sum()
        stream.synchronize()
    assert float(total) == 1000
    pinned = cupy.cuda.alloc_pinned_memory(4096)
    del pinned
    managed = cupy.cuda.malloc_managed(4096)
    managed.memset(0, 4096)
    del managed


if __name__ == "__main__":
    for operations in (linear, sparse, transforms, others):
        operations()
        cupy.cuda.Device().synchronize()
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()
