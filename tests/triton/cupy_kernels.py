# SPDX-License-Identifier: Apache-2.0
"""CuPy's own kernels, and one of the program's."""

import cupy
import numpy as np

x = cupy.arange(1000, dtype=cupy.float32)
twice = cupy.RawKernel(
    'extern "C" __global__ void twice(float* x, int n)'
    "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }",
    "twice",
)
y = x * 3 + cupy.sqrt(x)
total = float(y.sum())
twice((4,), (256,), (y, np.int32(1000)))
want = np.arange(1000) * 3 + np.sqrt(np.arange(1000))
right = abs(total / want.sum() - 1) < 1e-5 and np.allclose(cupy.asnumpy(y), 2 * want, rtol=1e-5)
print("right" if right else "wrong")
