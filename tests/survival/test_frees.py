# SPDX-License-Identifier: Apache-2.0
"""The hooks on free() and realloc(): every block of CUDA's that reaches it is recorded once, with its stack, wherever the program frees
and the free() that comes next; nothing else is."""

import ctypes.util
import glob

import interposed_case
from interposed_case import INTERPOSER, InterposedCase
from trace_schema import enumeration

HOST_FREE = enumeration("FreeFunction").HOST_FREE

GROWN = 50
EXPECTED = 1 + 8 * 201 + 1 + GROWN + 1  # main, eight threads with their ends, the signal handler, realloc(), delete


class Frees(InterposedCase):
    def run_frees(self, **env):
        result = self.run_program("survival_frees", env={"STANDIN_LOG": "/dev/null", **env})
        self.assertEqual(result.stdout, f"child 0\nfreed {EXPECTED}\n")
        self.assertEqual(result.stderr, "")
        return self.only_trace()

    def check(self, trace, deletes=1):
        self.assertEqual((trace.torn, trace.lost), (0, {}))
        self.assertEqual(len(trace.calls_of("cuMemHostRegister_v2")), EXPECTED + 8 * 200 + 1)
        self.assertEqual(len(trace.calls_of("free")), EXPECTED - GROWN - 1 + deletes)
        self.assertEqual(len(trace.calls_of("realloc")), GROWN)
        live = set()  # registered, and not yet handed to free() or unregistered
        for call in trace.calls:
            if call.api == "cuMemHostRegister_v2":
                live.add(call["address"])
            elif call.api in ("free", "realloc"):
                self.assertEqual(call["function"], HOST_FREE)
                self.assertIn(call["address"], live)
                self.assertTrue(trace.stack(call))
                live.discard(call["address"])
            elif call.api == "cuMemHostUnregister":
                live.discard(call["address"])

    def test_glibc(self):
        self.check(self.run_frees())

    def test_bound_at_start(self):
        self.check(self.run_frees(LD_BIND_NOW="1"))

    def jemalloc(self):
        name = next(
            (path for path in glob.glob("/usr/lib/*/libjemalloc.so.2") + glob.glob("/usr/lib64/libjemalloc.so.2")),
            ctypes.util.find_library("jemalloc"),
        )
        if not name:
            self.skipTest("no jemalloc on this machine")
        return name

    def test_jemalloc_behind_us(self):
        trace = self.run_frees(LD_PRELOAD=f"{INTERPOSER}:{self.jemalloc()}")
        self.check(trace, deletes=0)  # it brings a delete of its own, which calls no other free()

    def test_jemalloc_before_us(self):
        trace = self.run_frees(LD_PRELOAD=f"{self.jemalloc()}:{INTERPOSER}")
        self.assertEqual(trace.calls_of("free") + trace.calls_of("realloc"), [])  # its free() calls no other


if __name__ == "__main__":
    interposed_case.main()
