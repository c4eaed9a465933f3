# SPDX-License-Identifier: Apache-2.0
"""Leaks device memory in a range, and frees it in another: the calls are made by ctypes, as small scripts do."""

import ctypes

import gpumemtrace

cudart = ctypes.CDLL("libcudart.so.13")


def allocate(size):
    pointer = ctypes.c_void_p()
    assert cudart.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
    assert cudart.cudaMemset(pointer, 0, ctypes.c_size_t(size)) == 0
    return pointer


assert gpumemtrace.trace_folder() is None
with gpumemtrace.range("epoch 1"):
    kept = allocate(4096)
    with gpumemtrace.range("forward"):
        allocate(1000)
assert cudart.cudaFree(kept) == 0
print(gpumemtrace.is_traced(), gpumemtrace.trace_folder())
