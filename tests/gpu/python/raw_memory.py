# SPDX-License-Identifier: Apache-2.0
"""CUDA's own functions, called through ctypes: raw_memory.py clean|leak|double-free|copy-too-much|callback

Exit status: 0, or 77 where CUDA's runtime or a GPU is missing.
"""
# run: clean
# expect: clean
# run: leak
# expect: error leak count=1 bytes=12345 stacks="allocated here"@make:LINE(make)
# run: double-free
# expect: error double-free count=1 api=cudaFree stacks="allocated here"@make:LINE(make),"first freed here"@drop:LINE(drop),"freed again here"@main:LINE(again)
# run: copy-too-much
# expect: error copy-out-of-bounds count=1 stacks="copied here"@main:LINE(copy),"allocated here"@make:LINE(make)
# run: callback
# expect: error leak count=1 bytes=12345 stacks="allocated here"@make:LINE(make)

import ctypes
import sys

try:
    runtime = ctypes.CDLL("libcudart.so.13")
except OSError as error:
    print(f"skipped: {error}")
    sys.exit(77)
HOST_TO_DEVICE = 1


def make(size):
    pointer = ctypes.c_void_p()
    if runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) != 0:  # @make
        print("skipped: no GPU")
        sys.exit(77)
    runtime.cudaMemset(pointer, 0, ctypes.c_size_t(size))
    return pointer


def drop(pointer):
    return runtime.cudaFree(pointer)  # @drop


def main(word):
    block = make(12345)
    if word in ("leak", "callback"):
        return
    if word == "copy-too-much":
        host = (ctypes.c_char * 20000)()
        runtime.cudaMemcpy(block, host, ctypes.c_size_t(20000), HOST_TO_DEVICE)  # @copy
    drop(block)
    if word == "double-free":
        runtime.cudaFree(block)  # @again


def main_as_callback(word):
    """The same below a native function that calls back: qsort compares two numbers."""

    def compare(_left, _right):
        if not compare.called:
            main(word)
        compare.called = True
        return 0

    compare.called = False
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), ctypes.c_size_t(2), ctypes.c_size_t(4), kind(compare))
    assert compare.called


if __name__ == "__main__":
    (main_as_callback if sys.argv[1] == "callback" else main)(sys.argv[1])
