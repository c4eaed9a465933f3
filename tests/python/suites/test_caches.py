# SPDX-License-Identifier: Apache-2.0
"""A cache like PyTorch's: what is given back to it stays allocated until it is emptied."""

import ctypes
import os
import sys
import types

import device

library = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "libc10_cuda.so"))
library.CUDACachingAllocator_malloc.restype = ctypes.c_void_p
library.CUDACachingAllocator_malloc.argtypes = [ctypes.c_size_t]
cached, held = [], []


def empty_cache():
    while cached:
        device.free(ctypes.c_void_p(cached.pop()))


cuda = types.SimpleNamespace(is_initialized=lambda: True, empty_cache=empty_cache)
sys.modules["torch"] = types.SimpleNamespace(cuda=cuda, _C=types.SimpleNamespace())


def test_gives_back():
    cached.append(library.CUDACachingAllocator_malloc(1000))


def test_holds():
    held.append(library.CUDACachingAllocator_malloc(2000))


def test_holds_without_the_cache():
    device.leak(3000)
