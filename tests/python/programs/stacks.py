# SPDX-License-Identifier: Apache-2.0
"""Leaks from every kind of frame. test_frames.py knows each by its size."""

import asyncio
import ctypes
import threading

import device
from device import leak

COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
START = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
libc = ctypes.CDLL("libc.so.6")


class Model:
    def step(self):
        leak(1001)

    def fit(self):
        self.step()


def sort(size):
    left = [size]

    def compare(_a, _b):
        if left:
            leak(left.pop())
        return 0

    array = (ctypes.c_int * 2)(2, 1)
    libc.qsort(array, ctypes.c_size_t(2), ctypes.c_size_t(4), COMPARE(compare))


def numbers():
    yield 1
    yield leak(1003)


def listed():
    yield leak(1004)


async def inner():
    await asyncio.sleep(0)
    leak(1005)


async def outer():
    await inner()


def down(depth):
    if depth == 0:
        leak(1006)
    else:
        down(depth - 1)


class Owner:
    def __del__(self):
        leak(1007)


def own():
    owner = Owner()
    return id(owner)


def größe():
    leak(1008)


def run_string():
    code = compile("def made():\n\n    leak(1009)\nmade()", "/tmp/π/\U0001f600.py", "exec")
    exec(code, {"leak": leak})


def with_lock():
    leak(1010, device.held)


def in_foreign_thread(_argument):
    leak(1011)
    return 0


def start_foreign_thread():
    thread, callback = ctypes.c_ulong(), START(in_foreign_thread)
    libc.pthread_create(ctypes.byref(thread), None, callback, None)
    libc.pthread_join(thread, None)


def many_names():
    """Code objects that come and go at the same addresses."""
    for i in range(40):
        scope = {"leak": leak}
        exec(f"def name_{i:02}():\n    leak({20000 + i})", scope)
        scope["name_" + format(i, "02")]()


def run():
    Model().fit()
    sort(1002)
    for _ in numbers():
        pass
    list(listed())
    asyncio.run(outer())
    down(300)
    own()
    größe()
    run_string()
    with_lock()
    start_foreign_thread()
    (lambda: leak(1012))()
    thread = threading.Thread(target=leak, args=(1013,))
    thread.start()
    thread.join()
    many_names()


run()
