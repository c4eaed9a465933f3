# SPDX-License-Identifier: Apache-2.0
"""Multiplies matrices with CuPy on the GPU. Exit status: the first word (see planted_leak.py), or 77 without CuPy or GPU.

CuPy's memory pools, on the device and of pinned memory, are never given back, which is no mistake.
"""

from gpu_cupy import cupy
from planted_leak import finish

a = cupy.random.rand(512, 512, dtype=cupy.float32)
product = a @ a.T
host = cupy.asnumpy(product)
print(f"{cupy.cuda.runtime.getDeviceCount()} device(s), trace {host.trace():.3f}")
assert abs(host - host.T).max() < 1e-2
finish()
