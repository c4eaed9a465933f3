# SPDX-License-Identifier: Apache-2.0
"""--counters: whole kernels, each counted launch by itself, alternating with its instructions; reported as rates."""

import json
import subprocess

import interposed_case
from coalescing_case import COMMAND, CoalescingCase, refusing

ON = {"GPUMEMTRACE_COALESCING": "0", "GPUMEMTRACE_COUNTERS": "1", "GPUMEMTRACE_COALESCING_LAUNCHES": "all"}


class CountersTest(CoalescingCase):
    def setUp(self):
        super().setUp()
        self.add_counters(
            "a",
            read=3000,
            written=1000,
            l1=100,
            l1_hits=25,
            l2=80,
            l2_hits=60,
            loads=10,
            load_sectors=320,
            stores=5,
            store_sectors=20,
            time=10000,
            cycles=16000,
            cycles_active=4000,
            peak=8000000000,
        )
        self.add_counters("b", read=32, l1=10)

    def report(self, *options):
        done = subprocess.run(
            [COMMAND, "report", *options, self.only_trace().path], capture_output=True, text=True, check=False
        )
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout

    def kernels(self):
        accesses = json.loads(self.report("--format", "json"))["processes"][0]["accesses"]
        return {kernel["kernel"]: kernel for kernel in accesses["kernels"]}

    def why_not(self):
        return [
            entry["why"]
            for entry in json.loads(self.report("--format", "json"))["not_checked"]
            if entry["what"] == "whole-kernel counters"
        ]

    def test_rates(self):
        """The launches that are due serve instructions, the first pass and the second in turn."""
        self.play("launch a 1 sync " * 8, env=ON)
        a = self.kernels()["a"]
        self.assertEqual((a["launches"], a["measured_launches"]), (8, 3))
        counters = a["counters"]
        self.assertEqual((counters["launches"], counters["read_bytes"], counters["written_bytes"]), (5, 3000, 1000))
        self.assertEqual((counters["l1_hit_rate"], counters["l2_hit_rate"], counters["l2_sectors"]), (0.25, 0.75, 80))
        self.assertEqual((counters["sectors_per_load"], counters["sectors_per_store"]), (32, 4))
        # The kernel had work in a quarter of the range's 10 us, in which memory could have moved 20,000 bytes.
        self.assertEqual((counters["nanoseconds"], counters["bytes_per_second"]), (2500, 1.6e9))
        self.assertEqual(counters["share_of_peak_bandwidth"], 0.2)
        text = self.report()
        self.assertRegex(text, r"each launch of +counted +time +read +written +GB/s +of peak")
        self.assertRegex(text, r"\n +a +5 +2.5 us +2.9 KiB +1,000 bytes +1.6 +20.0 % +25.0 % +75.0 % +32.0 +4.0\n")
        self.assertEqual(self.why_not(), [])

    def test_each_launch_is_counted_alone(self):
        """Whatever comes next waits until the launch that is counted is done."""
        self.play("launch a 1 launch b 1 sync " * 9, env=ON)
        kernels = self.kernels()
        for name, read in (("a", 3000), ("b", 32)):
            self.assertGreaterEqual(kernels[name]["counters"]["launches"], 2)
            self.assertEqual(kernels[name]["counters"]["read_bytes"], read)

    def test_a_pass_that_is_missing(self):
        self.play("launch a 1 sync " * 2, env=ON)
        counters = self.kernels()["a"]["counters"]
        self.assertEqual((counters["launches"], counters["read_bytes"], counters["l2_hit_rate"]), (1, 3000, None))
        self.assertRegex(self.report(), r"\n +a +1 .* 25.0 % +- +32.0 +4.0\n")

    def test_kernels_that_are_launched_once(self):
        self.play("launch a 1 launch b 1 sync", env=ON)
        self.assertIsNone(self.kernels()["a"]["counters"])
        self.assertIn("2 of 2 measured kernels have none: the first launch that is due", self.why_not()[0])

    def test_a_kernel_that_is_launched_once_among_others(self):
        self.play("launch a 1 sync " * 4 + "launch b 1 sync", env=ON)
        kernels = self.kernels()
        self.assertEqual((kernels["a"]["counters"]["launches"], kernels["b"]["counters"]), (2, None))
        self.assertIn("1 of 2 measured kernels has none", self.why_not()[0])

    def test_refused(self):
        for refusal, words in (
            ("not-permitted", "ERR_NVGPUCTRPERM"),
            ("not-supported", "in two passes"),
            ("passes", "in two passes"),
        ):
            with self.subTest(refusal):
                self.setUp()
                self.play("launch a 1 sync " * 4, env=ON | refusing(f"counters {refusal}"))
                self.assertIn(words, self.why_not()[0])
                a = self.kernels()["a"]
                self.assertIsNone(a["counters"])
                self.assertGreaterEqual(a["measured_launches"], 3)  # the figures of instructions stand alone

    def test_contexts_that_end(self):
        self.play("launch a 1 sync launch a 1 destroy context launch a 1 sync launch a 1 sync destroy", env=ON)
        self.assertEqual(self.kernels()["a"]["counters"]["launches"], 2)

    def test_off(self):
        self.play("launch a 1 sync " * 4, env={"GPUMEMTRACE_COALESCING_LAUNCHES": "all"})
        self.assertIsNone(self.kernels()["a"]["counters"])
        self.assertEqual(self.why_not(), [])


if __name__ == "__main__":
    interposed_case.main()
