# SPDX-License-Identifier: Apache-2.0
"""Whatever Python does meanwhile, calls of CUDA go on: `troubled.py SCENE`."""

import os
import sys
import threading

from device import free, leak


def subinterpreter():
    leak(1000)
    if sys.version_info >= (3, 13):
        import _interpreters as interpreters
    else:
        import _xxsubinterpreters as interpreters
    other = interpreters.create()
    leak(2000)
    interpreters.destroy(other)
    leak(3000)


class Held:
    def __init__(self):
        self.pointer = leak(5000)

    def __del__(self):
        free(self.pointer)


def pairs(depth, count):
    if depth > 0:
        return pairs(depth - 1, count)
    for _ in range(count):
        free(leak(256))
    return None


def walk(count):
    """A generator that is closed half-way."""
    for i in range(count):
        pointer = leak(64)
        try:
            yield i
        finally:
            free(pointer)


def worker(seed):
    for i in range(60):
        pairs((seed * 7 + i * 13) % 40, 8)
        for step in walk(10):
            if step == seed % 10:
                break
        scope = {"leak": leak, "free": free}
        exec(f"def short_{i}_{seed}():\n  free(leak(32))\nshort_{i}_{seed}()", scope)


def threads():
    all_threads = [threading.Thread(target=worker, args=(i,)) for i in range(16)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()


def end():
    """Ends while daemon threads are inside CUDA, and frees memory while modules are taken down."""
    sys.kept = Held()

    def forever():
        while True:
            free(leak(128))

    for _ in range(6):
        threading.Thread(target=forever, daemon=True).start()
    pairs(3, 200)


def fork():
    """CUDA does not work in a child of a process that has used it."""
    child = os.fork()
    if child == 0:
        leak(2000)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        raise ChildProcessError(child)
    leak(1000)


{"subinterpreter": subinterpreter, "threads": threads, "end": end, "fork": fork}[sys.argv[1]]()
print("done")
