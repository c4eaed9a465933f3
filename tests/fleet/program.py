# SPDX-License-Identifier: Apache-2.0
"""A rank of a job that trains, on the simulated device: program.py WORD [STEPS [BLOCKS]]

even       frees what each step allocates
growing    keeps a block of each step from the thirtieth on
jump       fills a cache once, in the thirtieth step
counted    as growing, with a number in each range's name, inside of another range
unmarked   as growing, without ranges
"""

import contextlib
import ctypes
import itertools
import sys

import gpumemtrace

cudart = ctypes.CDLL("libcudart.so.13")
kept = []


def allocate(size):
    pointer = ctypes.c_void_p()
    assert cudart.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
    return pointer


def keep():
    kept.append(allocate(100_000))


def fill_cache():
    kept.extend(allocate(1_000_000) for _ in range(5))


def step(word, number, blocks):
    activations = [allocate(4096) for _ in range(blocks)]
    if word in ("growing", "counted", "unmarked") and number >= 30:
        keep()
    if word == "jump" and number == 30:
        fill_cache()
    for pointer in activations:
        cudart.cudaFree(pointer)


def main(word, steps=100, blocks=4):
    weights = allocate(1 << 20)
    numbers = iter(range(int(steps)))
    for _ in range(4):  # fewer than a loop has
        with gpumemtrace.range("epoch") if word == "counted" else contextlib.nullcontext():
            for number in itertools.islice(numbers, int(steps) // 4):
                name = f"iteration #{number}" if word == "counted" else "step"
                with gpumemtrace.range(name) if word != "unmarked" else contextlib.nullcontext():
                    step(word, number, int(blocks))
    cudart.cudaFree(weights)


main(*sys.argv[1:])
