# SPDX-License-Identifier: Apache-2.0
"""Kernels that CUPTI takes many seconds to patch, NCCL's: they are launched outside of windows, and not measured."""

import os

import interposed_case
from coalescing_case import CoalescingCase, refusing

ALL = {"GPUMEMTRACE_COALESCING_LAUNCHES": "all"}


class CostlyKernelsTest(CoalescingCase):
    NCCL = "ncclDevKernel_x"

    def test_kernels_of_nccl_are_seen_and_not_measured(self):
        self.play(f"launch {self.NCCL} 5 sync launch a 1 launch {self.NCCL} 5 sync", env=ALL)
        sums = self.sums()
        self.assertEqual((sums.windows["opened"], sums.windows["launches"], sums.windows["launches_read"]), (1, 11, 1))
        self.assert_launches(sums, a=(1, 1), **{self.NCCL: (0, 10)})

    def test_kernels_of_nccl_by_name(self):
        with open(self.metrics, "a", encoding="utf-8") as file:
            file.write(f"{self.NCCL} 0x10 smsp__sass_sectors_mem_global=32\n")
        self.play(f"launch {self.NCCL} 3 sync", env=ALL | {"GPUMEMTRACE_KERNEL": "nccl"})
        sums = self.sums()
        self.assertEqual([sums.functions[self.NCCL][word] for word in ("measured", "launches")], [3, 3])

    def test_a_kernel_of_nccl_waits_until_the_window_is_closed(self):
        """In the window it would be patched."""
        result = self.play(
            f"stream s launch a 1 block unblock-later 700 stream t time launch {self.NCCL} 1 time sync",
            env=ALL,
            timeout=20,
        )
        self.assertGreaterEqual(int(result.stdout.split()[1]), 600)
        sums = self.sums()
        self.assertEqual((sums.windows["read"], sums.windows["given_up"], sums.windows["launches_read"]), (1, 0, 1))
        self.assert_launches(sums, a=(1, 1), **{self.NCCL: (0, 1)})

    def test_a_kernel_of_nccl_that_its_kernel_waits_for(self):
        """The kernel in the window ends only after the launch: the wait has an end, and comes once a window."""
        result = self.play(
            f"stream s launch a 1 block stream t time launch {self.NCCL} 1 time launch {self.NCCL} 9 time "
            "stream s unblock sync",
            env=ALL,
            timeout=30,
        )
        first, more = map(int, result.stdout.split()[1:])
        self.assertGreaterEqual(first, 4900)
        self.assertLess(first, 9000)
        self.assertLess(more, 4000)
        self.assert_launches(self.sums(), a=(1, 1), **{self.NCCL: (0, 10)})

    def test_where_nccl_is_nothing_is_patched_beforehand(self):
        """That would patch all of NCCL, too, which takes some twenty seconds."""
        for words, trouble in (
            ("", "not supported"),
            (f"launch {self.NCCL} 1 sync ", None),
            (f"library {os.environ['GMT_NCCL']} ", None),
        ):
            with self.subTest(words):
                self.setUp()
                self.play(words + "launch a 1 sync", env=ALL | refusing("only-at-launch"))
                self.assertEqual(self.sums().windows["trouble"], trouble)


if __name__ == "__main__":
    interposed_case.main()
