# SPDX-License-Identifier: Apache-2.0
"""CuPy with a GPU. Without either the program that imports this ends with status 77."""

import sys

try:
    import cupy
except ImportError:
    print("skipped: no CuPy")
    sys.exit(77)
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError as error:
    print(f"skipped: CuPy sees no GPU: {error}")
    sys.exit(77)

__all__ = ["cupy"]
