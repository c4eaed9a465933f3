# SPDX-License-Identifier: Apache-2.0
"""The hook on free(): every block of CUDA's that reaches it is recorded once, with its stack, wherever the program frees
and whoever's free() comes next; nothing else is."""

import ctypes.util
import glob

import interposed_case
from interposed_case import INTERPOSER, InterposedCase

EXPECTED = 1 + 8 * 201 + 1  # main, eight threads with their ends, the signal handler


class Frees(InterposedCase):
    def run_frees(self, **env):
        result = self.run_program("survival_frees", env={"STANDIN_LOG": "/dev/null", **env})
        self.assertEqual(result.stdout, f"child 0\nfreed {EXPECTED}\n")
        self.assertEqual(result.stderr, "")
        return self.only_trace()

    def check(self, trace):
        self.assertEqual((trace.torn, trace.lost), (0, {}))
        self.assertEqual(len(trace.calls_of("cuMemHostRegister_v2")), EXPECTED + 8 * 200 + 1)
        frees = trace.calls_of("free")
        self.assertEqual(len(frees), EXPECTED)
        live = set()  # registered, and not yet handed to free() or unregistered
        for call in trace.calls:
            if call.api == "cuMemHostRegister_v2":
                live.add(call.a[0])
            elif call.api == "free":
                self.assertEqual(call.a[1], 11)  # FreeFunction::kHostFree
                self.assertIn(call.a[0], live)
                self.assertTrue(trace.stack(call))
                live.discard(call.a[0])
            elif call.api == "cuMemHostUnregister":
                live.discard(call.a[0])

    def test_glibc(self):
        self.check(self.run_frees())

    def test_bound_at_start(self):
        self.check(self.run_frees(LD_BIND_NOW="1"))

    def jemalloc(self):
        name = next((path for path in glob.glob("/usr/lib/*/libjemalloc.so.2") + glob.glob("/usr/lib64/libjemalloc.so.2")),
                    ctypes.util.find_library("jemalloc"))
        if not name:
            self.skipTest("no jemalloc on this machine")
        return name

    def test_jemalloc_behind_us(self):
        self.check(self.run_frees(LD_PRELOAD=f"{INTERPOSER}:{self.jemalloc()}"))

    def test_jemalloc_before_us(self):
        trace = self.run_frees(LD_PRELOAD=f"{self.jemalloc()}:{INTERPOSER}")
        self.assertEqual(trace.calls_of("free"), [])  # its free() calls on to nobody


if __name__ == "__main__":
    interposed_case.main()
