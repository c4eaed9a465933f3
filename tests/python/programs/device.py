# SPDX-License-Identifier: Apache-2.0
"""CUDA through ctypes, which releases the GIL, and through PyDLL, which does not."""

import ctypes

released = ctypes.CDLL("libcudart.so.13")
held = ctypes.PyDLL("libcudart.so.13")


def leak(size, runtime=released):
    pointer = ctypes.c_void_p()
    if runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) != 0:
        raise MemoryError(size)
    return pointer


def free(pointer):
    if released.cudaFree(pointer) != 0:
        raise ValueError(pointer)
