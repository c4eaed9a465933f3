# SPDX-License-Identifier: Apache-2.0
"""Lets go of what nothing needs any more, so that what is alive then is held by the program itself.

No library is loaded for it: what the program has not imported is passed over.
"""

import ctypes
import gc
import os
import sys
from collections.abc import Iterator

# Owners, as findings name them, whose caches empty_caches() empties.
EMPTIED = (
    "PyTorch's caching allocator",
    "PyTorch's cuBLAS workspace",
    "CuPy's memory pool",
    "CuPy's pinned memory pool",
)


def synchronise() -> None:
    """Waits for the work of this thread's context, if it has one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return  # not loaded
    context = ctypes.c_void_p()
    if driver.cuCtxGetCurrent(ctypes.byref(context)) == 0 and context:
        driver.cuCtxSynchronize()


def collect() -> None:
    """Objects that only refer to each other are freed, and their memory with them."""
    gc.collect()
    synchronise()


def empty_caches() -> None:
    for empty in _caches():
        empty()


def _caches() -> Iterator:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        clear_workspaces = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
        if clear_workspaces is not None:
            yield clear_workspaces
        yield torch.cuda.empty_cache
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        yield cupy.get_default_memory_pool().free_all_blocks
        yield cupy.get_default_pinned_memory_pool().free_all_blocks
