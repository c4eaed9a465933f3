# SPDX-License-Identifier: Apache-2.0
"""Calls made where hardly any stack is: the program runs as it does without us, and every call has its whole stack."""

import os

import interposed_case
from interposed_case import InterposedCase

SIMULATED = os.environ.get("GMT_SIMULATED")
DEPTHS, ROUNDS = 8, 3


class SmallStacks(InterposedCase):
    def setUp(self):
        super().setUp()
        if not SIMULATED:
            self.skipTest("no simulated device in this build")

    def environment(self, preload=True, **more):
        return {**super().environment(preload, **more), "LD_LIBRARY_PATH": SIMULATED}

    def check(self, scene, times, below):
        """`times` the scene's calls; below the deepest of the program's own frames lie `below` more at least."""
        for start in ("first", "warm"):
            with self.subTest(start):
                self.setUp()
                self.run_program("survival_small", scene, start, preload=False)
                self.run_program("survival_small", scene, start)
                trace = self.only_trace()
                self.assertEqual((trace.torn, trace.lost), (0, {}))
                pairs = [call for call in trace.calls if call.kind in ("alloc", "free")]
                if start == "warm":
                    pairs = pairs[2 * DEPTHS * ROUNDS :]  # main's own
                self.assertEqual(len(pairs), 2 * DEPTHS * ROUNDS * times)
                for at, call in enumerate(pairs):
                    depth = at // 2 % DEPTHS
                    frames = trace.stack(call)
                    self.assertIsNotNone(frames, call)
                    self.assertEqual(len(set(frames[1 : depth + 1])), min(depth, 1), "calls itself from one place")
                    self.assertGreaterEqual(len(frames), depth + 2 + below, call)

    def test_thread_of_16_kib(self):
        self.check("thread", 1, below=2)

    def test_handler_on_8_kib(self):
        self.check("handler", 3, below=4)

    def test_coroutine_of_8_kib(self):
        self.check("coroutine", 1, below=0)


if __name__ == "__main__":
    interposed_case.main()
