# SPDX-License-Identifier: Apache-2.0
"""The last step of the framework programs: exit with the status asked for, or keep a block that is in no cache."""

import ctypes
import sys


def finish():
    word = sys.argv[1] if len(sys.argv) > 1 else "0"
    if word != "leak":
        sys.exit(int(word))
    keep_a_block()
    sys.exit(0)


def keep_a_block():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        runtimes = sorted({line.split()[-1] for line in maps if "/libcudart.so" in line})
    if runtimes:
        ask = ctypes.CDLL(runtimes[0]).cudaMalloc
    else:  # the framework's runtime is linked statically
        ask = ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2
    block = ctypes.c_void_p()
    assert ask(ctypes.byref(block), ctypes.c_size_t(12345)) == 0
