# SPDX-License-Identifier: Apache-2.0
"""Multiplies matrices with CuPy on the GPU. Exit status: the first word (see planted_leak.py), or 77 without CuPy or GPU.

CuPy's memory pools, on the device and of pinned memory, are never given back, which is no mistake.
"""

import sys

from planted_leak import finish

try:
    import cupy
except ImportError:
    print("skipped: no CuPy")
    sys.exit(77)
try:
    devices = cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError as error:
    print(f"skipped: CuPy sees no GPU: {error}")
    sys.exit(77)

a = cupy.random.rand(512, 512, dtype=cupy.float32)
product = a @ a.T
host = cupy.asnumpy(product)
print(f"{devices} device(s), trace {host.trace():.3f}")
assert abs(host - host.T).max() < 1e-2
finish()
